"""One spelling of a value in all forms: numbers, Booleans, dates and times as text, and JSON that keeps them.

A whole number has no point (``5.0`` is ``5``), a float is the shortest decimal that reads back, an exponent is written
out (:mod:`scorer.system.numbers`), dates and times are ISO 8601 with a blank between the two, durations ISO 8601,
Booleans ``true`` and ``false``. Digits that a file has stay as they are: ``8.50``, twenty digits.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..system.numbers import spell_number

MOST_CHARACTERS = 120
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def spell(value: Any) -> str | None:
    """A single value of Python as text; ``None`` for null, for what is not a number, and for no single value.

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
    if isinstance(value, Real):
        return spell_number(_digits(value)) if math.isfinite(value) else None
    if isinstance(value, timedelta):
        return _duration((value.days * 86400 + value.seconds) * 10**9 + value.microseconds * 1000)
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            return None
        (text,), _ = spell_column(pa.array(np.array([value])))
        return text
    if isinstance(value, datetime):
        return value.isoformat(" ") if value == value else None  # pandas has a time that is none
    return value.isoformat() if isinstance(value, date | time) else None


def _digits(value: Any) -> str:
    """The shortest decimal that reads back as the float, at its own precision."""
    return str(value) if isinstance(value, np.float16 | np.float32) else repr(float(value))


def is_scalar(kind: pa.DataType) -> bool:
    """Whether :func:`spell_column` takes a type that is no text."""
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_date, types.is_time,
             types.is_timestamp, types.is_duration)  # fmt: skip
    return any(test(kind) for test in tests)


def spell_column(column: pa.Array) -> tuple[list[str | None], list[bool]]:
    """The text of each value of a column that :func:`is_scalar` takes, and whether it has none although it is no null.

    Arrow holds more than Python: nanoseconds become nine digits; a time zone that is not known, and a year beyond
    those that Python has, cannot be written.
    """
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    known = (
        column.dictionary_encode()
        if not types.is_float16(column.type)
        else column.cast(pa.float32()).dictionary_encode()
    )
    texts, unreadable = _spell_distinct(known.dictionary)
    codes = pc.fill_null(known.indices, len(texts)).to_pylist()
    texts.append(None)
    unreadable.append(False)
    return [texts[code] for code in codes], [unreadable[code] for code in codes]


def _spell_distinct(column: pa.Array) -> tuple[list[str | None], list[bool]]:
    kind = column.type
    write: Callable[[Any], str | None] = spell
    if types.is_floating(kind):
        values: list[Any] = list(column.to_numpy(zero_copy_only=False))
    elif types.is_temporal(kind):
        ticks = pa.int32() if types.is_date32(kind) or types.is_time32(kind) else pa.int64()
        values, write = column.view(ticks).to_pylist(), _temporal(kind)
    else:
        values = column.to_pylist()
    texts: list[str | None] = []
    unreadable: list[bool] = []
    for value in values:
        try:
            texts.append(write(value))
            unreadable.append(False)
        except (ValueError, OverflowError):
            texts.append(None)
            unreadable.append(True)
    return texts, unreadable


