"""Worker processes of one machine (``--devices``): killed, interrupted, and without a device."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from scorer.storage.workers import workers
from tests.faults import harness
from tests.faults.harness import assert_nothing_half, assert_same, finish, launch, run
from tests.processes import wait_until

Reference = tuple[Path, Path]
LIMIT_S = 120.0


def wait_for_workers(out: Path, count: int) -> list[int]:
    """Wait until so many workers have joined; their process ids."""
    found: list[int] = []

    def have_come() -> bool:
        found[:] = [worker.pid for worker in workers(out)] if out.exists() else []
        return len(found) >= count

    wait_until(have_come, "the workers have not come", LIMIT_S)
    return found


@pytest.mark.slow
def test_two_processes_come_to_what_one_run_does(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, whole = reference
    said = finish(launch(data, tmp_path / "out", bundle, "--devices", "cpu:2"))
    assert_same(tmp_path / "out", whole)
    assert "cpu:0: warning:" in said or "cpu:1: warning:" in said


@pytest.mark.slow
def test_a_killed_worker_is_started_once_more(tmp_path: Path, bundle: Path) -> None:
    data, out = harness.make_data(tmp_path / "in", shards=24, n=200), tmp_path / "out"
    run(data, tmp_path / "whole", bundle)
    process = launch(data, out, bundle, "--devices", "cpu:2")
    os.kill(wait_for_workers(out, 1)[0], signal.SIGKILL)
    said = finish(process)
    assert said.count("its process ended with SIGKILL; it is started once more") == 1
    assert_same(out, tmp_path / "whole")


@pytest.mark.slow
def test_workers_that_always_die_end_the_run(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    crash = {"D2T_SCORER_CRASH_AT": "output.written"}
    said = finish(launch(reference[0], out, bundle, "--devices", "cpu:2", env=crash), 2)
    assert "no worker came to the end of the run" in said
    assert said.count("it is started once more") == 2 == said.count("it is not started any more")
    run(reference[0], out, bundle)
    assert_same(out, reference[1])


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_interrupt_ends_all_workers(tmp_path: Path, bundle: Path, number: int, code: int) -> None:
    data, out = harness.make_data(tmp_path / "in", shards=24, n=200), tmp_path / "out"
    run(data, tmp_path / "whole", bundle)
    process = launch(data, out, bundle, "--devices", "cpu:2")
    wait_for_workers(out, 1)
    process.send_signal(number)
    finish(process, code)
    wait_until(lambda: not list(workers(out)), "a worker outlives the process that supervises it", LIMIT_S)
    assert_nothing_half(out)
    run(data, out, bundle)
    assert_same(out, tmp_path / "whole")


def test_what_cannot_be_is_said_before_a_process_starts(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, out = reference[0], tmp_path / "out"
    for more, says in (
        (["--devices", "cpu:2", "--device", "cpu"], "leave --device out"),
        (["--devices", "cpu:0"], "from 1 to"),
        (["--devices", "cpu:2", "--limit", "3"], "--limit with --join"),
        (["--lease", "10"], "add --join, --devices or --ray"),
    ):
        assert says in run(data, out, bundle, *more, code=2)
    assert not out.exists()
