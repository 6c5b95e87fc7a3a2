"""Texts of the data in the formats that an audit writes: each format has one function, and none adds meaning to a text.

A reader sees that an unseen character is there, and the page around it stays as it is: a character that turns the
direction of the line, or that is invisible, is replaced by its code point, in a frame where markup can stand, in
brackets where it cannot (attributes, the title).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

from markupsafe import Markup, escape
from rich.markup import escape as escape_rich

from ...system.terminal import HIDDEN

# What a terminal would not show, and more: soft hyphen, fillers, noncharacters, object replacement, tags. A line feed
# and a tab are layout; the two joiners belong to ordinary Persian, Indic text and emoji.
UNSEEN = re.compile(
    rf"(?![\n\t])[{HIDDEN}\xad\u034f\u115f\u1160\u180e\u3164\uffa0\ufdd0-\ufdef\ufff0-\ufffc\ufffe\uffff"
    r"\U000e0000-\U000e007f]"
)
"""Characters that turn the direction of a line, control a terminal, or are invisible."""
_ESCAPED = re.compile("[&<>\"']")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPECIAL = re.compile(r"[\\*_\[\]<>|#~$&]")
_BLANKS = re.compile(r"\s+")
# A word that GitHub and others link although no markup says so: an address, a domain, a mention. Neither a backtick,
# which would end the code, nor a vertical bar, which would end a cell, is part of it.
_LINKED = re.compile(r"([^\s|`]*(?:://|www\.|@)[^\s|`]*)", re.IGNORECASE)
_MOST_TEXT = 300
_MOST_LABEL = 120


def plain(text: object) -> str:
    """``text`` with unseen characters as ``[U+202E]``, for places that hold no markup."""
    return UNSEEN.sub(lambda match: f"[{_code_point(match[0])}]", str(text).replace("\r\n", "\n"))


def framed(text: str) -> Markup:
    """``text`` as HTML that shows exactly it, with unseen characters in a frame.

    The frame needs no quotation mark, so that it cannot end an attribute that it was put into by mistake.
    """
    escaped = str(escape(text.replace("\r\n", "\n")))
    return Markup(UNSEEN.sub(lambda match: f"<span class=unseen>{_code_point(match[0])}</span>", escaped))


def cost(text: str) -> int:
    """About how many bytes :func:`framed` makes of a text, never less."""
    return len(text.encode(errors="replace")) + 36 * len(UNSEEN.findall(text)) + 5 * len(_ESCAPED.findall(text))


def _code_point(character: str) -> str:
    return f"U+{ord(character):04X}"


def _for_markdown(text: str) -> str:
    """On one line, cut; what would become a link by itself is code."""
    text = plain(_BLANKS.sub(" ", text))
    text = text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"
    parts = _LINKED.split(text)  # at odd places, what is linked
    # Backticks are entities: an escaped one before code could be taken for a part of its fence.
    return "".join(
        f"`{part}`" if place % 2 else _SPECIAL.sub(r"\\\g<0>", part).replace("`", "&#96;")
        for place, part in enumerate(parts)
    )


def for_prometheus(text: str) -> str:
    """A label's value, between its quotation marks; a long one with a digest, so that names which differ after the cut
    stay two."""
    text = text.encode("utf-8", "replace").decode()
    if len(text) > _MOST_LABEL:
        text = f"{text[: _MOST_LABEL - 9]}…{blake2b(text.encode(), digest_size=4).hexdigest()}"
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _for_xml(text: str) -> Markup:
    """Without the characters that XML cannot hold. A line feed is a reference, since a reader of an attribute would
    make it a blank."""
    escaped = str(escape(_NOT_XML.sub("\ufffd", text)))
    return Markup(escaped.replace("\r", "&#13;").replace("\n", "&#10;"))


_FORMATS: Final[dict[str, Callable[[str], str]]] = {
    "html": framed,
    "md": _for_markdown,
    "prom": for_prometheus,
    "xml": _for_xml,
    "txt": escape_rich,
}


def finaliser(kind: str) -> Callable[[Any], object]:
    """What an expression of a template becomes in a format: text escaped, markup and numbers as they are."""
    escaped = _FORMATS[kind]
    return lambda value: escaped(value) if isinstance(value, str) and not isinstance(value, Markup) else value
