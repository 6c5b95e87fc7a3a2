"""Runs that are killed: at every step of the protocol, and at any time."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer.storage import lease
from scorer.storage.lock_files import Line
from tests.faults import harness
from tests.faults.harness import assert_nothing_half, assert_same, crash, launch, run
from tests.pausing import ended, go_on, launch_pausing, wait_stopped

Reference = tuple[Path, Path]
FRESH = [
    f"{step}.{moment}"
    for step in ("plan", "output", "receipt", "run", "success")
    for moment in ("synced", "renamed", "published")
]
FRESH.insert(3, "output.written")
CHANGED = ["stale.receipt_removed", "plan.success_removed", "failed.synced", "failed.renamed", "failed.published"]


@pytest.mark.slow
def test_a_crash_at_each_step_of_a_first_run(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, whole = reference
    out = tmp_path / "out"
    for point in FRESH:
        if point.startswith("plan."):  # which is written once
            (out / "_plan.json").unlink(missing_ok=True)
        crash(data, out, bundle, point)
        # success.renamed: the marker may be there already, since all else is by then.
        assert (out / "_SUCCESS").exists() == (point in ("success.renamed", "success.published"))
        (out / "_SUCCESS").unlink(missing_ok=True)
        if point.startswith(("run.", "success.")):  # nothing is left to do: make something
            (out / "_receipts" / "01.parquet.json").unlink()
    run(data, out, bundle)
    assert_same(out, whole)


@pytest.mark.slow
def test_a_crash_at_each_step_after_inputs_changed(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, out = Path(shutil.copytree(reference[0], tmp_path / "in")), tmp_path / "out"
    shutil.copytree(reference[1], out)
    run(data, out, bundle)  # the same inputs elsewhere: another identity
    (data / "01.parquet").unlink()
    pq.write_table(harness.rows(70, 50_000), data / "02.parquet")
    broken = (data / "04.parquet").read_bytes()
    (data / "04.parquet").write_bytes(broken[:-20])
    for point in CHANGED:
        crash(data, out, bundle, point, "--prune")
        assert not (out / "_SUCCESS").exists()
    kept = (out / "04.parquet").read_bytes()
    said = run(data, out, bundle, code=3)
    assert "quarantined 04.parquet" in said
    assert_nothing_half(out)
    assert not (out / "01.parquet").exists()
    assert (out / "04.parquet").read_bytes() == kept  # quarantined: it stays, and has no receipt
    assert not (out / "_receipts" / "04.parquet.json").exists()
    assert not (out / "_SUCCESS").exists()
    (data / "04.parquet").write_bytes(broken)
    run(data, tmp_path / "whole", bundle)
    run(data, out, bundle)
    assert_same(out, tmp_path / "whole")


def kill_at_random(data: Path, out: Path, bundle: Path, rng: random.Random, longest: float) -> int:
    """Kill a run some time after it took hold of the folder; returns its exit code."""
    process = launch(data, out, bundle)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        lock = out / lease.LOCK
        line = Line.parse(lock.read_bytes()) if lock.exists() else None
        if line is not None and line.pid == process.pid:
            break
        time.sleep(0.002)
    time.sleep(rng.uniform(0, longest))
    process.kill()
    process.communicate()
    return process.returncode


@pytest.mark.parametrize("times", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_kill_9_at_random_times(reference: Reference, tmp_path: Path, bundle: Path, times: int) -> None:
    data, whole = reference
    if times > 3:
        data, whole = harness.make_data(tmp_path / "in", shards=40, n=400), tmp_path / "whole"
        run(data, whole, bundle)
    rng, killed, turn = random.Random(times), 0, 0
    while killed < times:
        out = tmp_path / f"out{turn}"
        turn += 1
        assert turn <= 2 * times, f"{turn - 1} runs came to their end, and {killed} could be killed"
        while killed < times:
            code = kill_at_random(data, out, bundle, rng, longest=0.25)
            assert_nothing_half(out)
            if code == 0:
                break
            assert code == -signal.SIGKILL
            killed += 1
        run(data, out, bundle)
        assert_same(out, whole)


@pytest.mark.parametrize(
    ("at", "done", "times"),
    [
        pytest.param("/_plan.json", 0, 1, marks=pytest.mark.slow),
        ("/_receipts/", 3, 1),
        pytest.param("/_receipts/", 3, 2, marks=pytest.mark.slow),
    ],
)
def test_sigterm_once_and_twice(
    reference: Reference, tmp_path: Path, bundle: Path, at: str, done: int, times: int
) -> None:
    """What is under way is given up, but for shards that are being published. A second signal is not even answered."""
    (data, whole), out = reference, tmp_path / "out"
    asked = harness.command(data, out, bundle)[3:]
    process = launch_pausing(asked, tmp_path, at, max(done, 1), answering=times == 2)
    go_on(process, signal.SIGTERM)
    if times == 2:
        wait_stopped(process)
        go_on(process, signal.SIGTERM)
    code, said = ended(process)
    assert code == (143 if times == 1 else -signal.SIGTERM), said
    assert "Traceback" not in said
    assert ("terminated; the same command resumes" in said) == (times == 1)
    assert_nothing_half(out)
    assert not (out / "_SUCCESS").exists()
    found = len(list(out.glob("_receipts/**/*.json")))
    assert found >= done and (done or not found)
    run(data, out, bundle)
    assert_same(out, whole)
