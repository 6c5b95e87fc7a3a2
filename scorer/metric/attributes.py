"""Attributes of a subject, as tables and APIs give them, as triples: structs, maps, objects of JSON and of Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from ..system.arguments import described
from .facts import INVALID_UTF8, NAME, NO_TRIPLES, FactTable, Parsed, Triple, build_facts, is_utf8, sized, to_bytes
from .values import (
    Unreadable,
    is_text,
    parse_json,
    shown,
    spell,
)

NO_SUBJECT = "no_subject"
MALFORMED_ATTRIBUTES = "malformed_attributes"
MOST_DEPTH = 64
_UNITS = (("value", "unit"), ("amount", "currency"))
"""Keys of an object that is one value."""


def holds_attributes(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold attributes."""
    return is_text(kind) or types.is_struct(kind) or (types.is_map(kind) and is_text(kind.key_type))


@dataclass
class Attributes:
    """What one object gives. ``skipped``: how many of its attributes are null."""

    triples: list[Triple] = field(default_factory=list)
    skipped: int = 0


class BadAttributesError(ValueError):
    """Why an object gives no triples: ``kind`` is the error of the row, the message says where and what to change."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def read_attributes(value: Any, subject: str | None, key: str = NAME, within: Sequence[str] = ()) -> Attributes:
    """The triples of one object, depth first.

    A single value is one triple, (subject, key, value); a list gives one triple an element. A nested object is a
    subject of its own: its ``name``, which also gives the triple that links it to its parent, otherwise ``<key> of
    <parent>``. An object of ``value`` and ``unit`` alone (or ``amount`` and ``currency``) is one value. What is null,
    blank or not a number is left out and counted.

    Args:
        value: an object, or a string of a JSON object; ``None`` has no triples.
        subject: what the attributes are about, where it stands in a column of its own.
        key: the attribute that names the subject otherwise.
        within: the keys that lead to ``subject`` where it stands in ``value`` itself; it gives no triple there.

    Raises:
        BadAttributesError: it is not an object, has no subject, or a key is blank.
    """
    if value is None:
        return Attributes()
    if isinstance(value, str):
        value = _from_json(value)
    if not isinstance(value, Mapping):
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"is {shown(value)}, not an object like {{'name': 'The Lamb'}}")
    named = subject.strip() if subject is not None else _written(value.get(key))
    if not named:
        raise BadAttributesError(
            NO_SUBJECT, f"no {key!r} names its subject; name its key or a column with --subject-column"
        )
    found = Attributes()
    rest = {one: item for one, item in value.items() if one != key or (subject is not None and _written(item) != named)}
    _walk(_without(rest, within), named, found, 0)
    return found


def _without(value: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """An object without what stands at a path of keys in it."""
    if not path or path[0] not in value:
        return value
    rest = {key: item for key, item in value.items() if key != path[0]}
    inner = value[path[0]]
    if len(path) > 1 and isinstance(inner, Mapping):
        return {key: _without(inner, path[1:]) if key == path[0] else item for key, item in value.items()}
    return rest


def _from_json(text: str) -> Any:
    if not text.strip():
        raise BadAttributesError(MALFORMED_ATTRIBUTES, "is blank; write a JSON object")
    try:
        return parse_json(text, constant=lambda name: None)  # "NaN" is not a JSON value
    except ValueError as error:
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"is not a JSON object ({error}): {shown(text)}") from error


def _walk(attributes: Mapping[str, Any], subject: str, found: Attributes, depth: int) -> None:
    if depth > MOST_DEPTH:
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"has objects nested deeper than {MOST_DEPTH}")
    for key, value in attributes.items():
        predicate = key.strip() if isinstance(key, str) else ""
        if not predicate:
            raise BadAttributesError(MALFORMED_ATTRIBUTES, f"an attribute of {subject!r} has a blank key")
        for element in _elements(value):
            if isinstance(element, Mapping) and not _is_quantity(element):
                name = _written(element.get(NAME))
                if name:
                    found.triples.append(Triple(subject, predicate, name))
                rest = {one: item for one, item in element.items() if one != NAME or not (name or item is None)}
                _walk(rest, name or f"{predicate} of {subject}", found, depth + 1)
            elif text := _written(element):
                found.triples.append(Triple(subject, predicate, text))
            else:
                found.skipped += 1


def _elements(value: Any) -> Iterator[Any]:
    """The elements of a list, and of the lists in it; any other value itself."""
    if not isinstance(value, list | tuple | np.ndarray):
        yield value
        return
    stack = [iter(value)]
    while stack:
        for element in stack[-1]:
            if isinstance(element, list | tuple | np.ndarray):
                stack.append(iter(element))
                break
            yield element
        else:
            stack.pop()


def _is_quantity(value: Mapping[Any, Any]) -> bool:
    """Whether an object is a number with its unit."""
    return set(value) in map(set, _UNITS) and not any(isinstance(one, Mapping | list | tuple) for one in value.values())


def _written(value: Any) -> str:
    """A single value as text, without outer blanks; blank for null, for what is not a number, and for objects."""
    if isinstance(value, Mapping) and _is_quantity(value):
        number, unit = (_written(value[key]) for keys in _UNITS if set(value) == set(keys) for key in keys)
        return f"{number} {unit}".strip() if number else ""
    if isinstance(value, bytes | Unreadable):
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"has {shown(value)}; write text")
    try:
        return (spell(value) or "").strip()
    except ValueError as error:
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"has a number that is too long ({error})") from error


def from_attributes(
    values: Sequence[Any],
    subjects: Sequence[Any] | None = None,
    key: str = NAME,
    *,
    within: Sequence[str] = (),
    plain: str | None = None,
) -> FactTable:
    """Parse attributes.

    Args:
        values: objects or strings of JSON objects, as :func:`to_python` gives them; ``None`` gives ``no_triples``.
        subjects: the subject of each row; a null or blank one gives ``no_subject``.
        key: the attribute that names the subject, without ``subjects``.
        within: see :func:`read_attributes`.
        plain: the name of the one attribute that ``values`` hold where they are not objects.

    Returns rows with the errors ``no_triples``, ``no_subject``, ``malformed_attributes`` or ``invalid_utf8``.
    """
    names = subjects if subjects is not None else [None] * len(values)
    parsed: list[Parsed] = []
    raws: list[bytes] = []
    skipped = 0
    for value, name in zip(values, names, strict=True):
        if plain is not None and value is not None and not _looks_like_object(value):
            value = {plain: value}
        try:
            subject = _written(name) if subjects is not None else None
            if value is not None and subject == "":
                raise BadAttributesError(NO_SUBJECT, "the column of subjects is null")
            found = read_attributes(value, subject, key, within)
            if not all(part.isascii() or is_utf8(part) for triple in found.triples for part in triple):
                raise BadAttributesError(INVALID_UTF8, "is not UTF-8")
            skipped += found.skipped
            parsed.append(found.triples or NO_TRIPLES)
        except BadAttributesError as error:
            parsed.append(error.kind)
        raw = value if isinstance(value, str) or value is None else repr(value)
        raws.append(sized(None if raw is None else to_bytes(raw)) + (sized(to_bytes(str(name))) if name else b""))
    return replace(build_facts(np.arange(len(values)), parsed, raws), skipped=skipped)


def _looks_like_object(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, str) and value.lstrip()[:1] == "{")


def from_python_attributes(rows: Iterable[Mapping[str, Any]]) -> FactTable:
    """The triples of objects of Python; see :func:`read_attributes`.

    Raises:
        TypeError: not a mapping.
    """
    parsed: list[Parsed] = []
    raws: list[bytes] = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"attributes is {described(row)}; give a dictionary of attributes")
        try:
            found = read_attributes(row, None).triples
            parsed.append(found if all(is_utf8(part) for t in found for part in t) and found else NO_TRIPLES)
        except BadAttributesError as error:
            parsed.append(error.kind)
        raws.append(sized(to_bytes(repr(row))))
    return build_facts(np.arange(len(parsed)), parsed, raws)
