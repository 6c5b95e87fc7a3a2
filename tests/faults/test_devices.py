"""Workers in processes of their own, of this machine (``--devices``) and on a Ray cluster: killed and interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scorer.inference.bundle import Bundle
from scorer.inference.verification import open_engine
from scorer.run import workers as run_workers
from scorer.system import waiting
from tests.faults import hostile_graphs as graphs
from tests.faults.harness import Trial, assert_nothing_half, finish
from tests.faults.ray_cluster import ON_CPU, PYTHON, WITHOUT_RAY, cluster, wait_for_receipt, workers
from tests.processes import is_running, wait_until

LIMIT_S = 180.0
Crew = Callable[[Trial], subprocess.Popen[str]]


ON_RAY = pytest.param(
    "ray", marks=[pytest.mark.slow, pytest.mark.ray, pytest.mark.skipif(not PYTHON.exists(), reason=WITHOUT_RAY)]
)


@pytest.fixture(params=["processes", ON_RAY])
def crew(request: pytest.FixtureRequest) -> Iterator[Crew]:
    """Starts drivers of two workers: processes of this machine, or one on each of two nodes."""
    if request.param == "processes":
        yield lambda trial: trial.launch("--devices", "cpu:2")
        return
    with cluster() as nodes:
        for _ in range(2):
            nodes.add(1)
        yield lambda trial: nodes.launch(trial, *ON_CPU)


def at_work(driver: subprocess.Popen[str], out: Path) -> list[int]:
    """The workers of a driver, of which one has done a shard; Ray's are not its children."""
    wait_for_receipt(out)
    wait_until(lambda: workers(driver.pid) or workers(), "the workers have not come", LIMIT_S)
    return workers(driver.pid) or workers()


def test_two_processes_come_to_what_one_run_does(crew: Crew, trial: Trial) -> None:
    for _ in range(2):  # the second time there is nothing left to do
        finish(crew(trial))
        trial.check()
    trial.resume()  # inline, after processes: where shards are scored is not in the plan
    assert trial.skipped == 8


@pytest.mark.slow
def test_a_killed_worker_is_started_again(crew: Crew, long_trial: Trial) -> None:
    driver = crew(long_trial)
    os.kill(at_work(driver, long_trial.out)[0], signal.SIGKILL)
    said = finish(driver)
    assert "ended with SIGKILL (often for want of memory); it is" in said or "its actor died (" in said
    assert said.count("; it is started again") == 1
    long_trial.check()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_interrupt_ends_all_workers(crew: Crew, long_trial: Trial, number: int, code: int) -> None:
    driver = crew(long_trial)
    running = at_work(driver, long_trial.out)
    driver.send_signal(number)
    finish(driver, code)
    wait_until(lambda: not any(map(is_running, running)), "a worker outlives it", LIMIT_S)
    assert not long_trial.succeeded
    assert_nothing_half(long_trial.out)
    finish(crew(long_trial))
    long_trial.check()


@pytest.mark.slow
def test_a_first_use_is_heard_of_and_ended_when_it_hangs(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(trial.base / "cache"))
    before = waiting.steps
    open_engine(Bundle.load(trial.bundle), device="cpu").close()
    assert waiting.steps - before > 1  # what a worker tells the driver by
    trial.bundle = graphs.bundle_with(trial.base / "endless", graphs.endless(always=True))
    monkeypatch.setattr(run_workers, "HANG_SECONDS", 6.0)
    said = trial.run("--device", "cpu", code=2)
    assert f"the worker that opened the bundle {trial.bundle} on cpu made no progress for 6 s and was killed" in said
    assert not trial.out.exists()
