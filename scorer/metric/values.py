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
