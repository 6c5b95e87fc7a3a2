"""How much of a document one page shows, so that it stays below its size limit whatever the data holds.

Every list and every text whose length depends on the data has its cap here. :func:`steps` are tried in turn until
the page fits: data that is merely large fits the first, data whose every text is as long as it may be a later one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from .escapes import cost, plain

MAX_BYTES = 1_000_000
"""A page is smaller than this, in UTF-8."""

_BYTES = 4  # a character takes at most so many, unless it has to be escaped


@dataclass(frozen=True)
class Limits:
    """Caps. ``cases``: worst rows per kind. ``text``: characters of a text. ``name``: of a name, path or object."""

    cases: int = 20
    kinds: int = 12
    facts: int = 16
    groups: int = 200
    predicates: int = 300
    gates: int = 200
    flips: int = 50
    changes: int = 100
    runs: int = 120
    few: int = 8
    entries: int = 40
    text: int = 700
    name: int = 200

    def halved(self) -> Limits:
        """Every cap halved, but at least 2."""
        return replace(self, **{key: max(value // 2, 2) for key, value in vars(self).items()})


class Clipped(NamedTuple):
    """A text of the data. ``more``: how many characters are cut off."""

    shown: str
    more: int


def steps() -> list[Limits]:
    """Limits to try, each half of the one before; the last shows two of everything."""
    found = [Limits()]
    while found[-1] != found[-1].halved():
        found.append(found[-1].halved())
    return found


def clip(value: str, most: int) -> Clipped:
    """As much of a text of the data as is shown; what is missing is counted.

    ``most``: characters, fewer where escaping makes them much longer than any script's letters are.
    """
    kept = min(len(value), most)
    while kept > 1 and cost(value[:kept]) > _BYTES * most:
        kept //= 2
    return Clipped(value[:kept], len(value) - kept)


def clip_plain(value: str, most: int) -> str:
    """The same for places that hold no markup: attributes, and the title of the page."""
    value = plain(value[: most + 1])
    return value if len(value) <= most else f"{value[:most]}…"
