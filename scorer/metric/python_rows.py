"""Triples as Python objects: tuples, lists, dictionaries, or strings with vertical bars.

Any other iterable is refused: a dictionary of three other keys, or a string of three characters, has three parts too,
and the label of such a fact would be meaningless.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from ..system.arguments import described
from .part_names import PARTS, part_names
from .values import scalar

Part = str | int | float
"""A part of a triple; a number or Boolean is the text that JSON writes for it. Dates, times and decimals will do."""
TripleLike = tuple[Part, Part, Part] | Sequence[Part] | Mapping[str, Part] | str
"""A :class:`scorer.Triple` is a tuple of three strings."""

_FORMS = (
    "a Triple, three strings, a dictionary with the keys subject, predicate and object, "
    "or a string 'subject | predicate | object'"
)


def split_bars(text: str) -> list[str]:
    """The stripped parts of ``subject | predicate | object``; there may be more or fewer than three.

    If the parts contain bars themselves, only bars between blanks separate parts.
    """
    parts = text.split("|")
    if len(parts) != 3:
        parts = re.split(r"\s\|\s", text)
    return [part.strip() for part in parts]


def parts_of_row(triples: Iterable[TripleLike]) -> list[Sequence[str]]:
    """The three parts of each triple of a row, blank ones included.

    Raises:
        TypeError: not an ordered iterable, or an element that is not a triple; names the element and its position.
    """
    if isinstance(triples, str | bytes | Mapping | Set) or not isinstance(triples, Iterable):
        raise TypeError(f"triples is {described(triples)}; give a list of triples")
    if isinstance(triples, tuple) and hasattr(triples, "_fields"):
        raise TypeError(f"triples is a single triple, {described(triples)}; put it into a list")
    return [_parts(position, triple) for position, triple in enumerate(triples)]


def _parts(position: int, triple: Any) -> Sequence[str]:
    parts: Sequence[Any]
    if isinstance(triple, str):
        parts = split_bars(triple)
    elif isinstance(triple, Mapping):
        names = part_names(triple) if len(triple) == 3 else None
        parts = [triple[name] for name in names] if names is not None else ()
    elif isinstance(triple, list | tuple):
        parts = triple
    else:
        parts = ()
    if len(parts) != 3:
        raise TypeError(f"triples[{position}] is {described(triple)}; give {_FORMS}")
    written = [scalar(part) for part in parts]
    for name, part, text in zip(PARTS, parts, written, strict=True):
        if text is None:
            raise TypeError(f"triples[{position}]: the {name} is {described(part)}; give a string or a number")
    return [text for text in written if text is not None]
