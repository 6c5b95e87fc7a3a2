"""Attributes of a subject, as tables and APIs give them, as triples: a struct, a map, or a string of a JSON object.

Attributes are read depth first. A scalar is one triple, (subject, key, value as JSON writes it); a list gives one
triple an element; a nested object is a subject of its own, named by its ``name``, otherwise ``<key> of <parent>``.
What is null, blank or not a number is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import types

from .triple_forms import is_list, is_text
from .triples import INVALID_UTF8, NO_TRIPLES, RowTriples, Triple, assemble, is_utf8, sized, to_bytes
from .values import parse_json, scalar, shown

NO_SUBJECT = "no_subject"
MALFORMED_ATTRIBUTES = "malformed_attributes"
NAME = "name"
MOST_DEPTH = 64


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


def holds_attributes(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold attributes."""
    return is_text(kind) or types.is_struct(kind) or (types.is_map(kind) and is_text(kind.key_type))


def read_attributes(value: Any, subject: str | None, key: str = NAME) -> Attributes:
    """The triples of one object.

    Args:
        value: an object, or a string of a JSON object; ``None`` has no triples.
        subject: what the attributes are about, where it stands in a column of its own.
        key: the attribute that names the subject otherwise.

    Raises:
        BadAttributesError: it is not an object, has no subject, or a key is blank.
    """
    if value is None:
        return Attributes()
    if isinstance(value, str):
        value = _from_json(value)
    if not isinstance(value, Mapping):
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"is {shown(value)}, not an object like {{'name': 'The Lamb'}}")
    named = subject.strip() if subject is not None else written(value.get(key))
    if not named:
        raise BadAttributesError(
            NO_SUBJECT, f"no {key!r} names its subject; name its key or a column with --subject-column"
        )
    found = Attributes()
    rest = {one: item for one, item in value.items() if one != key or (subject is not None and written(item) != named)}
    _walk(rest, named, found, 0)
    return found


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
            if isinstance(element, Mapping):
                name = written(element.get(NAME))
                rest = {one: item for one, item in element.items() if one != NAME or not (name or item is None)}
                _walk(rest, name or f"{predicate} of {subject}", found, depth + 1)
            elif text := written(element):
                found.triples.append(Triple(subject, predicate, text))
            else:
                found.skipped += 1


def _elements(value: Any) -> Iterator[Any]:
    """The elements of a list, and of the lists in it; any other value itself."""
    if not isinstance(value, list | tuple):
        yield value
        return
    stack = [iter(value)]
    while stack:
        for element in stack[-1]:
            if isinstance(element, list | tuple):
                stack.append(iter(element))
                break
            yield element
        else:
            stack.pop()


def written(value: Any) -> str:
    """A scalar as JSON writes it, without outer blanks; blank for null, for what is not a number, and for objects."""
    if isinstance(value, bytes):
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"has bytes, {shown(value)}; write text")
    return (scalar(value) or "").strip()


def from_attributes(column: pa.Array, subjects: pa.Array | None = None, key: str = NAME) -> RowTriples:
    """Parse a column of attributes.

    Args:
        column: structs, maps with strings as keys, or strings of JSON objects; nulls give ``no_triples``.
        subjects: the subject of each row; a null or blank one gives ``no_subject``.
        key: the attribute that names the subject, without ``subjects``.

    Returns rows with the errors ``no_triples``, ``no_subject``, ``malformed_attributes`` or ``invalid_utf8``.
    """
    rows: list[tuple[list[Triple] | None, bytes]] = []
    errors: dict[int, str] = {}
    skipped = 0
    for row, (raw, value, subject) in enumerate(_values(column, subjects)):
        try:
            if value is not None and subjects is not None and subject is None:
                raise BadAttributesError(NO_SUBJECT, "the column of subjects is null")
            found = read_attributes(value, subject, key)
            if not all(part.isascii() or is_utf8(part) for triple in found.triples for part in triple):
                raise BadAttributesError(INVALID_UTF8, "is not UTF-8")
        except BadAttributesError as error:
            errors[row] = error.kind
            rows.append((None, raw))
            continue
        skipped += found.skipped
        if not found.triples:
            errors[row] = NO_TRIPLES
        rows.append((found.triples or None, raw))
    result = assemble(rows)
    result.errors.update(errors)
    result.skipped = skipped
    return result


def _values(column: pa.Array, subjects: pa.Array | None) -> Iterator[tuple[bytes, Any, str | None]]:
    """Of each row the bytes that identify it if it does not parse, the value, and the subject.

    Bytes that are not UTF-8 become halves of surrogate pairs.
    """
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    names = subjects.cast(pa.large_binary()) if subjects is not None and is_text(subjects.type) else subjects
    plain = column.cast(_with_bytes(kind))
    for row in range(len(column)):
        value = _as_text(plain[row].as_py(maps_as_pydicts="strict") if _unique(plain, row) else "a key occurs twice")
        subject = written(_as_text(names[row].as_py())) or None if names is not None else None
        raw = value if isinstance(value, str) else repr(value)
        yield (
            sized(None if value is None else to_bytes(raw))
            + (sized(to_bytes(subject)) if subject is not None else b""),
            value,
            subject,
        )


def _unique(column: pa.Array, row: int) -> bool:
    """Whether the keys of a map are different; Arrow does not see to it."""
    if not types.is_map(column.type) or not column[row].is_valid:
        return True
    keys = [key.as_py() for key in column[row].values.field(0)]
    return len(set(keys)) == len(keys)


def _as_text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Mapping):
        return {_as_text(key): _as_text(item) for key, item in value.items()}
    return [_as_text(item) for item in value] if isinstance(value, list) else value


def _with_bytes(kind: pa.DataType) -> pa.DataType:
    """A type with bytes in place of strings, since strings are not validated when Parquet is read."""
    if types.is_struct(kind):
        return pa.struct([one.with_type(_with_bytes(one.type)) for one in kind])
    if types.is_map(kind):
        return pa.map_(_with_bytes(kind.key_type), _with_bytes(kind.item_type))
    if is_list(kind):
        return pa.large_list(_with_bytes(kind.value_type))
    if types.is_dictionary(kind):
        return _with_bytes(kind.value_type)
    return pa.large_binary() if is_text(kind) and not types.is_null(kind) else kind
