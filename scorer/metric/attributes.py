"""Attributes of a subject, as tables and APIs give them, as triples: structs, maps, objects of JSON and of Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from ..system.numbers import parse_json
from .facts import NAME, NO_TRIPLES, FactError, FactTable, Parsed, Triple, build_facts, check_utf8, sized, to_bytes
from .values import Unreadable, is_text, shown, spell

NO_SUBJECT = "no_subject"
MALFORMED_ATTRIBUTES = "malformed_attributes"
MOST_DEPTH = 64
_UNITS = (("value", "unit"), ("amount", "currency"))
"""Keys of an object that is one value."""


def holds_attributes(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold attributes."""
    return is_text(kind) or types.is_struct(kind) or (types.is_map(kind) and is_text(kind.key_type))


def from_attributes(
    values: Sequence[Any], subjects: Sequence[Any] | None = None, key: str = NAME, within: Sequence[str] = ()
) -> FactTable:
    """Parse objects or strings of JSON objects, as :func:`.values.to_python` gives them, by :func:`parse_attributes`.

    Args:
        subjects: the subject of each row; a null or blank one gives the error ``no_subject``.
        key, within: as :func:`parse_attributes` takes them.
    """
    names = [None] * len(values) if subjects is None else subjects
    parsed: list[Parsed] = []
    skipped = 0
    for value, name in zip(values, names, strict=True):
        try:
            facts, nulls = parse_attributes(value, None if subjects is None else _written(name), key, within)
            parsed.append(facts or FactError(NO_TRIPLES, "has no attributes"))
            skipped += nulls
        except FactError as error:
            parsed.append(FactError(error.kind, str(error)))

    def raw(row: int) -> bytes:
        value, name = values[row], names[row]
        text = value if isinstance(value, str) or value is None else repr(value)
        return sized(None if text is None else to_bytes(text)) + (sized(to_bytes(str(name))) if name else b"")

    return replace(build_facts(np.arange(len(values)), parsed, raw), skipped=skipped)


def parse_nested(text: str) -> Any:
    """An object or a list of JSON that is one of several attributes; :class:`.Unreadable` if it cannot be read."""
    try:
        return parse_json(text)
    except ValueError as error:
        return Unreadable(f"{text}, in which {error}")


def parse_attributes(
    value: Any, subject: str | None = None, key: str = NAME, within: Sequence[str] = ()
) -> tuple[list[Triple], int]:
    """Read the triples of one object, depth first, and count its attributes that are null.

    A single value is one triple, (subject, key, value); a list gives one triple an element. A nested object is a
    subject of its own: its ``name``, which also gives the triple that links it to its parent, otherwise ``<key> of
    <parent>``. An object of ``value`` and ``unit`` alone (or ``amount`` and ``currency``) is one value. A value that is
    null, blank or not a number is left out and counted.

    Args:
        value: an object, or a string of a JSON object; ``None`` has no triples.
        subject: the subject of the attributes, if it has a column of its own.
        key: the attribute that names the subject otherwise.
        within: the keys that lead to ``subject`` if it is in ``value`` itself; it gives no triple there.

    Raises:
        FactError: it is not an object, has no subject, or a key is blank.
    """
    if value is None:
        return [], 0
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError as error:
            reason = f" ({error})" if value.lstrip().startswith("{") else ""
            single = "; for one attribute of each row, name its subject with --subject-column"
            hint = single if subject is None and key == NAME and not reason else ""
            message = f"is not a JSON object{reason}: {shown(value)}{hint}"
            raise FactError(MALFORMED_ATTRIBUTES, message) from error
    if not isinstance(value, Mapping):
        raise FactError(MALFORMED_ATTRIBUTES, f"is {shown(value)}, not an object like {{'name': 'The Lamb'}}")
    subject_name = subject.strip() if subject is not None else _written(value.get(key))
    if not subject_name:
        raise FactError(NO_SUBJECT, f"no {key!r} names its subject; name its key or a column with --subject-column")
    attributes = {
        name: item
        for name, item in value.items()
        if name != key or (subject is not None and _written(item) != subject_name)
    }
    triples: list[Triple] = []
    skipped = _walk(_without(attributes, within), subject_name, triples, 0)
    return check_utf8(triples), skipped


def _without(value: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """An object without the value at a path of keys in it."""
    if not path or path[0] not in value:
        return value
    without, inner = {key: item for key, item in value.items() if key != path[0]}, value[path[0]]
    is_last = len(path) == 1 or not isinstance(inner, Mapping)
    return without if is_last else {**value, path[0]: _without(inner, path[1:])}


def _walk(attributes: Mapping[str, Any], subject: str, triples: list[Triple], depth: int) -> int:
    """Add the triples of an object to ``triples``, and count its values that are null."""
    if depth > MOST_DEPTH:
        raise FactError(MALFORMED_ATTRIBUTES, f"has objects nested deeper than {MOST_DEPTH}")
    skipped = 0
    for key, value in attributes.items():
        predicate = key.strip() if isinstance(key, str) else ""
        if not predicate:
            raise FactError(MALFORMED_ATTRIBUTES, f"an attribute of {subject!r} has a blank key")
        for element in _elements(value):
            if isinstance(element, Mapping) and _unit_keys(element) is None:
                name = _written(element.get(NAME))
                if name:
                    triples.append(Triple(subject, predicate, name))
                attributes_below = {
                    part: item for part, item in element.items() if part != NAME or not (name or item is None)
                }
                skipped += _walk(attributes_below, name or f"{predicate} of {subject}", triples, depth + 1)
            elif text := _written(element):
                triples.append(Triple(subject, predicate, text))
            else:
                skipped += 1
    return skipped


def _elements(value: Any) -> Iterator[Any]:
    """The elements of a list, and of the lists in it; any other value itself."""
    stack = [iter([value])]
    while stack:
        for element in stack[-1]:
            if isinstance(element, list | tuple | np.ndarray):
                stack.append(iter(element))
                break
            yield element
        else:
            stack.pop()


def _unit_keys(value: Mapping[Any, Any]) -> tuple[str, str] | None:
    """The keys of an object that is a number with its unit, and nothing else."""
    if any(isinstance(item, Mapping | list | tuple) for item in value.values()):
        return None
    return next((keys for keys in _UNITS if set(value) == set(keys)), None)


def _written(value: Any) -> str:
    """A single value as text, without outer blanks; blank for null, NaN, infinities and objects."""
    if isinstance(value, Mapping) and (keys := _unit_keys(value)) is not None:
        number, unit = (_written(value[key]) for key in keys)
        return f"{number} {unit}".strip() if number else ""
    if isinstance(value, bytes | Unreadable):
        raise FactError(MALFORMED_ATTRIBUTES, f"has {shown(value)}; write text")
    try:
        return (spell(value) or "").strip()
    except ValueError as error:
        raise FactError(MALFORMED_ATTRIBUTES, f"has a number that is too long ({error})") from error
