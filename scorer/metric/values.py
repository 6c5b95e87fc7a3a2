"""One spelling of a value in all forms, and Arrow's columns as values of Python with single values as text.

A whole number has no point (``5.0`` is ``5``), a float is the shortest decimal that reads back, an exponent is written
out (:mod:`scorer.system.numbers`), dates, times and durations are ISO 8601 with a blank between date and time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..system.numbers import spell_number

MOST_CHARACTERS = 120
_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")
"""A byte that is not UTF-8 as Python prints it: Python holds it as half of a surrogate pair."""
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NARROW: tuple[type, ...] = (np.float16, np.float32)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCALARS = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_date, types.is_time,
            types.is_timestamp, types.is_duration)  # fmt: skip
_STRINGS = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
_LISTS = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)


@dataclass(frozen=True)
class Unreadable:
    """A value that cannot be written as text."""

    description: str = "a value that cannot be written"
    """Description of the value, for messages and row keys."""

    def __repr__(self) -> str:
        return self.description


UNREADABLE = Unreadable()


def spell(value: Any) -> str | None:
    """A single value of Python as text; ``None`` for null, NaN, infinities, and anything that is no single value.

    Raises:
        ValueError: an integer of thousands of digits.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Decimal):
        return spell_number(str(value)) if value.is_finite() else None
    if isinstance(value, Real):  # the shortest decimal that reads back, at its own precision
        digits = str(value) if isinstance(value, _NARROW) else repr(float(value))
        return spell_number(digits) if math.isfinite(value) else None
    if isinstance(value, timedelta):
        return _duration((value.days * 86400 + value.seconds) * 10**9 + value.microseconds * 1000)
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            return None
        (text,) = spell_column(pa.array(np.array([value])))
        return text if isinstance(text, str) else None
    if isinstance(value, datetime):
        return value.isoformat(" ") if value == value else None  # pandas has NaT, which is not a time
    return value.isoformat() if isinstance(value, date | time) else None


def spell_column(column: pa.Array) -> list[Any]:
    """The text of each value of a column of a scalar type: ``None`` for null, :data:`UNREADABLE` for a value that has
    no text, such as a time in a zone that is not known or in a year that Python does not have."""
    codes, stored, write = stored_values(column)
    texts: list[Any] = []
    for value in stored:
        try:
            texts.append(write(value))
        except (ValueError, OverflowError):
            texts.append(UNREADABLE)
    texts.append(None)
    return [texts[code] for code in codes.tolist()]


def stored_values(column: pa.Array) -> tuple[npt.NDArray[np.int64], list[Any], Callable[[Any], str | None]]:
    """The distinct values of a column of a scalar type, as numbers if Arrow's range exceeds Python's.

    Returns:
        Codes, int64, *Shape:* (rows,), the number of distinct values for null; these values; the function that spells
        one, which raises ``ValueError`` or ``OverflowError`` where there is no text.
    """
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_float16(column.type):
        column = column.cast(pa.float32())
    elif types.is_decimal(column.type) and column.type.bit_width < 128:  # Arrow cannot encode it
        column = column.cast(pa.decimal128(38, column.type.scale))
    encoded = column.dictionary_encode()
    distinct, kind = encoded.dictionary, column.type
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), len(distinct)).to_numpy(zero_copy_only=False)
    if types.is_floating(kind):
        return codes, list(distinct.to_numpy(zero_copy_only=False)), spell
    if types.is_temporal(kind):
        ticks = pa.int32() if kind.bit_width == 32 else pa.int64()
        return codes, distinct.view(ticks).to_pylist(), _temporal(kind)
    return codes, distinct.to_pylist(), spell


