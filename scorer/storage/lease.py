"""Who may write into an output: locks with a line about the holder, and a heartbeat that replaces the line.

A whole run holds ``_lock``; part k of n holds ``_lock.<k>-of-<n>``. Each takes its own lock first and then looks for
those that do not go together with it (a whole run with anything, parts of one n with parts of another), so that of two
that start together at most one goes on. A lock whose heartbeat does not change for :data:`EXPIRY_S` is that of a lost
machine, and is taken over. A process of this machine that has ended is noticed at once.

In an object store each heartbeat replaces the version that the holder wrote last, so of two holders one succeeds. In a
folder an flock decides; where it is visible on one machine only, the line and its heartbeat do. Times are compared only
on the clock of the store.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import asdict, replace

from ..errors import OutputError
from ..system.process_marks import has_ended
from ..system.waiting import interruptible
from .folder import FolderStore
from .lock_files import Activity, FileLock, Line, age, boot, is_flocked
from .store_old import ABSENT, Store

LOCK = "_lock"
BEAT_S = 10.0
EXPIRY_S = 60.0
_POLL_S = 1.0
_RELEASE_S = 5.0
"""How long the end of a run waits for a store that does not answer; its lease expires by itself."""
_PART = re.compile(r"_lock\.(\d+)-of-(\d+)")
Part = tuple[int, int]


def is_lock(name: str) -> bool:
    """Whether a file name is that of a lock."""
    return name == LOCK or _PART.fullmatch(name) is not None


def lock_name(part: Part | None) -> str:
    """The name of the lock of a whole run, or of a part's own."""
    return LOCK if part is None else f"{LOCK}.{part[0]}-of-{part[1]}"


def part_named(name: str) -> str:
    """The holder of a lock for a message, as ``part 1/3``."""
    match = _PART.fullmatch(name)
    return f"part {match[1]}/{match[2]}" if match else "another run"


class LockHolder(Activity, frozen=True, kw_only=True):
    """A process that holds an output, or a part of it, and what it does as of its last heartbeat. ``what``: ``run`` or
    ``part k/n``. ``started``: ISO 8601."""

    what: str
    host: str
    pid: int
    started: str


def holders(store: Store) -> list[LockHolder]:
    """Those whose lock shows that they live, or may live on another machine."""
    return [
        LockHolder(
            what="run" if name == LOCK else part_named(name),
            host=line.host,
            pid=line.pid,
            started=line.started,
            **asdict(line.activity),
        )
        for name, line in _living(store).items()
    ]


