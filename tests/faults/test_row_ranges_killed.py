"""Runs over row ranges (``--split-rows``) that are killed; the labels are those of a run over whole files."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.faults import harness
from tests.faults.harness import CRASHED, Trial, assert_nothing_half, finish
from tests.faults.test_killed import FRESH

MORE = ("--split-rows", "20")
"""Of 60 rows in row groups of 16: three ranges of 16 rows, and one of 12."""


def labels(out: Path) -> Counter[str]:
    """Keys and labels alone: in fp32, the last digits of a number may depend on the pairs of the same call."""
    columns = ["row_key", "fine", "rough", "omitted", "error", "note"]
    tables = [pq.read_table(path, columns=columns) for path in harness.outputs(out).values()]
    return Counter(repr(tuple(row.values())) for table in tables for row in table.to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("way", [(), ("--devices", "cpu:2")], ids=["one", "two"])
def test_a_crash_at_each_step_leaves_whole_outputs(trial: Trial, way: tuple[str, ...]) -> None:
    out, labelled = trial.out, labels(trial.whole)
    for point in [point for point in FRESH if not point.startswith(("run.", "success."))]:
        if point.startswith("plan."):  # which is written once
            (out / "_plan.json").unlink(missing_ok=True)
        shutil.rmtree(out / "_receipts", ignore_errors=True)  # several are published at once, and then done
        code = 3 if point == "output.written" else CRASHED  # there each shard ends its worker, twice
        finish(trial.launch(*MORE, *way, env={"D2T_SCORER_CRASH_AT": point}), code)
        assert_nothing_half(out)
    assert len(trial.receipts) < 32, "not all are done"
    trial.undisturbed(*MORE)
    trial.resume(*MORE, *way)
    assert len(harness.outputs(out)) == 32
    assert labels(out) == labelled
