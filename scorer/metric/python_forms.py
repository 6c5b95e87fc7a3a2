"""Rows of Python objects: triples as tuples, lists, dictionaries or strings with bars; sentences; attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa

from ..system.arguments import described, strings
from .attributes import from_python_attributes
from .facts import (
    INVALID_UTF8,
    MALFORMED,
    FactTable,
    Parsed,
    Rows,
    Triple,
    build_facts,
    counted,
    from_arrow,
    is_utf8,
    sized,
    to_bytes,
)
from .formats import PARTS, from_sentences, part_names, split_bars
from .values import (
    spell_or_none,
)

Part = str | int | float
"""A part of a triple; a number or Boolean is spelled as text. Dates, times and decimals will do."""
TripleLike = tuple[Part, Part, Part] | Sequence[Part] | Mapping[str, Part] | str
"""A :class:`scorer.Triple` is a tuple of three strings."""

_FORMS = (
    "a Triple, three strings, a dictionary with the keys subject, predicate and object, "
    "or a string 'subject | predicate | object'"
)


def parts_of_row(triples: Iterable[TripleLike]) -> list[Sequence[str]]:
    """The three parts of each triple of a row, blank ones included.

    Any other iterable is refused: a dictionary of three other keys, or a string of three characters, has three parts
    too, and the label of such a fact would be meaningless.

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
    else:
        parts = triple if isinstance(triple, list | tuple) else ()
    if len(parts) != 3:
        raise TypeError(f"triples[{position}] is {described(triple)}; give {_FORMS}")
    written = [spell_or_none(part) for part in parts]
    for name, part, text in zip(PARTS, parts, written, strict=True):
        if text is None:
            raise TypeError(f"triples[{position}]: the {name} is {described(part)}; give a string or a number")
    return [text for text in written if text is not None]


def from_python(rows: Iterable[Iterable[TripleLike]]) -> FactTable:
    """Intern triples given as Python objects; blank parts make a row malformed, half a character ``invalid_utf8``.

    Raises:
        TypeError: an element that is not a triple in any of the forms of :data:`TripleLike`.
    """
    parsed: list[Parsed] = []
    raws: list[bytes] = []
    for row in rows:
        triples = [Triple(*(part.strip() for part in parts)) for parts in parts_of_row(row)]
        readable = all(is_utf8(part) for triple in triples for part in triple)
        parsed.append(INVALID_UTF8 if not readable else triples if all(map(all, triples)) else MALFORMED)
        raws.append(counted(len(triples)) + b"".join(sized(to_bytes(part)) for triple in triples for part in triple))
    return build_facts(np.arange(len(parsed)), parsed, raws)


def from_python_sentences(rows: Iterable[Iterable[str]]) -> FactTable:
    """Intern facts given as Python strings; see :func:`from_sentences`.

    Raises:
        TypeError: facts that are not a list of strings; names the position.
    """
    given = [[to_bytes(fact) for fact in strings("facts", row)] for row in rows]
    return from_sentences(pa.array(given, pa.list_(pa.large_binary())))


def from_pairs(pairs: Sequence[tuple[Iterable[TripleLike], str | None]]) -> Rows:
    """Put (triples, text) pairs of Python objects together.

    Raises:
        TypeError: a text or a triple of another type.
    """
    return from_arrow(from_python([triples for triples, _ in pairs]), _texts([text for _, text in pairs]))


def from_fact_pairs(pairs: Sequence[tuple[Iterable[str], str | None]]) -> Rows:
    """Put (facts, text) pairs of Python objects together; each fact is a sentence.

    Raises:
        TypeError: a text or a fact of another type.
    """
    return from_arrow(from_python_sentences([facts for facts, _ in pairs]), _texts([text for _, text in pairs]))


def from_attribute_pairs(pairs: Sequence[tuple[Mapping[str, Any], str | None]]) -> Rows:
    """Put (attributes, text) pairs of Python objects together.

    Raises:
        TypeError: a text or attributes of another type.
    """
    text = _texts([text for _, text in pairs])
    return from_arrow(from_python_attributes([attributes for attributes, _ in pairs]), text)


def _texts(given: Sequence[str | None]) -> pa.Array:
    for text in given:
        if not (text is None or isinstance(text, str)):
            raise TypeError(f"text is {described(text)}; give a string, or None for a text that is missing")
    return pa.array([None if text is None else to_bytes(text) for text in given], pa.binary())
