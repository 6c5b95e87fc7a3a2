"""What reads an output reads row ranges of an input as the same rows under the same names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.run.driver import run as score
from scorer.run.executors import Job, RunOptions
from scorer.run.inline import Inline
from scorer.scoring.settings import Settings
from tests.run.calls import scorer
from tests.run.reuse.nights import rows
from tests.run.runs import Told

ROWS = 90
Forms = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Forms:
    """Inputs, the output without pieces, and the output in pieces of 40, 40 and 10 rows."""
    base = tmp_path_factory.mktemp("forms")
    (base / "in").mkdir()
    for name, numbers in (("a.parquet", range(ROWS)), ("b.parquet", range(200, 205))):
        gold = pa.array(["OK" if i % 3 else "omission" for i in numbers])
        pq.write_table(rows(numbers).append_column("gold_fine", gold), base / "in" / name, row_group_size=10)
    # Windows of as many rows as pieces have: the batches are the same then, and so are a pair's bits.
    for name, split in (("whole", None), ("pieces", 40)):
        options = RunOptions((str(base / "in"),), base / name, max_error_rate=1.0, window_rows=40, split_rows=split)
        score(Inline(Job(Settings(str(bundle)), options), Told()), Told())
    return base / "in", base / "whole", base / "pieces"


def asked(*arguments: Any) -> Any:
    """What a command prints as JSON, without the path of the output."""
    found = json.loads(scorer(*arguments, "--json").stdout)
    return {key: value for key, value in found.items() if key not in ("path", "out")}


@pytest.mark.parametrize("number", [39, 89])
def test_explain_finds_rows_by_the_input_and_by_the_file(forms: Forms, number: int) -> None:
    _, whole, pieces = forms
    part, row = f"a.parquet/part-0000{number // 40}.parquet", number % 40
    by_row = asked("explain", whole, "--row", f"a.parquet:{number}")
    for given in (f"a.parquet:{number}", f"{part}:{row}"):
        found = asked("explain", pieces, "--row", given)
        assert (found["file"], found["row"]) == (part, row)
        assert {**found, "file": "a.parquet", "row": number} == by_row
    assert asked("explain", pieces, "--key", by_row["key"])["file"] == part


def test_an_audit_of_one_form_is_that_of_the_other(forms: Forms) -> None:
    _, whole, pieces = forms
    for name in ("a.parquet", "b.parquet"):
        assert pq.read_table(pieces / name).equals(pq.read_table(whole / name))
    found = [asked("audit", out) for out in (whole, pieces)]
    for row in found[1]["worst"]:
        part, _, name = row["file"].rpartition("/")
        if part:
            row["file"], row["row"] = part, row["row"] + 40 * int(name[5:10])
    for key in ("worst", "rows", "groups", "gates", "findings"):
        assert found[0][key] == found[1][key]
    compared = asked("audit", pieces, "--baseline", whole)["baseline_changes"]
    assert (compared["kept"], compared["added"], compared["removed"]) == (ROWS + 5, 0, 0)
