"""JSON Lines: one object per line, its keys as columns, types as the values have them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from .opened import RefusedError

Row = tuple[int, dict[str, Any]]
"""A line number from 1, and the object of the line."""

_KINDS = {str: "string", bool: "Boolean", int: "integer", float: "number", list: "nested", dict: "nested"}
_ARROW = {"string": pa.string(), "Boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64()}
_MIXED = "mixed"
_MOST_SHOWN = 60


def parse_lines(lines: Iterable[bytes]) -> Iterator[Row]:
    """The objects of the lines; blank lines are passed over.

    Raises:
        RefusedError: a line that is no JSON object of UTF-8 text, or with a key twice; says which line.
    """
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text:
            yield number, _parse(number, text)


def _parse(number: int, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text.decode("utf-8", "surrogateescape"), object_pairs_hook=_object)
    except _TwiceError as error:
        raise RefusedError(f"line {number}: the key {str(error)!r} occurs twice") from error
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"line {number} is not JSON ({error}): {_shown(text)}") from error
    if not isinstance(found, dict):
        kind = "an array" if isinstance(found, list) else "a single value"
        raise RefusedError(
            f"line {number} is {kind}, not an object: {_shown(text)}; write one object per line (jq -c '.[]' does it)"
        )
    return found


class JsonTypes:
    """The types of the columns, found from all rows.

    A column of objects and arrays has the Arrow type that fits all of them. Where none does (a triple with a number
    next to one with a string), the column is text: the JSON of each value.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._first: dict[str, int] = {}
        self._nested: dict[str, pa.DataType] = {}

    def add(self, rows: list[Row]) -> None:
        """Take in some rows.

        Raises:
            RefusedError: single values of different types in one column, or an integer beyond 64 bits.
        """
        for number, row in rows:
            for name, value in row.items():
                self._see(number, name, value)
        for name, kind in self._kinds.items():
            if kind == "nested":
                self._fit(name, [row.get(name) for _, row in rows])

    def schema(self) -> pa.Schema:
        """The columns in the order of their first appearance; one of nothing but nulls has the type null."""
        kinds = self._kinds.items()
        return pa.schema([(name, self._nested.get(name) or _ARROW.get(kind, _unknown(kind))) for name, kind in kinds])

    def _see(self, number: int, name: str, value: Any) -> None:
        if value is None:
            self._kinds.setdefault(name, "")
            return
        kind, before = _KINDS[type(value)], self._kinds.get(name)
        if kind == "integer" and not -(1 << 63) <= value < 1 << 63:
            raise RefusedError(f"line {number}: {name!r} is {value}, which has more than 64 bits; write it as a string")
        if not before:
            self._kinds[name], self._first[name] = kind, number
        elif before not in (kind, _MIXED):
            if "nested" in (kind, before):
                self._kinds[name] = _MIXED
                self._nested.pop(name, None)
            elif {kind, before} == {"integer", "number"}:
                self._kinds[name] = "number"
            else:
                raise RefusedError(
                    f"line {number}: {name!r} is {_shown(json.dumps(value).encode())} ({kind}), but line "
                    f"{self._first[name]} has a value of another type ({before}); write the same type in all lines"
                )

    def _fit(self, name: str, values: list[Any]) -> None:
        try:
            found = pa.schema([(name, pa.array(values).type)])
            known = [pa.schema([(name, self._nested[name])])] if name in self._nested else []
            self._nested[name] = pa.unify_schemas([*known, found], promote_options="permissive").field(0).type
            pa.array(values, self._nested[name])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            self._kinds[name] = _MIXED
            self._nested.pop(name, None)


def json_arrays(rows: list[Row], fields: list[pa.Field]) -> list[pa.Array]:
    """The columns of some rows, of the types that :class:`JsonTypes` found."""
    return [_array([row.get(field.name) for _, row in rows], field.type) for field in fields]


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if not pa.types.is_string(kind):
        return pa.array(values, kind)
    return text_array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values])


def text_array(values: list[str | None]) -> pa.Array:
    """Strings as they stand in the file: bytes that are not UTF-8 stay such, and cost their row alone."""
    raw = [None if value is None else _encoded(value) for value in values]
    return pa.array(raw, pa.binary()).view(pa.string())


def _encoded(value: str) -> bytes:
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which JSON can name
        return value.encode("utf-8", "surrogatepass")


def _unknown(kind: str) -> pa.DataType:
    return pa.string() if kind == _MIXED else pa.null()


def _shown(text: bytes) -> str:
    shown = text.decode(errors="replace")
    return shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "..."


class _TwiceError(Exception):
    """A key that occurs twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        raise _TwiceError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return found
