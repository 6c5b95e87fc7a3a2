"""Texts and figures of a document as the page, the summary and the metrics show them.

Each format has a function that escapes texts. Invisible characters, and those that turn the direction of a line, are
replaced by their code points: in a frame, or in brackets where no markup can stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import NamedTuple

from markupsafe import Markup, escape

from ...system import numbers
from ...system.terminal import HIDDEN

# Also: soft hyphen, fillers, noncharacters, object replacement, tags. A line feed and a tab are layout; the two joiners
# belong to ordinary Persian, Indic text and emoji.
UNSEEN = re.compile(
    rf"(?![\n\t])[{HIDDEN}\xad\u034f\u115f\u1160\u180e\u3164\uffa0\ufdd0-\ufdef\ufff0-\ufffc\ufffe\uffff"
    r"\U000e0000-\U000e007f]"
)
"""Characters that turn the direction of a line, control a terminal, or are invisible."""
_SPECIAL = re.compile(r"[\\*_\[\]<>|#~$&]")
# A word that GitHub and others link although no markup says so: an address, a domain, a mention. Neither a backtick,
# which would end the code, nor a vertical bar, which would end a cell, is part of it.
_LINKED = re.compile(r"([^\s|`]*(?:://|www\.|@)[^\s|`]*)", re.IGNORECASE)
_MOST_TEXT, _MOST_LABEL = 300, 120
_BYTES = 4  # a character takes at most so many, unless it has to be escaped
MISSING, MINUS, _SPACE = "–", "−", "\u00a0"


def plain(text: object) -> str:
    """``text`` with unseen characters as ``[U+202E]``, for places that hold no markup."""
    return UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", str(text).replace("\r\n", "\n"))


def framed(text: str) -> Markup:
    """``text`` as HTML that shows exactly it, with unseen characters in a frame, which needs no quotation mark: it
    cannot end an attribute by mistake."""
    escaped = str(escape(text.replace("\r\n", "\n")))
    return Markup(UNSEEN.sub(lambda match: f"<span class=unseen>U+{ord(match[0]):04X}</span>", escaped))


def on_one_line(text: str) -> str:
    """``text`` with single blanks and without unseen characters."""
    return plain(" ".join(text.split()))


def shortened(text: str) -> str:
    """The same, cut."""
    text = on_one_line(text)
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"


def for_markdown(text: str) -> str:
    """The same as Markdown; a word that would become a link by itself is code."""
    parts = _LINKED.split(shortened(text))  # at odd places, what is linked
    # Backticks are entities: an escaped one before code could be taken for a part of its fence.
    return "".join(
        f"`{part}`" if position % 2 else _SPECIAL.sub(r"\\\g<0>", part).replace("`", "&#96;")
        for position, part in enumerate(parts)
    )


def for_prometheus(text: str) -> str:
    """A label's value, between its quotation marks; a long one is cut, with a digest that tells it from others."""
    text = text.encode("utf-8", "replace").decode()
    if len(text) > _MOST_LABEL:
        text = f"{text[: _MOST_LABEL - 9]}…{blake2b(text.encode(), digest_size=4).hexdigest()}"
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@dataclass(frozen=True)
class Limits:
    """Limits on everything with a length that depends on the data."""

    cases: int = 20
    """Rows of each kind."""
    kinds: int = 12
    """Kinds of rows."""
    facts: int = 16
    """Facts of a row."""
    groups: int = 200
    """Groups of a grouping."""
    predicates: int = 200
    """Predicates."""
    gates: int = 200
    """Gates."""
    runs: int = 120
    """Runs of the history."""
    few: int = 8
    """Entries of a short list."""
    entries: int = 40
    """Entries of a long list."""
    text: int = 700
    """Characters of a text."""
    name: int = 200
    """Characters of a name, path or object."""

    def halved(self) -> Limits:
        """Every cap halved, but at least 2."""
        return replace(self, **{key: max(value // 2, 2) for key, value in vars(self).items()})


class Clipped(NamedTuple):
    """A text of the data, cut."""

    shown: str
    """The part that is shown."""
    more: int
    """Number of characters that are cut off."""


def clip(value: str, limit: int) -> Clipped:
    """The part of a text that is shown: at most ``limit`` characters, fewer where escaping makes them much longer."""
    length = min(len(value), limit)
    while length > 1 and len(framed(value[:length]).encode(errors="replace")) > _BYTES * limit:
        length //= 2
    return Clipped(value[:length], len(value) - length)


def clip_plain(value: str, limit: int) -> str:
    """The same for places that hold no markup: attributes, and the title of the page."""
    value = plain(value[: limit + 1])
    return value if len(value) <= limit else f"{value[:limit]}…"


def count(value: float | None) -> str:
    """``12,345``."""
    return MISSING if value is None else f"{value:,.0f}".replace("-", MINUS)


def plural(number: int, noun: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count(number)}{_SPACE}{noun if number == 1 else noun + 's'}"


def percent(value: float | None) -> str:
    """A share of 0 to 1 as ``3.2%``, as :func:`scorer.system.numbers.percent` writes it."""
    return MISSING if value is None else numbers.percent(value)


def span(low: float | None, high: float | None) -> str:
    """An interval of shares without its unit, next to a figure that has it: ``2.9–3.6``."""
    if low is None or high is None:
        return ""
    return "–".join(numbers.percent(end).removesuffix("%") for end in (low, high))


def points(value: float | None) -> str:
    """A difference of shares in percentage points with its sign: ``+4.7``."""
    return MISSING if value is None else numbers.points(value).replace("-", MINUS)


def point_span(low: float | None, high: float | None) -> str:
    """An interval of differences: ``+3.9 to +5.5``."""
    return "" if low is None or high is None else f"{points(low)} to {points(high)}"


def small(value: float | None) -> str:
    """A probability or a statistic without a unit: ``0.031``; ``<0.001`` and ``>0.999`` at the ends."""
    if value is None:
        return MISSING
    if 0 < abs(value) < 0.0005:
        return "<0.001"
    return ">0.999" if 0.9995 <= value < 1 else f"{value:.3f}".replace("-", MINUS)


FILTERS = (plain, shortened, clip, clip_plain, count, plural, percent, span, points, point_span, small)
"""Filters of the templates."""
