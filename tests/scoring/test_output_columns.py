"""Columns of outputs as arrays."""

from __future__ import annotations

import json
from datetime import date

import pyarrow as pa
import pytest

from scorer.errors import ColumnError
from scorer.scoring.output_columns import group_codes


def test_a_list_is_no_group() -> None:
    with pytest.raises(ColumnError, match="cannot group"):
        group_codes(pa.array([[1]]), "c")


@pytest.mark.parametrize(
    ("column", "codes", "values"),
    [
        (pa.array([10, 9, None, 10]), [1, 0, 2, 1], [9, 10, None]),
        (pa.array([date(2026, 2, 1), None, date(2025, 11, 3)]), [1, 2, 0], ["2025-11-03", "2026-02-01", None]),
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
