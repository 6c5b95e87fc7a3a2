"""`make bench` with a tiny bundle, from its start to what it means; the sizes of its samples by hand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.speed import throughput
from benchmarks.speed.throughput import CommandRun, Measurement, in_lines
from tests.bundles import make_bundle
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bench") / "tiny", max_length=512)


def bench(folder: Path, *arguments: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.speed.throughput", "--folder", folder / "work", *arguments]
    own = {**os.environ, "PYTHONPATH": str(ROOT), "D2T_BUNDLE": "", "D2T_DEVICE": "", **environment}
    ended = subprocess.run(list(map(str, command)), cwd=folder, env=own, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    return ended


def test_made_up_rows_on_a_device_that_does_not_start(bundle: Path, tmp_path: Path) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("CUDA may start here")
    tracked = {path: path.stat().st_mtime_ns for path in (ROOT / "benchmarks" / "results").iterdir()}
    ended = bench(tmp_path, "--bundle", bundle, "--device", "cuda", "--seconds", 1)
    found = json.loads((tmp_path / "work" / "result.json").read_text())
    assert found["device"].startswith("cpu") and "cuda" in found["instead"]
    assert found["instead"] in ended.stderr and found["instead"] in ended.stdout
    assert found["pairs"] == 7 * found["rows"] > 0, "every row has six facts, and no pair repeats"
    assert found["whole_seconds"] == pytest.approx(1e6 / found["rows_per_s"], rel=1e-3)
    assert "\nA million rows of six facts: " in ended.stdout
    assert found["of_bare"] > 0 and found["first_use"] > 0 and found["second_use"] > 0
    assert found["driver_mb"] is None or (10 < found["driver_mb"] < 4000 and 10 < found["worker_mb"] < 4000)
    assert {path.name for path in (tmp_path / "work").iterdir()} == {"log.txt", "result.json"}
    assert {path: path.stat().st_mtime_ns for path in tracked} == tracked


def test_a_file_with_columns_of_the_environment(bundle: Path, tmp_path: Path) -> None:
    facts = ["The Mill is a pub.", "The Mill serves food."]
    rows = [{"facts": facts, "output": f"The Mill is pub {i}."} for i in range(30)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ("--bundle", bundle, "--data", "data.jsonl", "--device", "cpu", "--seconds", 1)
    ended = bench(tmp_path, *given, D2T_TEXT_COLUMN="output")
    found = json.loads((tmp_path / "work" / "result.json").read_text())
    assert (0 < found["rows"] <= 30, found["pairs"], found["whole_rows"]) == (True, 3 * found["rows"], 30)
    assert "\nAll 30 rows of data.jsonl: " in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--bundle", "nowhere"), "bench: there is no folder nowhere here"),
        (("--device", "tpu"), "bench: device 'tpu' is not known"),
        (("--data", "nowhere.csv"), "--data nowhere.csv does not exist"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    ended = bench(tmp_path, *arguments, code=2 if "--data" in arguments else 1)
    assert message in ended.stderr and "Traceback" not in ended.stderr


def ran(rows: int, pairs: int, scoring: float, found: int | None = None) -> CommandRun:
    counts = {"rows": {"in": rows if found is None else found}, "checks": {"computed": pairs}}
    return CommandRun(rows, scoring + 2, {**counts, "speed": {"seconds": scoring}}, None, None, 0.0)


@pytest.mark.parametrize(
    ("first", "per_row", "asked"),
    [
        (ran(4, 28, 2.0), 0.5, [50]),  # 2 rows/s: a large model on a CPU
        (ran(4, 28, 0.1), 0.001, [256, 16384]),  # 64 times as many each time, until it takes half of 25 seconds
        (ran(4, 0, 0.001), 0.5, [32]),  # four rows without a pair say nothing of the rate
    ],
)
def test_the_sample_follows_the_rate(
    first: CommandRun, per_row: float, asked: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, sizes = Measurement("embedded", "cpu", None, tmp_path / "work"), list[int]()

    def run(rows: int) -> CommandRun:
        sizes.append(rows)
        return ran(rows, 7 * rows, rows * per_row)

    monkeypatch.setattr(work, "run", run)
    last = work.steady(first, 25.0, deadline=float("inf"))
    assert (sizes, last.rows) == (asked, asked[-1])


def test_a_short_file_or_a_late_hour_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Measurement("embedded", "cpu", Path("data.csv"), tmp_path / "work")
    monkeypatch.setattr(work, "run", lambda rows: ran(rows, 7, 0.1, found=10))
    assert work.steady(ran(4, 28, 0.1), 25.0, float("inf")).summary["rows"]["in"] == 10
    monkeypatch.setattr(work, "run", lambda rows: ran(rows, 7 * rows, 0.1))
    assert work.steady(ran(4, 28, 0.1), 25.0, deadline=0.0).rows == 256


def figures(**other: Any) -> dict[str, Any]:
    machine = {
        "processor": "X", "family": "1/2", "cores": 2, "instructions": [], "memory_gb": 8.0, "python": "3.11",
        "versions": {"numpy": "2"}, "load": 0.1,
    }  # fmt: skip
    usual = {
        "bundle": "b", "data": None, "device": "cpu X", "instead": "", "precision": "int8", "rows": 50, "pairs": 350,
        "seconds": 25.0, "pairs_per_s": 14.0, "rows_per_s": 2.0, "bare_pairs_per_s": 16.0, "of_bare": 0.875,
        "first_use": 40.0, "second_use": 5.0, "few_rows": 4, "driver_mb": 90, "worker_mb": 900, "whole_rows": 1_000_000,
        "whole_seconds": 500_000.0, "others": 0.0, "took": 100.0, "machine": machine,
    }  # fmt: skip
    return usual | other


def test_what_the_figures_mean_and_whether_they_mean_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput.os, "cpu_count", lambda: 2)
    quiet = "\n".join(in_lines(figures()))
    assert "`scorer run` reaches 88% of it" in quiet and "others" not in quiet.lower()
    assert "A million rows of six facts: 5.8 days (no text or fact repeats: 7 pairs a row)" in quiet
    busy = in_lines(figures(others=0.3, whole_seconds=None, of_bare=None, driver_mb=None, instead="no driver"))
    assert busy[-1].startswith("Other processes used 0.3 of 2 cores meanwhile: these figures mean little")
    assert not [line for line in busy if "million" in line or "memory" in line.split(":")[0]]
    assert "\n".join(in_lines(figures(data="d.csv", whole_rows=1200, whole_seconds=600.0))).count(
        "All 1,200 rows of d.csv: 10 minutes"
    )
