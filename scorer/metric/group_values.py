"""Values of a column of any Arrow type as texts: what groups are called, and what a gate's ``group`` is compared with.

Arrow can hold more than Python's own types can: nanoseconds, years beyond 9999, unknown time zones, strings that are
not UTF-8. So values are compared as numbers and bytes, and only the distinct ones are formatted, here.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError

Texts = list[str | None]
Words = Callable[[Any], str]

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_ZERO = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_OF_DAY = 86400


def as_text(value: Any) -> str | None:
    """A Python value as groups are named by it: booleans as TOML writes them, bytes as hexadecimal, ``None`` for null.

    Raises:
        ValueError: an integer of thousands of digits.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, bytes) else str(value)


def spelled(value: str | None) -> str:
    """A group value as messages, gates and files of metrics write it: null is ``null``, a text of that name ``"null"``.

    Distinct values stay distinct: a text that looks like a null or like a quoted text is quoted.
    """
    if value is None:
        return "null"
    return json.dumps(value, ensure_ascii=False) if value == "null" or value.startswith('"') else value


def encode(column: pa.Array, name: str) -> tuple[npt.NDArray[np.int64], Texts]:
    """A column as codes of texts.

    Args:
        name: of the column, for messages.

    Returns:
        Codes, int64, *Shape:* (rows,), and the distinct texts that they are positions in. A string that is not UTF-8
        has ``\\xff`` where it is broken, so that two broken strings stay two.

    Raises:
        ColumnError: lists, structs and the like, which have no single values.
    """
    codes, texts = _encode(column, name, column.type)
    used, inverse = np.unique(codes, return_inverse=True)
    distinct: dict[str | None, int] = {}
    places = [distinct.setdefault(texts[code], len(distinct)) for code in used.tolist()]
    return np.array(places, np.int64)[inverse.reshape(-1)], list(distinct)


def texts(column: pa.Array, name: str) -> Texts:
    """A column's values, each as text; see :func:`encode`."""
    codes, distinct = encode(column, name)
    return [distinct[code] for code in codes.tolist()]


def _encode(column: pa.Array, name: str, whole: pa.DataType) -> tuple[npt.NDArray[np.int64], Texts]:
    """Codes and texts, the latter neither distinct nor all used. ``whole``: the type of the column, for messages."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return _encode_flat(column.storage, lambda value: str(uuid.UUID(bytes=value)))
        return _encode(column.storage, name, whole)
    if pa.types.is_run_end_encoded(kind):
        return _encode(pc.run_end_decode(column), name, whole)
    if pa.types.is_dictionary(kind):
        inner, values = _encode(column.dictionary, name, whole)
        indices = column.indices.cast(pa.int64()).fill_null(len(inner)).to_numpy(zero_copy_only=False)
        return np.append(inner, len(values))[indices], [*values, None]
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64), [None]
    found = _physical(column)
    if found is None:
        raise ColumnError(f"column {name!r} is {whole} and cannot group rows; name one of single values")
    return _encode_flat(*found)


def _encode_flat(column: pa.Array, words: Words) -> tuple[npt.NDArray[np.int64], Texts]:
    encoded = column.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    return codes, [*(None if value is None else words(value) for value in encoded.dictionary.to_pylist()), None]


def _physical(column: pa.Array) -> tuple[pa.Array, Words] | None:
    """A column in a type that Arrow can encode and Python can hold, and how such a value is formatted.

    ``None`` for a type that has no single values.
    """
    kind, types = column.type, pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pa.large_binary()), lambda value: str(value.decode(errors="backslashreplace"))
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return column.cast(pa.large_binary()), bytes.hex
    if types.is_timestamp(kind):
        zone, per = _zone(kind.tz), _PER_SECOND[kind.unit]
        return column.view(pa.int64()), lambda value: _moment(value, per, kind.unit, kind.tz, zone)
    if types.is_date(kind):
        per_day = 1 if types.is_date32(kind) else _SECONDS_OF_DAY * 1000
        return column.view(pa.int32() if types.is_date32(kind) else pa.int64()), lambda value: _day(value // per_day)
    if types.is_time(kind):
        per = _PER_SECOND[kind.unit]
        return column.view(pa.int32() if types.is_time32(kind) else pa.int64()), lambda value: _time(value, per)
    if types.is_duration(kind):
        per = _PER_SECOND[kind.unit]
        return column.view(pa.int64()), lambda value: _duration(value, per)
    if types.is_interval(kind):
        return column.view(pa.binary(16)), _interval
    if types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(38, kind.scale)), str
    if types.is_primitive(kind) or types.is_decimal(kind) or types.is_fixed_size_binary(kind):
        return column, lambda value: str(as_text(value))
    return None


def _zone(name: str | None) -> tzinfo | None:
    """A time zone by its name or offset; UTC where it is unknown."""
    if name is None:
        return None
    try:
        zone: tzinfo = pa.lib.string_to_tzinfo(name)
    except Exception:  # a damaged zone database or an invalid name can raise anything
        return UTC
    return zone


def _fraction(rest: int, per: int) -> str:
    """Parts of a second, as :mod:`datetime` writes them: none, six digits, or nine where six do not do."""
    nanoseconds = rest * (10**9 // per)
    if not nanoseconds:
        return ""
    return f".{nanoseconds:09}" if nanoseconds % 1000 else f".{nanoseconds // 1000:06}"


def _moment(value: int, per: int, unit: str, tz: str | None, zone: tzinfo | None) -> str:
    seconds, rest = divmod(value, per)
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
        moment = moment.replace(tzinfo=None) if zone is None else moment.astimezone(zone)
        text = moment.isoformat(" ", "seconds")
        return text[:19] + _fraction(rest, per) + text[19:]
    except (OverflowError, ValueError):  # a year that Python does not have: what Arrow stores, which is UTC
        text = str(np.datetime64(seconds, "s")).replace("T", " ")
        return text + _fraction(rest, per) + ("" if tz is None else "+00:00")


def _day(value: int) -> str:
    try:
        return date.fromordinal(_DAY_ZERO + value).isoformat()
    except (OverflowError, ValueError):
        return str(np.datetime64(value, "D"))


def _time(value: int, per: int) -> str:
    seconds, rest = divmod(value, per)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}{_fraction(rest, per)}"


def _duration(value: int, per: int) -> str:
    seconds, rest = divmod(value, per)
    try:
        return str(timedelta(seconds=seconds)) + _fraction(rest, per)
    except OverflowError:
        return f"{seconds}{_fraction(rest, per)} s"


def _interval(value: bytes) -> str:
    months, days, nanoseconds = struct.unpack("<iiq", value)
    return f"{months} months, {days} days, {nanoseconds} ns"