def _temporal(kind: pa.DataType) -> Callable[[int], str]:
    if types.is_date(kind):
        per_day = 1 if types.is_date32(kind) else 86400 * 1000
        return lambda ticks: (date(1970, 1, 1) + timedelta(days=ticks // per_day)).isoformat()
    scale = 10**9 // _PER_SECOND[kind.unit]
    if types.is_duration(kind):
        return lambda ticks: _duration(ticks * scale)
    return lambda ticks: _moment(ticks * scale, kind)


def _moment(nanoseconds: int, kind: pa.DataType) -> str:
    """A time, with a day or without. Parts of a second have six digits, or nine where six do not do."""
    microseconds, nanoseconds_left = divmod(nanoseconds, 1000)
    moment, precision = _EPOCH + timedelta(microseconds=microseconds), "microseconds" if nanoseconds_left else "auto"
    if types.is_timestamp(kind):
        moment = moment.replace(tzinfo=None) if kind.tz is None else moment.astimezone(_zone(kind.tz))
        text, end = moment.isoformat(" ", precision), len("2026-03-14 15:00:00.000000")
    elif moment.date() == _EPOCH.date():
        text, end = moment.time().isoformat(precision), len("15:00:00.000000")
    else:
        raise ValueError("it is no time of a day")
    return f"{text[:end]}{nanoseconds_left:03}{text[end:]}" if nanoseconds_left else text


@cache
def _zone(name: str) -> tzinfo:
    try:
        return pa.lib.string_to_tzinfo(name)
    except Exception as error:  # a damaged zone database or an invalid name can raise anything
        raise ValueError(f"the time zone {name!r} is not known") from error


def _duration(nanoseconds: int) -> str:
    """``P1DT2H3M4.5S``, ``PT0S``."""
    sign, magnitude = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    seconds, fraction_ns = divmod(magnitude, 10**9)
    days, seconds = divmod(seconds, 86400)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    fraction = f".{fraction_ns:09}".rstrip("0") if fraction_ns else ""
    clock = (
        f"{hours}H" * (hours > 0)
        + f"{minutes}M" * (minutes > 0)
        + f"{seconds}{fraction}S" * bool(seconds or fraction_ns)
    )
    return f"{sign}P" + f"{days}D" * (days > 0) + (f"T{clock}" if clock else "" if days else "T0S")


def shown(value: Any) -> str:
    """A value on one line of bounded length; bytes that are not UTF-8 are written as ``\\xe9``."""
    text = _BYTE.sub(lambda byte: f"\\x{byte[1]}", repr(dict(value) if isinstance(value, Mapping) else value))
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def is_text(kind: pa.DataType) -> bool:
    """Whether a type holds strings, in any layout; the null type counts as one."""
    inner = kind.value_type if types.is_dictionary(kind) else kind
    return any(test(inner) for test in _STRINGS)


def is_list(kind: pa.DataType) -> bool:
    """Whether a type holds lists, in any layout."""
    return any(test(kind) for test in _LISTS)


def is_part(kind: pa.DataType) -> bool:
    """Whether a part of a triple may have a type: text, number, Boolean, date or time."""
    inner = kind.value_type if types.is_dictionary(kind) else kind
    return is_text(inner) or any(test(inner) for test in _SCALARS)


def flatten(column: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """The number of elements of each list or map of a column, int64, *Shape:* (rows,), 0 for null; and the elements of
    all rows; the elements of a map are structs of ``key`` and ``value``."""
    if types.is_map(column.type):
        pair = pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])
        column = column.cast(pa.list_(pair))
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64), pc.list_flatten(column)


def as_text(column: pa.Array) -> pa.Array:
    """A column of strings as it is, and of other scalars as they are spelled; null where there is no text."""
    if is_text(column.type):
        return column
    return pa.array([None if text is UNREADABLE else text for text in spell_column(column)], pa.string())


def to_python(column: pa.Array) -> list[Any]:
    """The values of a column as Python objects with single values as text.

    Bytes that are not UTF-8 become halves of surrogate pairs. A value that cannot be written is :data:`UNREADABLE`, and
    so is a struct or a map with a key twice.
    """
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if is_text(kind):
        values = column.cast(pa.large_binary()).to_pylist()
        return [None if value is None else value.decode("utf-8", "surrogateescape") for value in values]
    if is_part(kind):
        return spell_column(column)
    objects: list[Any] = [UNREADABLE] * len(column)
    if types.is_struct(kind):
        names = [field.name for field in kind]
        children = [to_python(child) for child in column.flatten()]
        rows = zip(*children, strict=True) if children else [()] * len(column)
        objects = [_object(names, row) for row in rows]
    elif is_list(kind) or (types.is_map(kind) and is_part(kind.key_type)):
        lengths, flat = flatten(column)
        parts = [to_python(flat.field(name)) for name in ("key", "value")] if types.is_map(kind) else [to_python(flat)]
        ends = np.cumsum(lengths).tolist()
        for row, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            slices = [part[start:end] for part in parts]
            objects[row] = _object(*slices) if types.is_map(kind) else slices[0]
    return [value if is_valid else None for value, is_valid in zip(objects, column.is_valid().to_pylist(), strict=True)]


def _object(names: Sequence[Any], values: Sequence[Any]) -> Any:
    return dict(zip(names, values, strict=True)) if len({*names}) == len(names) else UNREADABLE
