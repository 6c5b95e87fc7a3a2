"""Worker processes of one machine (``--devices``): killed, interrupted, and without a device."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine
from scorer.run import pool as pools
from scorer.system.progress import advanced
from tests.faults import harness
from tests.faults import hostile_graphs as graphs
from tests.faults.harness import assert_nothing_half, assert_same, finish, launch, run
from tests.faults.test_killed import CRASHED
from tests.processes import wait_until

Reference = tuple[Path, Path]
LIMIT_S = 120.0


def children(parent: int) -> list[int]:
    """The worker processes of a driver."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            line = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == parent and b"device_worker" in line and fields[0] != "Z":
            found.append(int(path.name))
    return sorted(found)


def wait_for_receipts(out: Path, count: int) -> None:
    """Wait until so many shards are done, so that workers are at work."""
    wait_until(lambda: len(list(out.glob("_receipts/**/*.json"))) >= count, "no shard is done", LIMIT_S)


def test_two_processes_come_to_what_one_run_does(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, whole = reference
    finish(launch(data, tmp_path / "out", bundle, "--devices", "cpu:2"))
    assert_same(tmp_path / "out", whole)
    run(data, tmp_path / "out", bundle)  # inline, after processes: where shards are scored is not in the plan
    assert harness.summary(tmp_path / "out")["shards"]["skipped"] == 8


@pytest.mark.slow
def test_a_killed_worker_is_started_again(tmp_path: Path, bundle: Path) -> None:
    data, out = harness.make_data(tmp_path / "in", shards=24, n=200), tmp_path / "out"
    run(data, tmp_path / "whole", bundle)
    process = launch(data, out, bundle, "--devices", "cpu:2")
    wait_for_receipts(out, 2)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    said = finish(process)
    assert said.count("ended with SIGKILL; it is started again") == 1
    assert_same(out, tmp_path / "whole")


@pytest.mark.slow
def test_shards_that_always_end_their_worker_are_quarantined(
    reference: Reference, tmp_path: Path, bundle: Path
) -> None:
    """Each shard ends its worker, first with others and then alone: all are quarantined; the next run scores them."""
    out = tmp_path / "out"
    crash = {"D2T_SCORER_CRASH_AT": "output.written"}
    said = finish(launch(reference[0], out, bundle, "--devices", "cpu:2", env=crash), 3)
    assert said.count("the second time with no other shard") == 8
    assert_nothing_half(out)
    run(reference[0], out, bundle)
    assert_same(out, reference[1])


@pytest.mark.slow
@pytest.mark.parametrize("point", ["output.renamed", "receipt.renamed", "run.renamed"])
def test_a_driver_that_dies_at_a_step_takes_its_workers_along(
    reference: Reference, tmp_path: Path, bundle: Path, point: str
) -> None:
    out = tmp_path / "out"
    process = launch(reference[0], out, bundle, "--devices", "cpu:2", env={"D2T_SCORER_CRASH_AT": point})
    finish(process, CRASHED)
    wait_until(lambda: not children(process.pid), "a worker outlives the driver", LIMIT_S)
    assert_nothing_half(out)
    run(reference[0], out, bundle, "--devices", "cpu:2")
    assert_same(out, reference[1])


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_interrupt_ends_all_workers(tmp_path: Path, bundle: Path, number: int, code: int) -> None:
    data, out = harness.make_data(tmp_path / "in", shards=24, n=200), tmp_path / "out"
    run(data, tmp_path / "whole", bundle)
    process = launch(data, out, bundle, "--devices", "cpu:2")
    wait_for_receipts(out, 1)
    workers = children(process.pid)
    process.send_signal(number)
    finish(process, code)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), "a worker outlives it", LIMIT_S)
    assert_nothing_half(out)
    run(data, out, bundle)
    assert_same(out, tmp_path / "whole")


def test_what_cannot_be_is_said_before_a_process_starts(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, out = reference[0], tmp_path / "out"
    for more, says in (
        (["--devices", "cpu:2", "--device", "cpu"], "leave --device out"),
        (["--devices", "cpu:0"], "from 1 to"),
        (["--devices", "cpu:2", "--part", "1/2"], "leave out --devices"),
    ):
        assert says in run(data, out, bundle, *more, code=2)
    assert not out.exists()


@pytest.mark.slow
def test_a_first_use_is_heard_of_and_ended_when_it_hangs(
    reference: Reference, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = advanced()
    Engine(Bundle.load(bundle), device="cpu").close()
    assert advanced() - before > 1  # what a worker tells the driver by
    endless = graphs.bundle_with(tmp_path / "endless", graphs.endless(always=True))
    monkeypatch.setattr(pools, "SILENCE_S", 6.0)
    said = run(reference[0], tmp_path / "out2", endless, "--devices", "cpu:1", code=2)
    assert f"cpu:0: no progress for 6 s while the bundle {endless} was opened and verified on cpu" in said
    assert not (tmp_path / "out2").exists()
