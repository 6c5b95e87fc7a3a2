"""JSON Lines: one object per line, its keys as columns, types as the values have them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from .opened import RefusedError

Row = tuple[int, dict[str, Any]]
"""A line number from 1, and the object of the line."""

_KINDS = {str: "string", bool: "Boolean", int: "integer", float: "number", list: "nested", dict: "nested"}
_ARROW = {"string": pa.string(), "Boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64()}
_MIXED = "mixed"
_MOST_SHOWN = 60
MOST_KEYS = 1000
"""Objects of one column that have more keys than this together are text, not structs."""
MOST_DEPTH = 32


class Written(str):
    """A number that no type of Arrow gives back as it is written: ``9.90``, ``1e3``, one of more than 64 bits."""

    __slots__ = ()


_KINDS[Written] = "written"


def _integer(text: str) -> int | Written:
    found = int(text) if len(text) < 20 else 1 << 63
    return found if -(1 << 63) <= found < 1 << 63 and str(found) == text else Written(text)


def _number(text: str) -> float | Written:
    found = float(text)
    return found if repr(found) == text and "e" not in text else Written(text)


def parse_lines(lines: Iterable[bytes]) -> Iterator[Row]:
    """The objects of the lines; blank lines, of which several may come together, are passed over.

    Raises:
        RefusedError: a line that is not a JSON object of UTF-8 text, or with a key twice; says which line.
    """
    number = 0
    for line in lines:
        text = line.strip()
        if text:
            number += 1
            yield number, _parse(number, text)
        else:
            number += max(1, line.count(b"\n"))


def _parse(number: int, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            text.decode("utf-8", "surrogateescape"), object_pairs_hook=_object, parse_int=_integer, parse_float=_number
        )
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


class _Shape:
    """What the values at one place of a column are. ``kinds``: of single values; ``keys``, ``items``: of objects and
    lists, ``None`` where there are none."""

    __slots__ = ("items", "keys", "kinds")

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.keys: dict[str, _Shape] | None = None
        self.items: _Shape | None = None

    def add(self, value: Any, depth: int = 0) -> None:
        """Take in a value."""
        if value is None:
            return
        if depth > MOST_DEPTH:
            self.kinds.add(_MIXED)
        elif isinstance(value, dict):
            if self.keys is None:
                self.keys = {}
            for key, item in value.items():
                shape = self.keys.get(key)
                if shape is None:
                    if len(self.keys) >= MOST_KEYS:
                        self.kinds.add(_MIXED)
                        return
                    shape = self.keys[key] = _Shape()
                shape.add(item, depth + 1)
        elif isinstance(value, list):
            if self.items is None:
                self.items = _Shape()
            for item in value:
                self.items.add(item, depth + 1)
        else:
            self.kinds.add("written" if isinstance(value, float) and _is_rewritten(value) else _KINDS[type(value)])

    def type(self) -> pa.DataType | None:
        """The type of Arrow that gives back all values as they are written; ``None`` if there is none."""
        if len(self.kinds) + (self.keys is not None) + (self.items is not None) > 1:
            return None
        if self.kinds:
            return _ARROW.get(*self.kinds)
        if self.items is not None:
            inner = self.items.type()
            return pa.list_(inner) if inner is not None else None
        if self.keys is None:
            return pa.null()
        fields = {key: shape.type() for key, shape in self.keys.items()}
        return None if not fields or None in fields.values() else pa.struct(list(fields.items()))


class JsonTypes:
    """The types of the columns, found from all rows.

    A column of objects and arrays has the Arrow type that gives back all of them as they are written. Where none does
    (a triple with a number next to one with a string, whole numbers next to fractions, ``9.90``), the column is text:
    the JSON of each value. Single numbers may be of both kinds; they are text where a value would change.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._first: dict[str, int] = {}
        self._nested: dict[str, _Shape] = {}

    def add(self, rows: list[Row]) -> None:
        """Take in some rows.

        Raises:
            RefusedError: single values of different types in one column.
        """
        for number, row in rows:
            for name, value in row.items():
                self._see(number, name, value)

    def schema(self) -> pa.Schema:
        """The columns in the order of their first appearance; one of nothing but nulls has the type null."""
        return pa.schema([(name, self._type(name, kind)) for name, kind in self._kinds.items()])

    def _type(self, name: str, kind: str) -> pa.DataType:
        if kind == "nested":
            return self._nested[name].type() or pa.string()
        return _ARROW.get(kind, pa.string() if kind else pa.null())

    def _see(self, number: int, name: str, value: Any) -> None:
        if value is None:
            self._kinds.setdefault(name, "")
            return
        kind, before = _KINDS[type(value)], self._kinds.get(name)
        if kind == "written":
            kind = "number" if _is_exact(value) else "written"
        if not before:
            self._kinds[name], self._first[name] = kind, number
        elif before not in (kind, _MIXED):
            if "nested" in (kind, before):
                self._kinds[name] = _MIXED
            elif {kind, before} <= {"integer", "number", "written"}:
                self._kinds[name] = "written" if "written" in (kind, before) else "number"
            else:
                raise RefusedError(
                    f"line {number}: {name!r} is {_shown(_text(value).encode(errors='replace'))} ({kind}), but line "
                    f"{self._first[name]} has a value of another type ({before}); write the same type in all lines"
                )
        if kind == "nested":
            self._nested.setdefault(name, _Shape()).add(value)


def _is_rewritten(value: float) -> bool:
    """Whether Arrow writes a number otherwise than JSON where it makes text of it, as it does of parts of triples."""
    return value.is_integer() or not 1e-4 <= abs(value) < 1e9


def _is_exact(text: str) -> bool:
    """Whether a number has the same value as one of 64 bits."""
    found = float(text)
    return math.isfinite(found) and len(text) < 40 and Decimal(repr(found)) == Decimal(text)


def json_arrays(rows: list[Row], fields: list[pa.Field]) -> list[pa.Array]:
    """The columns of some rows, of the types that :class:`JsonTypes` found."""
    return [_array([row.get(field.name) for _, row in rows], field.type) for field in fields]


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_floating(kind):
        return pa.array([None if value is None else float(value) for value in values], kind)
    if not pa.types.is_string(kind):
        return pa.array(values, kind)
    return text_array([value if value is None or isinstance(value, str) else _text(value) for value in values])


def _text(value: Any) -> str:
    """The JSON of a value, its numbers as they are written."""
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return json.dumps(value)


def text_array(values: list[str | None]) -> pa.Array:
    """Strings as they stand in the file: bytes that are not UTF-8 stay such, and cost their row alone."""
    raw = [None if value is None else _encoded(value) for value in values]
    return pa.array(raw, pa.binary()).view(pa.string())


def _encoded(value: str) -> bytes:
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which JSON can name
        return value.encode("utf-8", "surrogatepass")


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
