"""Leases, in a folder and in a bucket. Those of other machines on a folder are seen through a file system that keeps an
flock within one of them.

No test waits for a lease to run out: they have a clock of their own, which moves only when somebody sleeps.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scorer.errors import OutputError
from scorer.run.status import status_of
from scorer.storage import RunOutput, lease
from scorer.storage.lock_files import Worker
from scorer.storage.objects.uri import Location
from scorer.storage.output import open_store
from tests.plans import made_plan
from tests.processes import LIMIT_S, wait_until
from tests.storage.backends import put, quick

LINE = {"pid": 7, "host": "elsewhere", "started": "2026-01-01T00:00:00+00:00", "boot": "another kernel", "token": "t"}
SECOND = 1_000_000_000


class Clock:
    """Stands in for the module ``time``. ``slept``: the seconds of each sleep; ``meanwhile``: done in each."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.meanwhile()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(lease, "time", made)
    return made


def foreign(out: Path, name: str = "_lock", age: int = 0) -> Path:
    """The lock of another machine, beaten so many seconds ago on the file system's clock."""
    path = out / name
    path.write_text(json.dumps(LINE))
    then = path.stat().st_mtime_ns - age * SECOND
    os.utime(path, ns=(then, then))
    return path


def beat(path: Path) -> None:
    then = path.stat().st_mtime_ns + SECOND
    os.utime(path, ns=(then, then))


@pytest.mark.parametrize("name", ["_lock", "_lock.1-of-2"])
def test_a_machine_that_lives_keeps_its_lease(tmp_path: Path, clock: Clock, name: str) -> None:
    path = foreign(tmp_path, name)
    clock.meanwhile = lambda: beat(path) if clock.monotonic() > lease.BEAT_S else None
    with pytest.raises(OutputError, match=r"(another run|part 1/2) \(pid 7 on elsewhere since"):
        RunOutput.open(tmp_path)
    assert lease.BEAT_S < clock.monotonic() < lease.EXPIRY_S
    assert json.loads(path.read_text()) == LINE


def test_a_lost_machine_is_waited_for_and_said(tmp_path: Path, clock: Clock) -> None:
    foreign(tmp_path)
    said: list[str] = []
    with RunOutput.open(tmp_path, say=said.append):
        # The whole of its time, and a moment more: another machine may have waited for it as well.
        assert clock.slept == [1.0] * 61
    assert "waiting up to 60 s" in said[0] and "pid 7 on elsewhere" in said[0]


def test_of_two_that_waited_the_last_line_counts(tmp_path: Path, clock: Clock) -> None:
    path = foreign(tmp_path)
    other = json.dumps({**LINE, "pid": 8, "token": "u"})
    clock.meanwhile = lambda: path.write_text(other) and None if clock.monotonic() > lease.EXPIRY_S else None
    with pytest.raises(OutputError, match=r"another run \(pid 8 on elsewhere since"):
        RunOutput.open(tmp_path)
    assert path.read_text() == other


@pytest.mark.parametrize(("age", "waits"), [(3600, 21), (-3600, 60)])
def test_a_heartbeat_long_past_is_waited_for_two_beats_and_one_of_the_future_longer(
    tmp_path: Path, clock: Clock, age: int, waits: int
) -> None:
    foreign(tmp_path, age=age)
    with RunOutput.open(tmp_path):
        assert clock.slept == [1.0] * (waits + 1)


def test_a_run_of_this_machine_that_was_killed_is_not_waited_for(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "_lock").write_text(json.dumps({**LINE, "boot": lease._boot()}))
    with RunOutput.open(tmp_path):
        assert clock.slept == []


def test_the_heartbeat_moves_while_held_and_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_S", 0.01)
    lock = tmp_path / "_lock"
    with RunOutput.open(tmp_path):
        os.utime(lock, ns=(SECOND, SECOND))
        wait_until(lambda: lock.stat().st_mtime_ns > SECOND, "the heart does not beat")
    assert lock.read_bytes() == b""
    assert not [thread for thread in threading.enumerate() if thread.name == "lease"]


