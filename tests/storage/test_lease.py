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
from scorer.storage import RunOutput, SeenOutput, lease
from scorer.storage.location import Location
from scorer.storage.lock_files import Worker, boot
from scorer.system.process_marks import own_mark
from tests.plans import made_plan
from tests.processes import LIMIT_S, wait_until
from tests.storage.backends import put

LINE = {"pid": 7, "host": "elsewhere", "started": "2026-01-01T00:00:00+00:00", "boot": "another kernel", "token": "t"}


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


def say(out: Location, content: bytes, name: str = "_lock") -> None:
    """Write a lock as another machine does: a file in place, so that an flock of this machine stays."""
    if isinstance(out, Path):
        out.mkdir(exist_ok=True)
        (out / name).write_bytes(content)
    else:
        put(out, name, content)


def foreign(out: Location, name: str = "_lock", age: int = 0, **changes: object) -> None:
    """The lock of another machine, in a folder beaten so many seconds ago on the file system's clock."""
    say(out, json.dumps({**LINE, **changes}).encode(), name)
    if isinstance(out, Path):
        then = (out / name).stat().st_mtime - age
        os.utime(out / name, (then, then))


def living(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a holder of this process beat while another one waits, which it does where there is no flock."""
    monkeypatch.setattr(lease, "BEAT_S", 0.01)
    clock.meanwhile = lambda: time.sleep(0.05)


@pytest.mark.parametrize("name", ["_lock", "_lock.1-of-2"])
def test_a_machine_that_lives_keeps_its_lease(target: Location, clock: Clock, name: str) -> None:
    foreign(target, name)
    clock.meanwhile = lambda: foreign(target, name, beat="b") if clock.monotonic() > lease.BEAT_S else None
    with pytest.raises(OutputError, match=r"(another run|part 1/2) \(pid 7 on elsewhere since"):
        RunOutput.open(target)
    assert lease.BEAT_S < clock.monotonic() < lease.EXPIRY_S
    assert json.loads(SeenOutput(target).read(name) or b"") == {**LINE, "beat": "b"}


def test_a_lost_machine_is_waited_for_and_said(target: Location, clock: Clock) -> None:
    foreign(target)
    told: list[str] = []
    with RunOutput.open(target, say=told.append):
        # The whole of its time, and a moment more: another machine may have waited for it as well.
        assert clock.slept == [1.0] * 61
    assert "waiting up to 60 s" in told[0] and "pid 7 on elsewhere" in told[0]


def test_of_two_that_waited_the_last_line_counts(target: Location, clock: Clock) -> None:
    foreign(target)
    clock.meanwhile = lambda: foreign(target, pid=8, token="u") if clock.monotonic() > lease.EXPIRY_S else None
    with pytest.raises(OutputError, match=r"another run \(pid 8 on elsewhere since"):
        RunOutput.open(target)
    assert json.loads(SeenOutput(target).read("_lock") or b"")["token"] == "u"


@pytest.mark.parametrize(("age", "waits"), [(3600, 21), (-3600, 60)])
def test_a_heartbeat_long_past_is_waited_for_two_beats_and_one_of_the_future_longer(
    tmp_path: Path, clock: Clock, age: int, waits: int
) -> None:
    foreign(tmp_path, age=age)
    with RunOutput.open(tmp_path):
        assert clock.slept == [1.0] * (waits + 1)


def test_a_run_of_this_machine_that_was_killed_is_not_waited_for(target: Location, clock: Clock) -> None:
    foreign(target, boot=boot(), process=f"{own_mark().rpartition(':')[0]}:0")
    with RunOutput.open(target):
        assert clock.slept == []


def test_the_heartbeat_moves_while_held_and_ends_with_it(target: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_S", 0.01)
    with RunOutput.open(target, create=True) as held:
        first = SeenOutput(target).read("_lock")
        wait_until(lambda: SeenOutput(target).read("_lock") not in (None, first), "the heart does not beat")
    assert not SeenOutput(target).read("_lock")
    assert not [thread for thread in threading.enumerate() if thread.name == "lease"]
    with pytest.raises(OutputError):
        held.check()


def test_who_was_taken_over_writes_no_more(target: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_S", 0.01)
    with RunOutput.open(target, create=True) as held:
        held.check()
        foreign(target)
        held._lease._thread.join(LIMIT_S)
        with pytest.raises(OutputError, match="another run took over this output"):
            held.check()
    assert json.loads(SeenOutput(target).read("_lock") or b"") == LINE, "a heartbeat in the other's name"


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"boot": "x"}'])
def test_odd_lines_in_a_lock_do_no_harm(
    target: Location, clock: Clock, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    say(target, content)
    monkeypatch.setattr(lease, "BEAT_S", 0.01)
    with RunOutput.open(target):
        living(clock, monkeypatch)
        with pytest.raises(OutputError, match="another run"):
            RunOutput.open(target)


def test_a_look_at_the_lease_costs_a_small_file_or_nothing(target: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked before each rename and each receipt. A store is asked if the last heartbeat is old, as after a
    suspension of the machine, which the clock of the lease counts."""
    with RunOutput.open(target, create=True) as held:
        looked: list[str] = []
        kind, real = type(held.store), type(held.store).read
        monkeypatch.setattr(kind, "read", lambda self, name: (looked.append(name), real(self, name))[1])
        held.check()
        assert looked == (["_lock"] if isinstance(target, Path) else [])
        monkeypatch.setattr(lease, "_now", lambda: 1e12)
        held.check()
        foreign(target)
        with pytest.raises(OutputError, match="took over"):
            held.check()


def test_a_part_that_was_lost_is_not_among_the_others(tmp_path: Path) -> None:
    foreign(tmp_path, "_lock.1-of-4")
    foreign(tmp_path, "_lock.2-of-4", age=60)
    with RunOutput.open(tmp_path, part=(3, 4)) as one, RunOutput.open(tmp_path, part=(4, 4)) as other:
        assert other.others() == {"_lock.1-of-4": "t", "_lock.3-of-4": one.token}


@pytest.mark.parametrize("held", [None, (1, 2), (1, 3)])
@pytest.mark.parametrize("wanted", [None, (1, 2), (2, 2)])
def test_a_whole_run_and_parts_of_another_number_keep_each_other_out(
    target: Location,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    held: tuple[int, int] | None,
    wanted: tuple[int, int] | None,
) -> None:
    living(clock, monkeypatch)
    with RunOutput.open(target, create=True, part=held) as one:
        if held == (1, 2) and wanted == (2, 2):
            with RunOutput.open(target, part=wanted) as other:
                assert other.others() == {"_lock.1-of-2": one.token}
        else:
            with pytest.raises(OutputError, match=rf"is held by (another run|part 1/.) \(pid {os.getpid()} "):
                RunOutput.open(target, part=wanted)
    RunOutput.open(target, part=wanted).close()


def test_the_status_names_workers_their_shards_and_why_some_died(
    target: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "BEAT_S", 0.01)
    workers = (Worker("cuda:0", "cuda L4", ("a", "b")), Worker("cuda:1", "cuda L4"))
    with RunOutput.open(target, create=True) as held:
        held.write_plan(made_plan(inputs=["a", "b", "c"]).content)
        held.show([*workers], ["cuda:1: SIGKILL"])
        wait_until(lambda: status_of(target).held > 0, "the lease does not say it")
        status = status_of(target)
        assert (status.done, status.held, status.waiting) == (0, 2, 1)
        (holder,) = status.holders
        assert (tuple(holder.workers), holder.died) == (workers, ("cuda:1: SIGKILL",))
        held.show([Worker("x" * 5000, "é" * 5000, ("ü" * 5000,))] * 3000)
        wait_until(lambda: status_of(target).holders[0].running == 3000, "a line that is too long")
        held.check()
    assert status_of(target).holders == ()
