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
from tests.faults.harness import assert_nothing_half, assert_same, bytes_of, crash, launch, run, summary

Night = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def night(reference: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Night:
    """Tonight's inputs, yesterday's output, and what tonight comes to."""
    base = tmp_path_factory.mktemp("night")
    data = Path(shutil.copytree(reference[0], base / "in"))
    pq.write_table(harness.rows(60, 1030), data / "01.parquet")  # half of it is known
    (data / "02.parquet").unlink()
    pq.write_table(harness.rows(50, 70_000), data / "new.parquet")
    run(data, base / "whole", bundle, "--reuse", reference[1])
    counted = summary(base / "whole")["rows"]
    assert counted["reused"] > counted["scored"] > 0
    return data, reference[1], base / "whole"


@pytest.mark.slow
def test_a_crash_at_each_step_of_a_night(night: Night, tmp_path: Path, bundle: Path) -> None:
    data, before, whole = night
    out, unhurt = tmp_path / "out", bytes_of(before)
    for point in ("output.written", "output.renamed", "receipt.renamed", "run.renamed"):
        crash(data, out, bundle, point, "--reuse", before)
        assert not (out / "_SUCCESS").exists()
    (out / "_receipts" / "01.parquet.json").unlink()  # so that something is left to do
    run(data, out, bundle, "--reuse", before)
    assert_same(out, whole)
    assert summary(out)["recheck"] == summary(whole)["recheck"]
    assert bytes_of(before) == unhurt


@pytest.mark.slow
def test_an_earlier_output_that_was_killed_itself(night: Night, tmp_path: Path, bundle: Path) -> None:
    data, _, whole = night
    begun, out = tmp_path / "begun", tmp_path / "out"
    crash(data, begun, bundle, "output.renamed")
    # One output has its name, and none a receipt: nothing of it is believed.
    assert len(bytes_of(begun)) == 1
    run(data, out, bundle, "--reuse", begun)
    assert summary(out)["reuse"][0]["shards_used"] == 0
    assert summary(out)["rows"]["reused"] == 0
    crash(data, begun, bundle, "receipt.renamed")
    run(data, out, bundle, "--reuse", begun)
    assert summary(out)["reuse"][0]["shards_used"] == 1
    assert summary(out)["rows"]["reused"] > 0
    assert summary(out)["labels"] == summary(whole)["labels"]  # in other company, numbers may differ in their last bits


def kill(data: Path, before: Path, out: Path, bundle: Path, rng: random.Random) -> int:
    """Kill a night when a random number of its shards have a receipt, or let it end."""
    process = launch(data, out, bundle, "--reuse", before)
    enough = rng.randrange(9)
    while process.poll() is None and len(list(out.glob("_receipts/**/*.json"))) < enough:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    return process.returncode


@pytest.mark.slow
def test_kill_9_at_random_times_of_a_night(night: Night, tmp_path: Path, bundle: Path) -> None:
    data, before, whole = night
    rng = random.Random(7)
    for turn in range(5):
        out = tmp_path / f"out{turn}"
        for _ in range(3):
            if kill(data, before, out, bundle, rng) != -signal.SIGKILL:
                break
            assert_nothing_half(out)
        run(data, out, bundle, "--reuse", before)
        assert_same(out, whole)
