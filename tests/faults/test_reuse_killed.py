"""Nights over an earlier output, killed in the middle: the same as ones that nothing happened to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.faults import harness
from tests.faults.harness import Trial, bytes_of, run, summary


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
