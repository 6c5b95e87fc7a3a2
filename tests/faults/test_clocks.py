"""Clocks that are set while a folder is held: nobody alive loses it, and nothing is scored twice."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from scorer.errors import OutputError
from scorer.storage import RunOutput, lease
from tests.faults.harness import Trial, execute
from tests.storage.test_lease import Clock, foreign

SHIFTS = ["-400d", pytest.param("+400d", marks=pytest.mark.slow)]
faked = pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not installed (apt-get install it)")


def test_a_clock_set_back_and_forth_while_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was waited for is counted on a clock that nobody sets, and any other stamp is a sign of life."""
    clock = Clock()
    monkeypatch.setattr(lease, "time", clock)
    foreign(tmp_path)
    clock.meanwhile = lambda: foreign(tmp_path, age=7200) if clock.monotonic() == lease.EXPIRY_S - 1 else None
    with pytest.raises(OutputError, match="is held by another run"):
        RunOutput.open(tmp_path)


@faked
@pytest.mark.parametrize("shift", SHIFTS)
def test_a_second_machine_with_a_wrong_clock_does_not_take_over(trial: Trial, shift: str) -> None:
    """The holder is of another kernel, so that its heartbeat is all there is to see."""
    path = trial.finished() / "_lock"
    foreign(trial.out)
    line, ended = path.read_bytes(), threading.Event()

    def live() -> None:
        while not ended.wait(0.2):
            os.utime(path)

    living = threading.Thread(target=live)
    living.start()
    try:
        said = execute(["faketime", "-f", shift, *trial.command()], 2)
    finally:
        ended.set()
        living.join()
    assert "is held by another run (pid 7 on elsewhere" in said
    assert path.read_bytes() == line


@faked
@pytest.mark.parametrize("shift", SHIFTS)
def test_a_run_whose_clock_was_set_resumes(trial: Trial, shift: str) -> None:
    trial.crash("run.synced")
    receipts = {path: path.read_bytes() for path in trial.receipts}
    execute(["faketime", "-f", shift, *trial.command()])
    trial.check()
    assert {path: path.read_bytes() for path in trial.receipts} == receipts
    assert trial.skipped == len(receipts)
