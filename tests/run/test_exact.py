"""``scorer run --exact``: the bound is measured on the data, kept in the plan, and the labels are those of fp32."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.inference import engine
from tests.bundles import RESTAURANTS, SAMPLE, needs_vnni
from tests.conftest import ROOT
from tests.run.calls import run, scorer

ROWS = 6


def scored(data: Path, out: Path, *more: Any) -> tuple[pa.Table, dict[str, Any]]:
    summary = run(data, out, RESTAURANTS, "--device", "cpu", *more)
    return pa.concat_tables(map(pq.read_table, sorted(out.glob("*.parquet")))), summary


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Some rows of the sample in two shards."""
    folder = tmp_path / "in"
    folder.mkdir()
    whole = pq.read_table(SAMPLE)
    for i in range(2):
        pq.write_table(whole.slice(15 * i, ROWS), folder / f"{i}.parquet")
    return folder


@pytest.mark.slow
@needs_vnni
@pytest.mark.usefixtures("inline_run")  # the factor is set in this process
def test_the_bound_comes_from_the_data_and_stays_in_the_plan(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "EXACT_FACTOR", 6)  # the sample has nothing that is too close to call
    out = tmp_path / "out"
    table, summary = scored(data, out, "--exact")
    assert "exact:yes" in summary["signature"]
    plan = json.loads((out / "_plan.json").read_text())
    bound = plan["budgets"]["exact"]
    assert bound == summary["exact"] and bound["pairs"] == summary["checks"]["unique"] and bound["largest"] > 0
    assert 0 < summary["checks"]["recomputed"] < summary["checks"]["unique"]
    # A shard that comes later is scored under the same bound, though its pairs were not among the measured ones.
    pq.write_table(pq.read_table(SAMPLE).slice(0, 5), data / "2.parquet")
    _, again = scored(data, out, "--exact")
    assert again["shards"] == {"done": 3, "skipped": 2, "failed": 0} and again["exact"] == bound
    expected, plain = scored(data, tmp_path / "fp32", "--precision", "fp32")
    assert plain["exact"] is None and plain["checks"]["recomputed"] == 0 and "exact:no" in plain["signature"]
    assert table["fine"].to_pylist() == expected["fine"].to_pylist()[: len(table)]
    found = json.loads(scorer("explain", out, "--row", "0.parquet:3", "--json").stdout)
    assert found["same_labels"] and found["within_bound"] and found["stored_signature"] == found["signature"]


@pytest.mark.slow
@needs_vnni
def test_a_bound_of_something_else_is_not_taken_over(data: Path, tmp_path: Path) -> None:
    _, both = scored(data, tmp_path / "out", "--exact")
    _, one = scored(data, tmp_path / "out", "--exact", "--checks", "hallucination", "--rescore")
    assert one["exact"]["pairs"] == one["checks"]["unique"] < both["exact"]["pairs"]


def test_a_crash_while_the_bound_is_measured_blames_the_bundle(
    data: Path, tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    crash = "import os, signal\nfrom scorer.inference import engine as one\n"
    crash += "one.join_bounds = lambda *given, **more: os.kill(os.getpid(), signal.SIGSEGV)\n"
    (tmp_path / "site" / "sitecustomize.py").write_text(crash)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), str(ROOT)]))
    said = scorer("run", data, "--out", tmp_path / "out", "--bundle", tiny, "--device", "cpu", "--exact", code=2).stderr
    assert not (tmp_path / "out").exists()
    assert f"the worker that opened the bundle {tiny} on cpu ended with SIGSEGV" in said


@pytest.mark.slow
@needs_vnni
def test_labels_equal_those_of_fp32_on_every_eighth_row_of_e2e(shared_data: Path, tmp_path: Path) -> None:
    """2,597 rows: no label differs. (A statement about these rows, not about all.)"""
    source = tmp_path / "e2e.parquet"
    whole = pq.read_table(shared_data / "e2e_all.parquet")
    pq.write_table(whole.take(list(range(0, len(whole), 8))), source)
    table, summary = scored(source, tmp_path / "exact", "--precision", "int8", "--exact")
    expected, _ = scored(source, tmp_path / "fp32", "--precision", "fp32")
    assert summary["exact"]["pairs"] >= 4096
    for column in ("fine", "rough", "omitted"):
        assert table[column].to_pylist() == expected[column].to_pylist()
    assert summary["checks"]["recomputed"] < 0.5 * summary["checks"]["unique"]
