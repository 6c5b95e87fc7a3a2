"""Values of every Arrow type as texts: none is refused but lists, structs and intervals."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scorer.audit.database import GroupCodes
from scorer.errors import ColumnError
from scorer.metric.group_values import encode, texts

FAR = 2**62
D = decimal.Decimal


def stored(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Integers as they are stored, in a type that may not be able to give them to Python."""
    width = {32: pa.int32(), 64: pa.int64()}[kind.bit_width]
    return pa.array(values, width).view(kind)


def broken(kind: pa.DataType) -> pa.Array:
    """Two strings that are not UTF-8, and one that is."""
    return pa.array([b"caf\xe9", b"caf\xe8" * 20, b"caf\xc3\xa9"]).cast(kind, safe=False)


WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
DECIMALS = (pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal128(20, 2), pa.decimal256(50, 2))
STRINGS = (pa.string(), pa.large_string(), pa.string_view())
BYTES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2))
NANOSECOND = pa.array([1, None], pa.timestamp("ns"))
SINGLE: dict[str, tuple[pa.Array, list[str | None]]] = {
    "null": (pa.nulls(2), [None, None]),
    "bool": (pa.array([True, False, None]), ["true", "false", None]),
    **{str(kind): (pa.array([0, 7, None], kind), ["0", "7", None]) for kind in WHOLE},
    "float": (pa.array([0.5, None, float("inf")], pa.float32()), ["0.5", None, "inf"]),
    "double": (pa.array([0.1, float("nan")]), ["0.1", "nan"]),
    **{str(kind): (pa.array([D("1.25"), None, D("-3.00")], kind), ["1.25", None, "-3"]) for kind in DECIMALS},
    **{str(kind): (pa.array(["a", None, "", "é"], kind), ["a", None, "", "é"]) for kind in STRINGS},
    **{f"{kind}, not UTF-8": (broken(kind), ["caf\\xe9", "caf\\xe8" * 20, "café"]) for kind in STRINGS},
    **{str(kind): (pa.array([b"\x00\xff", None], kind), ["00ff", None]) for kind in BYTES},
    "date32": (pa.array([dt.date(2026, 1, 2), None]), ["2026-01-02", None]),
    "date32, far": (stored([2**31 - 1, -(2**31)], pa.date32()), ["2147483647", "-2147483648"]),
    "date64": (pa.array([dt.date(2026, 1, 2)], pa.date64()), ["2026-01-02"]),
    "time32[s]": (pa.array([3661], pa.time32("s")), ["01:01:01"]),
    "time64[ns]": (pa.array([1, 1000], pa.time64("ns")), ["00:00:00.000000001", "00:00:00.000001"]),
    "time64, out of a day": (stored([-1, FAR], pa.time64("ns")), ["-1", str(FAR)]),
    "timestamp[s], far": (stored([FAR], pa.timestamp("s")), [str(FAR)]),
    "timestamp[ns]": (NANOSECOND, ["1970-01-01 00:00:00.000000001", None]),
    "timestamp, a zone": (pa.array([0], pa.timestamp("s", "Asia/Tokyo")), ["1970-01-01 09:00:00+09:00"]),
    "timestamp, no such zone": (
        pa.array([0, 1], pa.timestamp("us", "Mars/Base")),
        ["0", "1"],
    ),
    "duration[ms]": (pa.array([86400500], pa.duration("ms")), ["P1DT0.5S"]),
    "dictionary": (pa.array(["a", "b", "a", None]).dictionary_encode(), ["a", "b", "a", None]),
    "dictionary of nanoseconds": (
        pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), NANOSECOND),
        [None, "1970-01-01 00:00:00.000000001", None],
    ),
    "dictionary that says a value twice": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", "a", "b"])),
        ["a", "a", "b"],
    ),
    "run ends": (pc.run_end_encode(pa.array(["a", "a", None])), ["a", "a", None]),
    "uuid": (pa.array([b"\x01" * 16, None], pa.uuid()), ["01010101-0101-0101-0101-010101010101", None]),
    "json": (pa.array(["{}"], pa.json_()), ["{}"]),
    "extension of nanoseconds": (
        pa.ExtensionArray.from_storage(pa.opaque(pa.timestamp("ns"), "test", "tagged"), NANOSECOND),
        ["1970-01-01 00:00:00.000000001", None],
    ),
}
NESTED: dict[str, pa.Array] = {
    "list": pa.array([[1]]),
    "struct": pa.array([{"a": 1}]),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),
    "union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    "extension of lists": pa.ExtensionArray.from_storage(
        pa.opaque(pa.list_(pa.int64()), "test", "tagged"), pa.array([[1]])
    ),
    "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "dictionary of structs": pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([{"a": 1}])),
}


@pytest.mark.parametrize("name", SINGLE)
def test_every_type_has_texts(name: str) -> None:
    column, expected = SINGLE[name]
    assert texts(column, "x") == expected
    codes, distinct = encode(column, "x")
    assert len(set(distinct)) == len(distinct)
    assert codes.dtype == np.int64
    sliced = pa.concat_arrays([column, column]).slice(1, len(column)) if name != "run ends" else column.slice(0)
    assert sorted(map(str, texts(sliced, "x"))) == sorted(map(str, expected))
    assert texts(column.slice(0, 0), "x") == []
    groups = GroupCodes(("x",))
    found = groups.codes(pa.table({"x": column})).tolist()
    assert [groups.groups()[code]["x"] for code in found] == expected


@pytest.mark.parametrize("name", NESTED)
def test_nested_types_are_refused_by_name(name: str) -> None:
    column = NESTED[name]
    with pytest.raises(ColumnError, match=r"column 'x' is .* and cannot group rows") as caught:
        GroupCodes(("x",)).codes(pa.table({"x": column}))
    assert str(column.type) in str(caught.value)
