"""Columns of outputs as groups: values of every Arrow type as texts and as JSON; nested ones are refused by name."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from typing import Any

import pyarrow as pa
import pytest

from scorer.audit.database import GroupCodes
from scorer.errors import ColumnError
from scorer.scoring.output_columns import by_value, encode_names, group_codes, numbers, spelled, value_names


@pytest.mark.parametrize(
    ("column", "codes", "values"),
    [
        (pa.array([10, 9, None, 10]), [1, 0, 2, 1], [9, 10, None]),
        (pa.array([dt.date(2026, 2, 1), None, dt.date(2025, 11, 3)]), [1, 2, 0], ["2025-11-03", "2026-02-01", None]),
        (pa.array([b"b", b"a\xff"]), [1, 0], ["a\ufffd", "b"]),
        (pa.array([1.0, float("nan"), None, float("-inf")]), [1, 2, 2, 0], ["-inf", 1.0, None]),
        (pa.array([True, None, False]), [1, 2, 0], [False, True, None]),
        (pa.DictionaryArray.from_arrays([1, 0, 2], pa.array(["a", None, "a"])), [1, 0, 0], ["a", None]),
        (pa.nulls(2), [0, 0], [None]),
    ],
)
def test_groups_of_any_plain_type_go_into_json(column: pa.Array, codes: list[int], values: list[object]) -> None:
    found, names = group_codes(column, "c")
    assert (found.tolist(), names) == (codes, values)
    assert json.loads(json.dumps(names, allow_nan=False)) == values


FAR = 2**62
BROKEN = pa.array([b"caf\xe9", b"caf\xe8", b"caf\xc3\xa9"])
NANOSECOND = pa.array([1, None], pa.timestamp("ns"))
NANOSECOND_TEXTS = ["1970-01-01 00:00:00.000000001", None]
COLUMNS: list[tuple[pa.Array, list[str | None]]] = [
    (pa.nulls(2), [None, None]),
    (pa.array([True, False, None]), ["true", "false", None]),
    (pa.array([0.5, None, 5.0, float("inf"), float("nan")], pa.float32()), ["0.5", None, "5", "inf", "nan"]),
    *(
        (pa.array([decimal.Decimal("1.25"), None], kind), ["1.25", None])
        for kind in (pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal128(20, 2), pa.decimal256(50, 2))
    ),
    *(
        (BROKEN.cast(kind, safe=False), ["caf\\xe9", "caf\\xe8", "café"])
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    ),
    *(
        (pa.array([b"\x00\xff", None], kind), ["00ff", None])
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2))
    ),
    (pa.array([dt.date(2026, 1, 2), None]), ["2026-01-02", None]),
    (pa.array([2**31 - 1], pa.int32()).view(pa.date32()), [str(2**31 - 1)]),
    (pa.array([-1, FAR], pa.int64()).view(pa.time64("ns")), ["-1", str(FAR)]),
    (pa.array([FAR], pa.int64()).view(pa.timestamp("s")), [str(FAR)]),
    (NANOSECOND, NANOSECOND_TEXTS),
    (pa.array([0], pa.timestamp("s", "Asia/Tokyo")), ["1970-01-01 09:00:00+09:00"]),
    (pa.array([0, 1], pa.timestamp("us", "Mars/Base")), ["0", "1"]),
    (pa.array([86400500], pa.duration("ms")), ["P1DT0.5S"]),
    (pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", "a", "b"])), ["a", "a", "b"]),
    (pa.array([b"\x01" * 16, None], pa.uuid()), ["01" * 16, None]),
]


@pytest.mark.parametrize(("column", "expected"), COLUMNS, ids=[str(column.type) for column, _ in COLUMNS])
def test_every_type_has_texts(column: pa.Array, expected: list[str | None]) -> None:
    assert value_names(column, "x") == expected
    assert value_names(column.slice(1), "x") == expected[1:]
    distinct = encode_names(column, "x")[1]
    assert len(set(distinct)) == len(distinct)
    groups = GroupCodes(("x",))
    found = groups.codes(pa.table({"x": column})).tolist()
    assert [groups.groups()[code]["x"] for code in found] == expected


NESTED: list[Any] = [
    pa.array([{"a": 1}]),
    pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),
    pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([{"a": 1}])),
]


@pytest.mark.parametrize("column", NESTED, ids=str)
def test_nested_types_are_refused_by_name(column: pa.Array) -> None:
    with pytest.raises(ColumnError, match=r"column 'x' is .* and cannot group rows") as caught:
        GroupCodes(("x",)).codes(pa.table({"x": column}))
    assert str(column.type) in str(caught.value)
    with pytest.raises(ColumnError, match="cannot group"):
        group_codes(column, "x")


def test_group_values_stay_distinct_in_words() -> None:
    words = {value: spelled(value) for value in (None, "null", '"null"', "a", '"', "")}
    assert words[None] == "null" and words["null"] == '"null"' and words["a"] == "a"
    assert len({*words.values()}) == len(words)


@pytest.mark.parametrize("number", [2**53 + 1, 2**62 + 1, -(2**53) - 1, 2**63 - 1])
def test_a_number_that_would_be_another_one_is_named(number: int) -> None:
    for column in (pa.array([1, None, number]), pa.array(["1", "", str(number)])):
        with pytest.raises(ColumnError, match=f"column 'r' has {number}, which a 64-bit float does not hold exactly"):
            numbers(column, "r")


@pytest.mark.parametrize("exact", [2**62, -(2**63), 2**53 + 2, 2**63])
def test_large_numbers_that_a_float_holds_are_exact(exact: int) -> None:
    assert numbers(pa.array([exact], pa.uint64() if exact == 2**63 else pa.int64()), "r").tolist() == [float(exact)]
    assert numbers(pa.array([str(exact)]), "r").tolist() == [float(exact)]


def test_names_of_equal_values_are_equal() -> None:
    same = {"7.0": "7", "-7.00": "-7", "7": "7", "07.0": "07", "0.0": "0"}
    same |= {name: name for name in ("7.5", "7.", ".0", "a7.0", "7.0.0", "1e3", "", "07")}
    assert {name: by_value(name) for name in same} == same
    assert by_value(None) is None
    codes = GroupCodes(("system",))
    found = [codes.codes(pa.table({"system": column})).tolist() for column in (["8.0", None, "7"], ["7.0"], [8.0, 7.0])]
    assert (found, codes.groups()) == ([[1, 0, 2], [2], [1, 2]], [{"system": one} for one in (None, "8.0", "7")])
