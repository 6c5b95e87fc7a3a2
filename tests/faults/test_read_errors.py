"""Disks that cannot be read: EIO from the k-th read of one file, in the kernel's own words."""

from __future__ import annotations

import os
import shutil
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


def test_an_output_that_cannot_be_read_back(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    one, trial.data = trial.data / SHARD, trial.base / "in"
    trial.data.mkdir()
    shutil.copy(one, trial.data)
    # Temporary names are random; here they are known, because the kernel is told which file fails.
    (trial.base / "sitecustomize.py").write_text("import secrets\nsecrets.token_hex = lambda n: '0' * 2 * n\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(trial.base), os.environ.get("PYTHONPATH", "")]))
    failing(trial, trial.out / f".d2t-{'0' * 16}-{'0' * 16}.tmp", "2", 2)
    assert_nothing_half(trial.out)
    assert not (trial.out / SHARD).exists() and not list(trial.out.rglob(".*"))
    trial.run()
    assert bytes_of(trial.out) == {SHARD: bytes_of(trial.whole)[SHARD]}


def test_a_finished_output_that_cannot_be_read(trial: Trial) -> None:
    """What cannot be read is not believed: it is scored again."""
    failing(trial, trial.finished() / SHARD, "4", 0)
    trial.check()
    assert trial.skipped == 7


def test_a_receipt_that_cannot_be_read(trial: Trial) -> None:
    failing(trial, trial.finished() / "_receipts" / f"{SHARD}.json", "1+", 2)
    assert bytes_of(trial.out) == bytes_of(trial.whole)
    trial.resume()


def test_a_bundle_that_cannot_be_read(trial: Trial) -> None:
    said = failing(trial, trial.bundle / "model.fp32.onnx", "1", 2)
    assert "model.fp32.onnx cannot be read: Input/output error" in said
    assert not harness.outputs(trial.out)
