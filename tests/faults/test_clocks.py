"""Clocks that are set: nothing is scored twice."""

from __future__ import annotations

import shutil

import pytest

from tests.faults.harness import Trial, execute

SHIFTS = ["-400d", pytest.param("+400d", marks=pytest.mark.slow)]
faked = pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not installed (apt-get install it)")


@faked
@pytest.mark.parametrize("shift", SHIFTS)
def test_a_run_whose_clock_was_set_resumes(trial: Trial, shift: str) -> None:
    trial.crash("run.synced")
    receipts = {path: path.read_bytes() for path in trial.receipts}
    execute(["faketime", "-f", shift, *trial.command()])
    trial.check()
    assert {path: path.read_bytes() for path in trial.receipts} == receipts
    assert trial.skipped == len(receipts)
