"""Disks that cannot be read: EIO from the k-th read of one file, in the kernel's own words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.faults import harness
from tests.faults.harness import LIMIT_S, Trial, assert_nothing_half, bytes_of
from tests.faults.test_full_disk import STRACE, needs_strace

SHARD = "01.parquet"


def failing(trial: Trial, path: Path, when: str, code: int) -> str:
    """Run while reads of one file fail; its standard error. Skips where nothing is injected."""
    needs_strace()
    # Of all processes, and whatever they read it with.
    inject = ["-P", str(path), "-e", "trace=read,pread64", "-e", f"inject=read,pread64:error=EIO:when={when}"]
    log = trial.base / "log"
    asked = [*STRACE, "-o", str(log), *inject, *trial.command()]
    found = subprocess.run(asked, capture_output=True, text=True, timeout=LIMIT_S)
    assert "Traceback" not in found.stderr
    if "(INJECTED)" not in log.read_text():
        pytest.skip("strace attached, but did not inject")
    assert found.returncode == code, found.stderr
    assert not code or "Input/output error" in found.stderr
    return found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("when", ["1+", "6"])
def test_an_input_that_cannot_be_read(trial: Trial, when: str) -> None:
    """It is quarantined, at the first look or in the midst of its rows; all else is scored, and it by the next run."""
    assert f"quarantined {SHARD}" in failing(trial, trial.data / SHARD, when, 3)
    assert_nothing_half(trial.out)
    harness.assert_equation(trial.out)
    assert not trial.succeeded
    expected = {name: content for name, content in bytes_of(trial.whole).items() if name != SHARD}
    assert bytes_of(trial.out) == expected
    trial.resume()


def test_a_finished_output_that_cannot_be_read(trial: Trial) -> None:
    """What cannot be read is not believed: it is scored again."""
    failing(trial, trial.finished() / SHARD, "4", 0)
    trial.check()
    assert trial.skipped == 7
