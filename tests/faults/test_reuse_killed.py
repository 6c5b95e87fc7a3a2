"""Nights over an earlier output, killed in the middle: the same as ones that nothing happened to."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from tests.faults import harness
from tests.faults.harness import Trial, bytes_of, summary


@pytest.mark.slow
def test_a_crash_at_each_step_of_a_night(trial: Trial) -> None:
    data, before, out = trial.own_data(), trial.whole, trial.out
    pq.write_table(harness.rows(60, 1030), data / "01.parquet")  # half of it is known
    (data / "02.parquet").unlink()
    pq.write_table(harness.rows(50, 70_000), data / "new.parquet")
    trial.undisturbed("--reuse", before)
    counted = summary(trial.whole)["rows"]
    assert counted["reused"] > counted["scored"] > 0
    unhurt = bytes_of(before)
    for point in ("output.renamed", "receipt.renamed", "run.renamed"):
        trial.crash(point, "--reuse", before)
        assert not trial.succeeded
    (out / "_receipts" / "01.parquet.json").unlink()  # so that something is left to do
    trial.resume("--reuse", before)
    assert summary(out)["rows"] == counted
    assert bytes_of(before) == unhurt