def test_who_lost_the_lease_writes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The heart looks at the lock before each beat; here only when it is let.
    monkeypatch.setattr(lease, "BEAT_S", 0.01)
    real, let, looked = lease._read, threading.Semaphore(0), threading.Semaphore(0)

    def read(path: Path) -> bytes:
        if threading.current_thread().name == "lease":
            looked.release()
            assert let.acquire(timeout=LIMIT_S)
        return real(path)

    monkeypatch.setattr(lease, "_read", read)
    with RunOutput.open(tmp_path) as folder:
        folder.check()
        path = foreign(tmp_path, age=10)
        then = path.stat().st_mtime_ns
        with pytest.raises(OutputError, match="took over this output folder"):
            folder.check()
        for _ in range(3):  # by the third look the first two beats, had there been any, are past
            assert looked.acquire(timeout=LIMIT_S)
            let.release()
        assert path.stat().st_mtime_ns == then, "a heartbeat in the other's name"
        let.release(10_000)
    assert json.loads(path.read_text()) == LINE


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"boot": "x"}'])
def test_odd_lines_in_a_lock_do_no_harm(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "_lock").write_bytes(content)
    with RunOutput.open(tmp_path), pytest.raises(OutputError, match="another run"):
        RunOutput.open(tmp_path)


def test_a_look_at_the_lease_reads_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked before each rename and each receipt, so it must cost next to nothing."""
    with RunOutput.open(tmp_path) as folder:
        looked: list[Path] = []
        real = lease._read
        monkeypatch.setattr(lease, "_read", lambda path: (looked.append(path), real(path))[1])
        folder.check()
        assert looked == [tmp_path / "_lock"]


def test_parts_run_together_and_know_each_other(tmp_path: Path) -> None:
    foreign(tmp_path, "_lock.1-of-4")
    foreign(tmp_path, "_lock.2-of-4", age=60)  # lost
    with RunOutput.open(tmp_path, part=(3, 4)) as one, RunOutput.open(tmp_path, part=(4, 4)) as other:
        assert other.others() == {"_lock.1-of-4": "t", "_lock.3-of-4": one.token}


@pytest.mark.parametrize("held", [None, (1, 2), (1, 3)])
@pytest.mark.parametrize("wanted", [None, (1, 2), (2, 2)])
def test_a_whole_run_and_parts_of_another_number_keep_each_other_out(
    tmp_path: Path, held: tuple[int, int] | None, wanted: tuple[int, int] | None
) -> None:
    together = held == (1, 2) and wanted == (2, 2)
    with RunOutput.open(tmp_path, part=held):
        if together:
            RunOutput.open(tmp_path, part=wanted).close()
        else:
            with pytest.raises(OutputError, match=rf"is held by (another run|part 1/.) \(pid {os.getpid()} "):
                RunOutput.open(tmp_path, part=wanted)
    with RunOutput.open(tmp_path, part=wanted):
        pass


def test_parts_go_together_and_keep_a_whole_run_out(target: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    with RunOutput.open(target, create=True, part=(1, 2)), RunOutput.open(target, part=(2, 2)) as other:
        assert list(other.others()) == ["_lock.1-of-2"]
        for part in (None, (1, 3)):
            with pytest.raises(OutputError, match=r"is held by part [12]/2 \(pid "):
                RunOutput.open(target, part=part)
    with RunOutput.open(target) as held:
        assert held.others() == {}


def test_who_was_taken_over_writes_no_more_anywhere(target: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    with RunOutput.open(target, create=True) as held:
        held.check()
        put(target, "_lock", b'{"token": "other"}')
        deadline = time.monotonic() + LIMIT_S
        with pytest.raises(OutputError, match="another run took over this output"):
            while time.monotonic() < deadline:
                held.check()
    found = open_store(target).read("_lock")
    assert found is not None and found[0] == b'{"token": "other"}'


def test_the_status_names_workers_their_shards_and_why_some_died(
    target: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(monkeypatch)
    with RunOutput.open(target, create=True) as held:
        held.write_plan(made_plan(inputs=["a", "b", "c"]).content)
        held.show([Worker("cuda:0", "cuda L4", ("a", "b")), Worker("cuda:1", "cuda L4")], ["cuda:1: SIGKILL"])
        wait_until(lambda: status_of(target).held > 0, "the lease does not say it")
        status = status_of(target)
        assert (status.done, status.held, status.waiting) == (0, 2, 1)
        (holder,) = status.holders
        assert [(one.name, one.device, one.shards) for one in holder.workers] == [
            ("cuda:0", "cuda L4", ("a", "b")),
            ("cuda:1", "cuda L4", ()),
        ]
        assert holder.died == ("cuda:1: SIGKILL",)
        held.show([Worker("x" * 5000, "é" * 5000, ("ü" * 5000,))] * 3000)
        wait_until(lambda: status_of(target).holders[0].running == 3000, "a line that is too long")
        held.check()
    assert status_of(target).holders == ()
