"""What outputs of any kind have in common: listing, footers, signatures, given names, and columns as arrays."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import ColumnError, InputError, OutputError, UsageError
from scorer.metric.options import ColumnNames
from scorer.scoring.output_columns import group_codes
from scorer.scoring.output_files import OneSignature, data_files, read_row, run_columns, settings_of
from scorer.scoring.settings import Settings
from scorer.scoring.signature import FOOTER_KEY, Signature
from scorer.storage.canonical import normal
from tests.evaluation.scored import SIGNATURE, save, scored
from tests.plans import made_plan


def test_hidden_names_are_no_scored_files(tmp_path: Path) -> None:
    table = scored(["OK"])
    for name in ("b.parquet", "a/c.parquet", "_failed/x.parquet", ".tmp/x.parquet", "a/_x.parquet", "a/.x.parquet"):
        save(table, tmp_path / name)
    (tmp_path / "_SUCCESS").touch()
    assert [file.relative_to(tmp_path).as_posix() for file in data_files(tmp_path)] == ["a/c.parquet", "b.parquet"]
    assert data_files(tmp_path / "_failed" / "x.parquet") == [tmp_path / "_failed" / "x.parquet"]


def test_where_there_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        data_files(tmp_path / "none")
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(InputError, match="no scored file"):
        data_files(tmp_path)
    assert run_columns(tmp_path) == ColumnNames()
    with pytest.raises(OutputError, match=r"no readable _plan\.json"):
        settings_of(tmp_path)
    (tmp_path / "_plan.json").write_text("null")
    with pytest.raises(OutputError, match=r"_plan\.json is damaged"):
        run_columns(tmp_path)


def test_the_names_that_a_run_was_given(tmp_path: Path) -> None:
    columns = ColumnNames(text="t", triples="f", keep=("t", "f"), prefix="m_", details=True)
    plan = made_plan(settings=normal(Settings("B", columns=columns).to_plan()))
    (tmp_path / "_plan.json").write_bytes(plan.content)
    assert run_columns(tmp_path) == settings_of(tmp_path)[0].columns == columns
    assert settings_of(tmp_path)[0].bundle == "B"


def test_a_row_is_read_from_its_row_group(tmp_path: Path) -> None:
    table = pa.table({"x": range(10)}).replace_schema_metadata({FOOTER_KEY: SIGNATURE})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    for number in (0, 3, 4, 9):
        row, signature = read_row(tmp_path / "a.parquet", number)
        assert (row["x"].to_pylist(), signature.line) == ([number], SIGNATURE)
    with pytest.raises(InputError, match="has 10 rows, counted from 0; there is no row 10"):
        read_row(tmp_path / "a.parquet", 10)
    with pytest.raises(InputError, match="no output file"):
        read_row(tmp_path / "b.parquet", 0)


def test_files_must_have_one_signature() -> None:
    signatures = OneSignature("evaluate them apart")
    assert signatures.signature == Signature("")
    signatures.add("a", Signature("prec:fp32|metric:1"))
    signatures.add_footer("b", {FOOTER_KEY.encode(): b"prec:fp32|metric:1"})
    assert signatures.signature.line == "prec:fp32|metric:1"
    with pytest.raises(UsageError, match=r"a and c were scored differently \(prec: fp32 → int8\); evaluate them apart"):
        signatures.add("c", Signature("prec:int8|metric:1"))
    strict = OneSignature("run again", OutputError)
    strict.add_footer("a", None)
    with pytest.raises(OutputError, match=r"a and b.*one of them carries no signature"):
        strict.add("b", Signature("prec:int8"))


def test_a_list_is_no_group() -> None:
    with pytest.raises(ColumnError, match="cannot group"):
        group_codes(pa.array([[1]]))


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
    found, names = group_codes(column)
    assert (found.tolist(), names) == (codes, values)
    assert json.loads(json.dumps(names, allow_nan=False)) == values
