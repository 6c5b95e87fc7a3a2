"""Reading scored tables: labels, scores, inputs, and what is refused."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scorer.errors import ColumnError, InputError, UsageError
from scorer.evaluation.gold import Scored, load
from scorer.evaluation.inputs import find_inputs
from scorer.metric.inputs import ColumnNames
from scorer.scoring.output_columns import fine_codes, from_scores, group_codes, list_reduced, numbers, rough_codes
from scorer.scoring.output_files import run_columns
from tests.evaluation.scored import SIGNATURE, save, scored


def _scored(**columns: object) -> Scored:
    return Scored(pa.table(columns), None, True, {})


def test_labels_in_either_spelling() -> None:
    labels = pa.array(["OK", "hallucination+omission", "omission+hallucination", None, "hallucination"])
    assert fine_codes(labels, "gold_fine").tolist() == [0, 3, 3, -1, 2]
    assert rough_codes(pa.array(["not OK", "not_OK", "OK"]).dictionary_encode(), "gold").tolist() == [1, 1, 0]


def test_unknown_label_is_named() -> None:
    with pytest.raises(ColumnError, match=r"'gold_fine' has the label 'fine' in row 1; it may be OK, omission"):
        fine_codes(pa.array(["OK", "fine"]), "gold_fine")
    with pytest.raises(ColumnError, match="'not_OK' in row 0"):
        fine_codes(pa.array(["not_OK"]), "gold_fine")


def test_threshold() -> None:
    assert from_scores(np.array([2.5, 2.49, np.nan]), 2.5).tolist() == [0, 1, -1]


def test_numbers() -> None:
    assert numbers(pa.array([1, None, 3]), "x").tolist()[::2] == [1.0, 3.0]
    assert numbers(pa.array([True, False]), "x").tolist() == [1.0, 0.0]
    with pytest.raises(ColumnError, match="'x' is string, but a score must be a number"):
        numbers(pa.array(["1"]), "x")


def test_lists_are_reduced_without_their_nulls() -> None:
    column = pa.array([[0.5, 1.0], [], None, [None, 0.25]], pa.list_(pa.float32()))
    np.testing.assert_array_equal(list_reduced(column, "min"), [0.5, np.nan, np.nan, 0.25])
    np.testing.assert_array_equal(list_reduced(column.slice(0, 2), "mean"), [0.75, np.nan])


def test_inputs_are_sets_of_facts() -> None:
    rows = [["a | p | b", "a | q | c"], ["a | q | c", "a|p|b"], ["a | p | b"], None, None]
    found = find_inputs(_scored(triples=pa.array(rows)), ColumnNames())
    assert found.codes[0] == found.codes[1] != found.codes[2]
    assert len({*found.codes.tolist()}) == 4, "rows without facts are inputs of their own"
    assert found.lengths is not None and found.lengths.tolist() == [2, 2, 1, 0, 0]
    assert find_inputs(_scored(mr=["name[X], food[Y]", "name[X], food[Z]"]), ColumnNames()).codes.tolist() == [0, 1]
    other = find_inputs(_scored(facts=[["a | p | b"]]), ColumnNames(triples="facts"))
    assert other.known and other.codes.tolist() == [0]


def test_inputs_without_facts() -> None:
    table = _scored(fact_entailment=pa.array([[0.5, 0.2], None], pa.list_(pa.float32())), mr_id=[7, 7])
    bare = find_inputs(table, ColumnNames())
    assert not bare.known and bare.codes.tolist() == [0, 1]
    assert bare.lengths is not None and bare.lengths.tolist() == [2, 0]
    named = find_inputs(table, ColumnNames(), "mr_id")
    assert named.known and named.codes.tolist() == [0, 0]
    assert find_inputs(_scored(x=[1]), ColumnNames()).lengths is None
    with pytest.raises(ColumnError, match="--input-column 'y': no such column"):
        find_inputs(table, ColumnNames(), "y")


def test_column_names_come_from_the_plan(tmp_path: Path) -> None:
    (tmp_path / "_plan.json").write_text('{"settings": {"columns": {"triples": "facts", "mr": null, "prefix": "x_"}}}')
    assert run_columns(tmp_path) == ColumnNames(triples="facts", prefix="x_")
    assert run_columns(tmp_path / "none") == ColumnNames()


def test_groups_in_order_null_last() -> None:
    codes, values = group_codes(pa.array([10, 9, None, 10]))
    assert values == [9, 10, None]
    assert codes.tolist() == [1, 0, 2, 1]
    codes, values = group_codes(pa.array(["b", "a", "b"]))
    assert (values, codes.tolist()) == (["a", "b"], [1, 0, 1])
    with pytest.raises(ColumnError, match="cannot group"):
        group_codes(pa.array([[1]]))


@pytest.mark.parametrize(
    ("column", "codes", "values"),
    [
        (pa.array([date(2026, 2, 1), None, date(2025, 11, 3)]), [1, 2, 0], ["2025-11-03", "2026-02-01", None]),
        (pa.array([Decimal("10.5"), Decimal("9.5")]), [1, 0], ["9.5", "10.5"]),
        (pa.array([b"b", b"a\xff"]), [1, 0], ["a\ufffd", "b"]),
        (pa.array([1.0, float("nan"), None, float("-inf")]), [1, 2, 2, 0], ["-inf", 1.0, None]),
        (pa.array([True, None, False]), [1, 2, 0], [False, True, None]),
        (pa.DictionaryArray.from_arrays([1, 0, 2], pa.array(["a", None, "a"])), [1, 0, 0], ["a", None]),
        (pa.nulls(2), [0, 0], [None]),
    ],
)
def test_groups_of_any_plain_type_go_into_json(column: pa.Array, codes: list[int], values: list[object]) -> None:
    found, names = group_codes(column)
    assert (found.tolist(), names) == (codes, values)
    assert json.loads(json.dumps(names, allow_nan=False)) == values


def test_folder_in_order_with_what_lies_beside(tmp_path: Path) -> None:
    save(scored(["OK"], gold_fine=["OK"]), tmp_path / "b.parquet")
    save(scored(["omission"], gold_fine=["OK"]), tmp_path / "a" / "a.parquet")
    (tmp_path / "_run.json").write_text('{"facts": {"template": 3}}')
    (tmp_path / "_plan.json").write_text("{}")
    found = load(tmp_path)
    assert found.table["fine"].to_pylist() == ["omission", "OK"]
    assert found.signature == SIGNATURE
    assert not found.finished, "a run's folder without _SUCCESS"
    assert found.summary["facts"]["template"] == 3
    (tmp_path / "_SUCCESS").touch()
    assert load(tmp_path, ["fine", "absent"]).finished


def test_mixed_signatures_are_refused_by_name(tmp_path: Path) -> None:
    save(scored(["OK"]), tmp_path / "a.parquet")
    save(scored(["OK"]), tmp_path / "b.parquet", SIGNATURE.replace("fp32", "int8"))
    with pytest.raises(UsageError, match=r"a.parquet and b.parquet were not scored alike \(prec: fp32 → int8\)"):
        load(tmp_path)
    save(scored(["OK"]), tmp_path / "b.parquet", None)
    with pytest.raises(UsageError, match="one of them carries no signature"):
        load(tmp_path)


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "none")
    with pytest.raises(InputError, match="no scored file"):
        load(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"x.parquet cannot be read as Parquet"):
        load(tmp_path)


def test_optional_facts_of_the_signature() -> None:
    table = pa.table({"fine": ["OK"]})
    given = "model:x|optional:eatType=restaurant,area=riverside|metric:1"
    assert Scored(table, given, True, {}).optional == {"eatType=restaurant", "area=riverside"}
    assert Scored(table, SIGNATURE, True, {}).optional == frozenset()