def _temporal(kind: pa.DataType) -> Callable[[int], str]:
    """How the numbers of a type of times are written."""
    if types.is_date(kind):
        per_day = 1 if types.is_date32(kind) else 86400 * 1000
        return lambda ticks: (date(1970, 1, 1) + timedelta(days=ticks // per_day)).isoformat()
    per = _PER_SECOND[kind.unit]
    if types.is_timestamp(kind):
        return lambda ticks: _moment(ticks, per, kind.tz)
    if types.is_duration(kind):
        return lambda ticks: _duration(ticks * (10**9 // per))
    return lambda ticks: _time_of_day(ticks, per)


def _time_of_day(ticks: int, per: int) -> str:
    moment = _EPOCH + timedelta(seconds=ticks // per)
    if moment.date() != _EPOCH.date():
        raise ValueError("it is no time of a day")
    return moment.time().isoformat() + _fraction(ticks % per, per)


def _moment(ticks: int, per: int, tz: str | None) -> str:
    seconds, rest = divmod(ticks, per)
    moment = _EPOCH + timedelta(seconds=seconds)
    moment = moment.replace(tzinfo=None) if tz is None else moment.astimezone(_zone(tz))
    text = moment.isoformat(" ", "seconds")
    return text[:19] + _fraction(rest, per) + text[19:]


@cache
def _zone(name: str) -> tzinfo:
    try:
        return pa.lib.string_to_tzinfo(name)
    except Exception as error:  # a damaged zone database or an invalid name can raise anything
        raise ValueError(f"the time zone {name!r} is not known") from error


def _fraction(rest: int, per: int) -> str:
    """Parts of a second as :mod:`datetime` writes them: none, six digits, or nine where six do not do."""
    nanoseconds = rest * (10**9 // per)
    if not nanoseconds:
        return ""
    return f".{nanoseconds:09}" if nanoseconds % 1000 else f".{nanoseconds // 1000:06}"


def _duration(nanoseconds: int) -> str:
    """ISO 8601: ``P1DT2H3M4.5S``, ``PT0S``."""
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    seconds, rest = divmod(left, 10**9)
    days, seconds = divmod(seconds, 86400)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    clock = f"{hours}H" * (hours > 0) + f"{minutes}M" * (minutes > 0) + f"{seconds}{fraction}S" * bool(seconds or rest)
    return f"{sign}P" + f"{days}D" * (days > 0) + (f"T{clock}" if clock else "" if days else "T0S")


def parse_json(text: str, constant: Callable[[str], Any] = str) -> Any:
    """JSON with numbers as text, by :func:`spell_number`.

    Args:
        constant: what becomes of the names ``NaN``, ``Infinity`` and ``-Infinity``.

    Raises:
        ValueError: it is none, is nested too deeply, or has a key twice.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=unique_keys,
            parse_int=spell_number,
            parse_float=spell_number,
            parse_constant=constant,
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def json_text(value: Any) -> str:
    """A value of Python as JSON, its single values by :func:`spell`: numbers and Booleans as such, the rest as text.

    Raises:
        TypeError: an object that JSON has no form for. ValueError: an integer of thousands of digits.
        RecursionError: it is nested too deeply.
    """
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(_key(key))}: {json_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple | np.ndarray | set | frozenset):
        return "[" + ", ".join(json_text(item) for item in value) + "]"
    if isinstance(value, bool | np.bool_ | Integral | Real | Decimal):
        return spell(value) or "null"
    text = spell(value)
    if text is None and value is not None:
        raise TypeError(f"{shown(value)} has no form in JSON")
    return "null" if text is None else json.dumps(text)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {shown(key)} is no text")
    return key


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, where Python's reader would keep the last of two values.

    Raises:
        ValueError: a key occurs twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(name for name, _ in pairs)
        raise ValueError(f"the key {next(name for name in times if times[name] > 1)!r} occurs twice")
    return found


def shown(value: Any) -> str:
    """A value on one line of bounded length."""
    text = repr(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def spell_or_none(value: Any) -> str | None:
    try:
        return spell(value)
    except ValueError:  # an integer of thousands of digits
        return None


def is_text(kind: pa.DataType | None) -> bool:
    """Whether a type holds strings, in any layout; so does the type of nothing but nulls."""
    if kind is None:
        return False
    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_null))


def is_list(kind: pa.DataType) -> bool:
    """Whether a type holds lists, in any layout."""
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
    return any(test(kind) for test in tests)


def is_part(kind: pa.DataType) -> bool:
    """Whether a part of a triple may have a type: text, or a number, Boolean, date or time, which is spelled."""
    return is_text(kind) or is_scalar(kind.value_type if types.is_dictionary(kind) else kind)


def list_values(column: pa.Array) -> tuple[list[int], list[int], list[pa.Array]]:
    """Where the values of each list or map of a column begin and end, null ones empty, and the values: of a map keys
    and items."""
    kind, valid = column.type, column.is_valid().to_numpy(zero_copy_only=False)
    if types.is_fixed_size_list(kind):
        starts = (np.arange(len(column)) + column.offset) * kind.list_size
        ends = starts + kind.list_size
    else:
        offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        views = types.is_list_view(kind) or types.is_large_list_view(kind)
        starts = offsets if views else offsets[:-1]
        ends = starts + column.sizes.to_numpy(zero_copy_only=False) if views else offsets[1:]
    ends = np.where(valid, ends, starts)
    low, high = int(starts.min(initial=1 << 62)), int(ends.max(initial=0))
    low = min(low, high)
    children = (column.keys, column.items) if types.is_map(kind) else (column.values,)
    return (starts - low).tolist(), (ends - low).tolist(), [child.slice(low, high - low) for child in children]


def as_text(column: pa.Array) -> pa.Array:
    """A column of strings or bytes as it is, and of any other scalars as :mod:`.values` spells them."""
    if is_text(column.type) or types.is_large_binary(column.type):
        return column
    return pa.array(spell_column(column)[0], pa.string())


def to_texts(column: pa.Array) -> list[bytes | None]:
    found = as_text(column)
    if types.is_dictionary(found.type):
        found = found.dictionary_decode()
    values: list[bytes | None] = found.cast(pa.large_binary()).to_pylist()
    return values


class Unreadable:
    """A value that cannot be written as text."""

    def __repr__(self) -> str:
        return "a value that cannot be written"


def to_python(column: pa.Array) -> list[Any]:
    """The values of a column as Python objects whose single values are text.

    Bytes that are not UTF-8 become halves of surrogate pairs. What cannot be written, and a struct or a map with a key
    twice, is an object that :func:`read_attributes` refuses.
    """
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if is_text(kind):
        raw = column.cast(pa.large_binary()).to_pylist() if not types.is_null(kind) else [None] * len(column)
        return [None if value is None else value.decode("utf-8", "surrogateescape") for value in raw]
    valid = column.is_valid().to_pylist()
    if types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        children = [to_python(child) for child in column.flatten()]
        if len(set(names)) < len(names):
            return [Unreadable() if there else None for there in valid]
        rows = zip(*children, strict=True) if children else ([()] * len(column))
        return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, valid, strict=True)]
    if types.is_map(kind) or is_list(kind):
        starts, ends, values = list_values(column)
        children = [to_python(child) for child in values]
        found: list[Any] = []
        for start, end, there in zip(starts, ends, valid, strict=True):
            held: Any = children[0][start:end]
            if types.is_map(kind):
                unique = len(set(held)) == len(held)
                held = dict(zip(held, children[1][start:end], strict=True)) if unique else Unreadable()
            found.append(held if there else None)
        return found
    if is_scalar(kind):
        return [Unreadable() if bad else text for text, bad in zip(*spell_column(column), strict=True)]
    return [Unreadable() if there else None for there in valid]
