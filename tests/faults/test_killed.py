"""Runs that are killed: at every step of the protocol, at any time, and as parts of one run."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer.storage.run_plan import LOCK, belongs_to_part
from tests.faults import harness
from tests.faults.harness import CRASHED, Trial, assert_nothing_half, bytes_of, finish, summary
from tests.pausing import go_on, pausing
from tests.processes import wait_until

FRESH = [
    f"{step}.{moment}"
    for step in ("plan", "output", "receipt", "run", "success")
    for moment in ("synced", "renamed", "published")
]
FRESH.insert(3, "output.written")
CHANGED = ["plan.success_removed", "failed.synced", "failed.renamed", "failed.published"]


@pytest.mark.slow
def test_a_crash_at_each_step_of_a_first_run(trial: Trial) -> None:
    out = trial.out
    for point in FRESH:
        if point.startswith("plan."):  # which is written once
            (out / "_plan.json").unlink(missing_ok=True)
        if point == "output.written":  # there each shard ends its worker, twice
            trial.run_process(code=3, D2T_SCORER_CRASH_AT=point)
            assert_nothing_half(out)
            continue
        trial.crash(point)
        # success.renamed: the marker may be there already, since all else is by then.
        assert trial.succeeded == (point in ("success.renamed", "success.published"))
        (out / "_SUCCESS").unlink(missing_ok=True)
        if point.startswith(("run.", "success.")):  # nothing is left to do: make something
            (out / "_receipts" / "01.parquet.json").unlink()
    trial.resume()


@pytest.mark.slow
def test_a_crash_at_each_step_after_inputs_changed(trial: Trial) -> None:
    data, out = trial.own_data(), trial.finished()
    trial.run()  # the same inputs elsewhere: another identity
    (data / "01.parquet").unlink()
    pq.write_table(harness.rows(70, 50_000), data / "02.parquet")
    broken = (data / "04.parquet").read_bytes()
    (data / "04.parquet").write_bytes(broken[:-20])
    for point in CHANGED:
        trial.crash(point, "--allow-stale")
        assert not trial.succeeded
    kept = (out / "04.parquet").read_bytes()
    assert "quarantined 04.parquet" in trial.run("--allow-stale", code=3)
    assert_nothing_half(out)
    assert (out / "01.parquet").exists()  # it has no input any more
    assert (out / "04.parquet").read_bytes() == kept  # quarantined: it stays, and has no receipt
    assert not (out / "_receipts" / "04.parquet.json").exists()
    assert not trial.succeeded
    (data / "04.parquet").write_bytes(broken)
    (out / "01.parquet").unlink()
    (out / "_receipts" / "01.parquet.json").unlink()
    trial.undisturbed()
    trial.resume()


def kill_at_random(trial: Trial, rng: random.Random, longest: float) -> int:
    """Kill a run some time after it took hold of the folder; returns its exit code."""
    process, lock = trial.launch(), trial.out / LOCK
    held = f'"pid":{process.pid},'
    wait_until(lambda: process.poll() is not None or (lock.exists() and held in lock.read_text()), "it holds no folder")
    time.sleep(rng.uniform(0, longest))
    process.kill()
    process.communicate()
    return process.returncode


@pytest.mark.parametrize("times", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_kill_9_at_random_times(trial: Trial, times: int) -> None:
    if times > 3:
        trial.data = harness.make_data(trial.base / "in", shards=40, n=400)
        trial.undisturbed()
    rng, killed, turn = random.Random(times), 0, 0
    while killed < times:
        trial.out = trial.base / f"out{turn}"
        turn += 1
        assert turn <= 2 * times, f"{turn - 1} runs came to their end, and {killed} could be killed"
        while killed < times:
            code = kill_at_random(trial, rng, longest=0.25)
            assert_nothing_half(trial.out)
            if code == 0:
                break
            assert code == -signal.SIGKILL
            killed += 1
        trial.resume()


@pytest.mark.parametrize(
    ("at", "done", "times"),
    [
        pytest.param("/_plan.json", 0, 1, marks=pytest.mark.slow),
        ("/_receipts/", 3, 1),
        pytest.param("/_receipts/", 3, 2, marks=pytest.mark.slow),
    ],
)
def test_sigterm_once_and_twice(trial: Trial, at: str, done: int, times: int) -> None:
    """What is under way is given up, but for shards that are being published. A second signal is not even answered."""
    process = trial.launch(env=pausing(trial.base, at, max(done, 1), answering=times == 2))
    for _ in range(times):
        go_on(process, signal.SIGTERM)
    said = finish(process, 143 if times == 1 else -signal.SIGTERM)
    assert ("terminated; the same command resumes" in said) == (times == 1)
    assert_nothing_half(trial.out)
    assert not trial.succeeded
    found = len(trial.receipts)
    assert found >= done and (done or not found)
    trial.resume()


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


def place(trial: Trial, number: int) -> Path:
    return trial.base / "parts" / f"part-{number}"


def start(trial: Trial, number: int, count: int, **environment: str) -> None:
    trial.out = place(trial, number)
    finish(trial.launch("--part", f"{number}/{count}", env=environment), CRASHED if environment else 0)


def test_parts_together_have_what_one_run_has_and_are_resumed_by_themselves(trial: Trial) -> None:
    start(trial, 1, 3)
    start(trial, 2, 3, D2T_SCORER_CRASH_AT="output.renamed")
    harness.assert_nothing_half(trial.out)
    assert not trial.succeeded
    start(trial, 2, 3)
    start(trial, 3, 3)
    found: dict[str, bytes] = {}
    for number in (1, 2, 3):
        out = place(trial, number)
        harness.assert_equation(out)
        assert (out / "_SUCCESS").exists() and all(belongs_to_part(name, number, 3) for name in bytes_of(out))
        assert summary(out)["shards"]["done"] == len(bytes_of(out))
        found |= bytes_of(out)
    assert found == bytes_of(trial.whole)
