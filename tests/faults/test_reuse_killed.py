"""Nights over an earlier output, killed in the middle: the same as ones that nothing happened to."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.faults import harness
from tests.faults.harness import Trial, assert_nothing_half, bytes_of, run, summary


@pytest.fixture(scope="module")
def tonight(reference: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp("night")
    data = Path(shutil.copytree(reference[0], base / "in"))
    pq.write_table(harness.rows(60, 1030), data / "01.parquet")  # half of it is known
    (data / "02.parquet").unlink()
    pq.write_table(harness.rows(50, 70_000), data / "new.parquet")
    run(data, base / "whole", bundle, "--reuse", reference[1])
    counted = summary(base / "whole")["rows"]
    assert counted["reused"] > counted["scored"] > 0
    return data, base / "whole"


@pytest.fixture
def night(tonight: tuple[Path, Path], tmp_path: Path, bundle: Path) -> Trial:
    return Trial(*tonight, bundle, tmp_path)


@pytest.mark.slow
def test_a_crash_at_each_step_of_a_night(night: Trial, reference: tuple[Path, Path]) -> None:
    before = reference[1]
    unhurt = bytes_of(before)
    for point in ("output.written", "output.renamed", "receipt.renamed", "run.renamed"):
        night.crash(point, "--reuse", before)
        assert not night.succeeded
    (night.out / "_receipts" / "01.parquet.json").unlink()  # so that something is left to do
    night.resume("--reuse", before)
    assert summary(night.out)["recheck"] == summary(night.whole)["recheck"]
    assert bytes_of(before) == unhurt


@pytest.mark.slow
def test_an_earlier_output_that_was_killed_itself(night: Trial) -> None:
    begun, out = night.base / "begun", night.out
    for point, used in (("output.renamed", 0), ("receipt.renamed", 1)):
        harness.crash(night.data, begun, night.bundle, point)
        assert used or len(bytes_of(begun)) == 1  # it has its name, and no receipt: nothing of it is believed
        night.run("--reuse", begun)
        assert summary(out)["reuse"][0]["shards_used"] == used
        assert (summary(out)["rows"]["reused"] > 0) == bool(used)
    assert summary(out)["labels"] == summary(night.whole)["labels"]  # numbers may differ in their last bits


@pytest.mark.slow
def test_kill_9_at_random_times_of_a_night(night: Trial, reference: tuple[Path, Path]) -> None:
    rng = random.Random(7)
    for turn in range(5):
        night.out = night.base / f"out{turn}"
        for _ in range(3):
            process, enough = night.launch("--reuse", reference[1]), rng.randrange(9)
            while process.poll() is None and len(night.receipts) < enough:
                time.sleep(0.002)
            process.kill()
            process.communicate()
            if process.returncode != -signal.SIGKILL:
                break
            assert_nothing_half(night.out)
        night.resume("--reuse", reference[1])
