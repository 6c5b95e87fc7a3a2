"""The lock of an output: an flock, or a record that is renewed, in a bucket and on a file system without flock.

No test waits for a record to expire: they have clocks of their own, which move only when somebody sleeps.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import OutputError
from scorer.storage import lock
from scorer.storage.local_files import FileInfo
from scorer.storage.location import Location, StoreUri
from scorer.storage.lock import EXPIRY_S, LOCK, STALE_S, FileLock, RecordLock, lock_holder, take_lock
from scorer.storage.store import Store, open_store
from tests.processes import start, wait_until

RECORD = {"pid": 7, "host": "elsewhere", "started": "2026-01-01T00:00:00+00:00", "nonce": "n"}
NO_FLOCK = OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


class Clock:
    """Stands in for the module ``time`` and for the clock of the store. ``meanwhile``: done in each sleep."""

    CLOCK_BOOTTIME = 0

    def __init__(self) -> None:
        self.slept = 0.0
        self.meanwhile: Callable[[], object] = lambda: None

    def time(self, clock: int = 0) -> float:
        return self.slept

    monotonic = clock_gettime = time

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.meanwhile()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (lock,):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def store(target: Location, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[Store]:
    """A bucket, or a folder on a file system without flock; files are written at the time of the clock."""
    if isinstance(target, Path):
        target.mkdir()

        def refuse(*_: Any) -> None:
            raise NO_FLOCK

        monkeypatch.setattr(fcntl, "flock", refuse)
    found = open_store(target)
    real_list, real_write, written = type(found).list, type(found).write, dict[str, float]()

    def listing(self: Any, prefix: str = "") -> dict[str, FileInfo]:
        return {name: info._replace(modified=written.get(name, 0.0)) for name, info in real_list(self, prefix).items()}

    def write(self: Any, name: str, content: bytes, *, expect: str | None = None) -> str | None:
        version = real_write(self, name, content, expect=expect)
        if version is not None:
            written[name] = clock.slept
        return version

    monkeypatch.setattr(type(found), "list", listing)
    monkeypatch.setattr(type(found), "write", write)
    yield found


def foreign(store: Store, **changes: object) -> None:
    """Write the record of another machine."""
    store.write(LOCK, json.dumps({**RECORD, **changes}).encode())


def test_one_of_two_gets_it_and_leaves_nothing(store: Store) -> None:
    with take_lock(store) as held:
        assert isinstance(held, RecordLock) and held.may_publish
        holder = lock_holder(store)
        assert holder is not None and holder.pid == os.getpid()
        held.check()
    assert not held.may_publish and store.list() == {} and lock_holder(store) is None
    with pytest.raises(OutputError, match="another run took over"):
        held.check()
    take_lock(store).close()


def test_a_holder_that_renews_keeps_it(store: Store, clock: Clock) -> None:
    foreign(store)
    clock.meanwhile = lambda: foreign(store, nonce="m") if clock.slept == 60 else None
    told: list[str] = []
    with pytest.raises(OutputError, match=r"is held by another run \(pid 7 on elsewhere since 2026"):
        take_lock(store, told.append)
    assert clock.slept == 60
    assert "pid 7 on elsewhere" in told[0] and "waiting at most 300 s" in told[0]
    assert json.loads(store.read(LOCK) or b"")["nonce"] == "m"


@pytest.mark.parametrize(("old", "waits"), [(0, 300), (200, 100), (300, 0), (86_400, 0)])
def test_a_record_that_was_not_renewed_for_five_minutes_is_taken_over(
    store: Store, clock: Clock, old: int, waits: int
) -> None:
    foreign(store)
    if old == 200:
        store.write(LOCK, b"{")  # a damaged one expires as any
    clock.slept += old
    settle = 0 if store.is_remote else 2
    with take_lock(store) as held:
        assert clock.slept == old + waits + settle
        held.check()
    assert store.list() == {}


def test_of_two_that_take_it_over_one_gets_it(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a bucket the condition decides; in a folder, where it is two steps, the one that wrote last."""
    foreign(store)
    clock.slept += EXPIRY_S
    real, others = type(store).write, [8]

    def write(self: Any, name: str, content: bytes, *, expect: str | None = None) -> str | None:
        if name == LOCK and others:
            foreign(store, pid=others.pop())
        return real(self, name, content, expect=expect)

    if store.is_remote:
        monkeypatch.setattr(type(store), "write", write)
    else:
        clock.meanwhile = lambda: foreign(store, pid=8)
    with pytest.raises(OutputError, match="pid 8 on elsewhere"):
        take_lock(store)
    assert json.loads(store.read(LOCK) or b"")["pid"] == 8


def test_it_is_renewed_while_it_is_held(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "RENEW_S", 0.01)
    with take_lock(store):
        first = store.read(LOCK)
        wait_until(lambda: store.read(LOCK) not in (None, first), "the record is not renewed")
    assert store.list() == {}
    wait_until(lambda: "lock" not in [one.name for one in threading.enumerate()], "its thread has not ended")


def test_who_was_taken_over_or_gets_no_answer_writes_no_more(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: Any, **__: Any) -> None:
        raise OutputError("the store does not answer")

    with take_lock(store) as held:
        with monkeypatch.context() as patch:
            patch.setattr(type(store), "write", silent)
            clock.slept += STALE_S
            with pytest.raises(OutputError, match="does not answer"):
                held.check()
        held.check()
        foreign(store)
        held.check()  # the last renewal is young: nobody may have taken it over
        clock.slept += STALE_S
        for _ in range(2):
            with pytest.raises(OutputError, match="another run took over this output"):
                held.check()
    assert json.loads(store.read(LOCK) or b"") == RECORD, "the other's record stays"


def test_a_store_without_conditions_is_refused(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    obstore = pytest.importorskip("obstore")
    real = obstore.put
    monkeypatch.setattr(obstore, "put", lambda *given, **more: real(*given, **(more | {"mode": "overwrite"})))
    found = open_store(StoreUri("s3", "bucket", "out"))
    with pytest.raises(OutputError, match="does not support conditional writes"):
        take_lock(found)
    assert found.list() == {}


HOLD = """
import subprocess, sys, time
from pathlib import Path
from scorer.storage.lock import take_lock
from scorer.storage.store import LocalStore
with take_lock(LocalStore(Path(sys.argv[1]))):
    child = subprocess.Popen(["sleep", "60"])
    print(child.pid, flush=True)
    time.sleep(60)
"""


def test_an_flock_ends_with_its_process_and_no_child_keeps_it(tmp_path: Path) -> None:
    store, child = open_store(tmp_path), 0
    with start(HOLD, str(tmp_path)) as holder:
        try:
            assert holder.stdout is not None
            child = int(holder.stdout.readline())
            with pytest.raises(OutputError, match=rf"\(pid {holder.pid} on"):
                take_lock(store)
            found = lock_holder(store)
            assert found is not None and found.pid == holder.pid
        finally:
            holder.kill()
    try:
        assert lock_holder(store) is None
        with take_lock(store) as held:
            assert isinstance(held, FileLock)
    finally:
        os.kill(child, signal.SIGKILL)


def test_an_flock_on_a_file_that_was_removed_is_lost(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with take_lock(store) as held:
        (tmp_path / LOCK).unlink()
        assert not held.may_publish
        with take_lock(store) as other, pytest.raises(OutputError, match="removed or replaced"):
            assert other.may_publish
            held.check()
