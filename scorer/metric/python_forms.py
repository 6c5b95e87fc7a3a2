"""Rows of Python objects: triples as tuples, lists, dictionaries or strings with bars; sentences; attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa

from ..system.arguments import described, strings
from .attributes import from_attributes
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
from .formats import from_sentences, triple_parts

Part = str | int | float
"""A part of a triple; a number or Boolean is spelled as text. Dates, times and decimals will do."""
TripleLike = tuple[Part, Part, Part] | Sequence[Part] | Mapping[str, Part] | str
"""A :class:`scorer.Triple` is a tuple of three strings."""
_FORMS = (
    "a Triple, three strings, a dictionary with the keys subject, predicate and object, "
    "or a string 'subject | predicate | object'"
)


def from_python(rows: Iterable[Iterable[TripleLike]]) -> FactTable:
    """Intern triples given as Python objects; blank parts make a row malformed, half a character ``invalid_utf8``.

    Any other iterable than a list is refused: a dictionary of three other keys, or a string of three characters, has
    three parts too, and the label of such a fact would be meaningless.

    Raises:
        TypeError: not an ordered iterable, or an element that is not a triple; names the element and its position.
    """
    parsed: list[Parsed] = []
    raws: list[bytes] = []
    for triples in rows:
        if isinstance(triples, str | bytes | Mapping | Set) or not isinstance(triples, Iterable):
            raise TypeError(f"triples is {described(triples)}; give a list of triples")
        if isinstance(triples, tuple) and hasattr(triples, "_fields"):
            raise TypeError(f"triples is a single triple, {described(triples)}; put it into a list")
        found = []
        for position, triple in enumerate(triples):
            try:
                found.append(Triple(*triple_parts(triple)))
            except ValueError as error:
                raise TypeError(f"triples[{position}] {error}; give {_FORMS}") from error
        readable = all(is_utf8(part) for triple in found for part in triple)
        parsed.append(INVALID_UTF8 if not readable else found if all(map(all, found)) else MALFORMED)
        raws.append(counted(len(found)) + b"".join(sized(to_bytes(part)) for triple in found for part in triple))
    return build_facts(np.arange(len(parsed)), parsed, raws)


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
    given = [[to_bytes(fact) for fact in strings("facts", facts)] for facts, _ in pairs]
    facts = from_sentences(pa.array(given, pa.list_(pa.large_binary())))
    return from_arrow(facts, _texts([text for _, text in pairs]))


def from_attribute_pairs(pairs: Sequence[tuple[Mapping[str, Any], str | None]]) -> Rows:
    """Put (attributes, text) pairs of Python objects together.

    Raises:
        TypeError: a text or attributes of another type.
    """
    given = [attributes for attributes, _ in pairs]
    for attributes in given:
        if not isinstance(attributes, Mapping):
            raise TypeError(f"attributes is {described(attributes)}; give a dictionary of attributes")
    return from_arrow(from_attributes(given), _texts([text for _, text in pairs]))


def _texts(texts: Sequence[str | None]) -> pa.Array:
    for text in texts:
        if not (text is None or isinstance(text, str)):
            raise TypeError(f"text is {described(text)}; give a string, or None for a text that is missing")
    return pa.array([None if text is None else to_bytes(text) for text in texts], pa.binary())
