"""Texts of the data in the formats that an audit writes: each format has one function, and none adds meaning to a text.

HTML is escaped by its template environment, with :mod:`.report.unseen` for characters that nobody sees.
"""

from __future__ import annotations

import re

from ..system.display import HIDDEN

# What a terminal would not show, and more: soft hyphen, fillers, noncharacters, object replacement, tags. A line feed
# and a tab are layout; the two joiners belong to ordinary Persian, Indic text and emoji.
UNSEEN = re.compile(
    rf"(?![\n\t])[{HIDDEN}\xad\u034f\u115f\u1160\u180e\u3164\uffa0\ufdd0-\ufdef\ufff0-\ufffc\ufffe\uffff"
    r"\U000e0000-\U000e007f]"
)
"""Characters that turn the direction of a line, control a terminal, or are invisible."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPECIAL = re.compile(r"[\\*_\[\]<>|#~$&]")
_BLANKS = re.compile(r"\s+")
# A word that GitHub and others link although no markup says so: an address, a domain, a mention. Neither a backtick,
# which would end the code, nor a vertical bar, which would end a cell, is part of it.
_LINKED = re.compile(r"([^\s|`]*(?:://|www\.|@)[^\s|`]*)", re.IGNORECASE)


def code_point(character: str) -> str:
    """``U+202E`` for a character."""
    return f"U+{ord(character):04X}"


def plain(text: object) -> str:
    """``text`` with unseen characters as ``[U+202E]``, for places that hold no markup."""
    return UNSEEN.sub(lambda match: f"[{code_point(match[0])}]", str(text).replace("\r\n", "\n"))


def for_markdown(text: str, most: int) -> str:
    """``text`` on one line, cut to ``most`` characters; what would become a link by itself is code."""
    text = plain(_BLANKS.sub(" ", text))
    text = text if len(text) <= most else text[: most - 1] + "…"
    parts = _LINKED.split(text)  # at odd places, what is linked
    return "".join(f"`{part}`" if place % 2 else _unmarked(part) for place, part in enumerate(parts))


def for_xml(text: str) -> str:
    """``text`` without the characters that XML cannot hold; the writer of XML does the rest."""
    return _NOT_XML.sub("\ufffd", text)


def for_prometheus(label: str) -> str:
    """A label's value, between its quotation marks."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _unmarked(text: str) -> str:
    """Backticks as entities: an escaped one before code could be taken for a part of its fence."""
    return _SPECIAL.sub(r"\\\g<0>", text).replace("`", "&#96;")