class Lease:
    """A lock that this process holds until :meth:`release`; made by :func:`take`.

    ``token``: identifies this holder, in the line of the lock. ``activity``: what the next heartbeats say.

    Args:
        lock: the flock, in a folder.
    """

    def __init__(self, store: Store, name: str, lock: FileLock | None) -> None:
        self.activity = Activity()
        self._store, self._name, self._lock = store, name, lock
        self._line = Line.own()
        self.token = self._line.token
        self._version = ABSENT
        self._beaten = _now()
        self._lost = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)

    def take(self, say: Callable[[str], None]) -> None:
        """Write the line where nobody else holds this lock or one that does not go together with it.

        Raises:
            OutputError: another run holds one.
        """
        self._version, has_waited = _await_end(self._store, self._name, say)
        if not self._write():
            raise _held(self._store, self._name)
        for other in filter(is_lock, self._store.list_top()):
            if other != self._name and not _go_together(self._name, other):
                if isinstance(self._store, FolderStore) and is_flocked(self._store.place / other):
                    raise _held(self._store, other)
                _await_end(self._store, other, say)
        if has_waited:
            time.sleep(min(_POLL_S, EXPIRY_S / 4))  # two machines may have waited for one lock: the last line counts
            if not self._is_mine():
                raise _held(self._store, self._name)
        self._thread.start()

    def check(self) -> None:
        """Check that no other run has taken over the lease, for example while this machine was suspended.

        Cheap enough to call before each rename and each receipt: reads one small file, or an object if the last
        heartbeat is old.

        Raises:
            OutputError: another run has the lease now, or it was released; nothing more may be written.
        """
        if not self._lost and (self._lock is not None or _now() - self._beaten > EXPIRY_S / 2):
            self._lost = not self._is_mine()
        if self._lost or self._ended.is_set():  # a thread may still publish when the run was interrupted
            raise OutputError(
                f"{self._store.uri(self._name)}: another run took over this output, because this run's heartbeat "
                "stopped; run again when the other run has ended"
            )

    def release(self) -> None:
        """Give the lease back."""
        if not self._ended.is_set():
            self._ended.set()
            with suppress(TimeoutError):
                interruptible(self._give_back, lambda: None, limit_s=_RELEASE_S)

    def _give_back(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()  # a heartbeat on its way would write the line again
        with suppress(OutputError):
            if self._is_mine():
                if self._lock is not None:
                    self._lock.clear()
                else:
                    self._store.delete([self._name])
        if self._lock is not None:
            self._lock.close()

    def others(self) -> dict[str, str]:
        """The other parts that run now: names of their locks, and their tokens."""
        return {name: line.token for name, line in _living(self._store).items() if name != self._name}

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            with suppress(OutputError):  # the store is away; :meth:`check` looks again before a write
                # In a folder not after a takeover: the heartbeat would be taken for that of the new holder.
                self._lost = self._lost or (self._lock is not None and not self._is_mine()) or not self._write()
            if self._lost:
                return

    def _write(self) -> bool:
        """Write the line, with another beat; tells whether the lock was what this holder wrote last."""
        began = _now()
        block = replace(self._line, activity=self.activity, beat=secrets.token_hex(4)).block()
        if self._lock is not None:
            self._lock.write(block)
        else:
            version = self._store.put(self._name, block, self._version)
            if version is None:
                return False
            self._version = version
        self._beaten = began
        return True

    def _is_mine(self) -> bool:
        line = _read(self._store, self._name)
        return line is not None and line.token == self.token


def take(store: Store, part: Part | None = None, say: Callable[[str], None] = lambda message: None) -> Lease:
    """Take the lease of a whole run, or of a part.

    Raises:
        OutputError: another run holds it (says which), or the store cannot be used.
    """
    name, lock = lock_name(part), None
    if isinstance(store, FolderStore):
        lock = FileLock.take(store.place / name)
        if lock is None:
            raise _held(store, name)
    lease = Lease(store, name, lock)
    try:
        lease.take(say)
    except BaseException:
        lease.release()
        raise
    return lease


def _await_end(store: Store, name: str, say: Callable[[str], None]) -> tuple[str, bool]:
    """Return once no other process holds a lock whose flock, where there is one, is free.

    Returns its version, and whether it had to be waited for.

    Raises:
        OutputError: its heartbeat changes.
    """
    first = store.read(name) or (b"", ABSENT)
    line = Line.parse(first[0])
    is_over = line is not None and (has_ended(line.process) or (isinstance(store, FolderStore) and line.boot == boot()))
    if is_over or not first[0]:
        return first[1], False
    # An old heartbeat may only seem old, since clocks can be set: wait for two heartbeats in any case.
    is_old = isinstance(store, FolderStore) and age(store.place / name) >= EXPIRY_S
    wait_s = min(EXPIRY_S, 2 * BEAT_S + 1) if is_old else EXPIRY_S
    say(f"{store.place}: waiting up to {wait_s:.0f} s for a heartbeat of {_named(name, line)}")
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        time.sleep(min(_POLL_S, EXPIRY_S / 4))
        found = store.read(name) or (b"", ABSENT)
        if not found[0]:
            return found[1], True
        if found != first:
            raise _held(store, name)
    return first[1], True


def _living(store: Store) -> dict[str, Line]:
    """The locks whose holders live as far as one look tells, by name."""
    lines = {name: _read(store, name) for name in store.list_top() if is_lock(name)}
    return {name: line for name, line in lines.items() if line is not None and _lives(store, name, line)}


def _lives(store: Store, name: str, line: Line) -> bool:
    if has_ended(line.process):
        return False
    if not isinstance(store, FolderStore):
        return True
    path = store.place / name
    return is_flocked(path) or (line.boot != boot() and age(path) < EXPIRY_S)


def _read(store: Store, name: str) -> Line | None:
    found = store.read(name)
    return Line.parse(found[0]) if found is not None else None


def _go_together(mine: str, other: str) -> bool:
    """Whether the holders of two locks may run at the same time: different parts of the same number of parts."""
    one, two = _PART.fullmatch(mine), _PART.fullmatch(other)
    return one is not None and two is not None and one[2] == two[2]


def _held(store: Store, name: str) -> OutputError:
    who = _named(name, _read(store, name))
    return OutputError(f"{store.place} is held by {who}; wait for it to end, or choose another --out")


def _named(name: str, line: Line | None) -> str:
    return part_named(name) + (f" (pid {line.pid} on {line.host} since {line.started})" if line is not None else "")


def _now() -> float:
    """Seconds on a clock that goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()
