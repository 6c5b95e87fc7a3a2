"""Who may write into an output folder: lock files with an flock, a line about the holder, and a heartbeat.

A whole run holds ``_lock``; part k of n holds ``_lock.<k>-of-<n>``. Each takes its own lock first and then looks for
those that do not go together with it (a whole run with anything, parts of one n with parts of another), so that of two
that start together at most one goes on.

On one machine the flock is sufficient: the kernel releases it when the process ends in any way. On some network file
systems an flock is visible on one machine only. So a process that gets the flock also reads the line in the file: if
it was written under another kernel and its heartbeat still changes, the folder is held. If the heartbeat does not
change for :data:`EXPIRY_S`, that machine is considered lost. Times are compared only on the file system's own clock.
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import OutputError
from .durable import output_errors
from .lock_files import Activity, block, held_by, new_holder
from .lock_files import age as _age
from .lock_files import beaten as _beaten
from .lock_files import boot as _boot
from .lock_files import described as _named
from .lock_files import is_flocked as _is_flocked
from .lock_files import parsed as _parsed
from .lock_files import read_line as _read

LOCK = "_lock"
BEAT_S = 10.0
EXPIRY_S = 60.0
_PART = re.compile(r"_lock\.(\d+)-of-(\d+)")
Part = tuple[int, int]


def is_lock(name: str) -> bool:
    """Whether a file name is that of a lock."""
    return name == LOCK or _PART.fullmatch(name) is not None


def lock_name(part: Part | None) -> str:
    """The name of the lock of a whole run, or of a part's own."""
    return LOCK if part is None else f"{LOCK}.{part[0]}-of-{part[1]}"


def goes_with(mine: str, other: str) -> bool:
    """Whether the holders of two locks may run at the same time: different parts of the same number of parts."""
    one, two = _PART.fullmatch(mine), _PART.fullmatch(other)
    return one is not None and two is not None and one[2] == two[2]


def part_named(name: str) -> str:
    """The holder of a lock for a message, as ``part 1/3``."""
    match = _PART.fullmatch(name)
    return f"part {match[1]}/{match[2]}" if match else "another run"


class Lease:
    """A lock file that this process holds until :meth:`release`; made by :func:`take`.

    ``token``: identifies this holder; part of the line of a lease that is held exclusively. Child processes do not
    inherit the descriptor, so that no child keeps the lease after its parent has ended.
    """

    def __init__(self, path: Path, lock: int, holder: Mapping[str, object]) -> None:
        self.path = path
        self.token = str(holder["token"])
        self.activity = Activity()
        self._lock = lock
        self._holder = holder
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Check that no other run has taken over the lease, for example while this machine was suspended.

        Reads one small file, so it is cheap enough to call before each rename and each receipt.

        Raises:
            OutputError: another run has the lease now; nothing more may be written.
        """
        if not self._is_mine():
            raise OutputError(
                f"{self.path}: another run took over this output folder, because this run's heartbeat stopped; "
                "run again when the other run has ended"
            )

    def release(self) -> None:
        """Release the lease. The file is kept: if it were removed, two runs could hold two files of the same name."""
        if self._lock < 0:
            return
        self._ended.set()
        self._thread.join()
        if self._is_mine():
            with suppress(OSError):
                os.ftruncate(self._lock, 0)
        os.close(self._lock)
        self._lock = -1

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            # Not after a takeover: the heartbeat would be taken for that of the new holder.
            if self._is_mine():
                with suppress(OSError):
                    os.pwrite(self._lock, block(self._holder, self.activity), 0)
                    os.utime(self._lock)

    def _is_mine(self) -> bool:
        return bool(_parsed(_read(self.path)).get("token") == self.token)


def take(out: Path, part: Part | None = None, *, say: Callable[[str], None] = lambda message: None) -> Lease:
    """Take the lease of a whole run, or of a part.

    Raises:
        OutputError: another run holds the folder (the message says which), or the file system has no locks.
    """
    path, holder = out / lock_name(part), new_holder()
    lock = _flock(path)
    try:
        taken_over = _await_expiry(path, say)
        with output_errors("lock", path):
            os.ftruncate(lock, 0)
            os.pwrite(lock, block(holder, Activity()), 0)
        for other in _locks(out):
            if other.name != path.name and not goes_with(path.name, other.name) and _is_held(other, say):
                with suppress(OSError):
                    os.ftruncate(lock, 0)
                raise _held(other)
        if taken_over:
            time.sleep(min(1.0, EXPIRY_S / 4))  # two machines may take over the same lease: the last line counts
            if _parsed(_read(path)).get("token") != holder["token"]:
                raise _held(path)
        return Lease(path, lock, holder)
    except BaseException:
        os.close(lock)
        raise


def _is_held(path: Path, say: Callable[[str], None]) -> bool:
    """Whether a lock of another kind is held, here or on another machine."""
    if _is_flocked(path):
        return True
    try:
        _await_expiry(path, say)
    except OutputError:
        return True
    return False


def others(out: Path, mine: str) -> dict[str, str]:
    """The other parts that run now: names of their locks, and their tokens."""
    found = {}
    for path in _locks(out):
        if path.name != mine and is_held(path):
            found[path.name] = str(_parsed(_read(path)).get("token"))
    return found


def is_held(path: Path) -> bool:
    """Whether a lock is held: here, or by another machine whose heartbeat is not old."""
    line = _parsed(_read(path))
    return _is_flocked(path) or bool(line and line.get("boot") != _boot() and _age(path) < EXPIRY_S)


def _flock(path: Path) -> int:
    while True:
        with output_errors("lock", path):
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock), path.stat()):
                    return lock
                os.close(lock)  # another process removed and created it again in between
            except FileNotFoundError:
                os.close(lock)
            except BlockingIOError:
                os.close(lock)
                raise _held(path) from None
            except OSError:
                os.close(lock)
                raise


def _await_expiry(path: Path, say: Callable[[str], None]) -> bool:
    """Return once no other machine holds this lock. A machine whose flock is not visible here has a visible heartbeat.

    Returns whether another machine had it.

    Raises:
        OutputError: the heartbeat changes.
    """
    first = _read(path)
    line = _parsed(first)
    if not line or line.get("boot") == _boot():
        return False
    seen = _beaten(path)
    # An old heartbeat may only seem old, since clocks can be set: wait for two heartbeats in any case.
    wait_s = EXPIRY_S if _age(path) < EXPIRY_S else min(EXPIRY_S, 2 * BEAT_S + 1)
    say(f"{path.parent}: waiting up to {wait_s:.0f} s for a heartbeat of {_named(line)}")
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        time.sleep(min(1.0, EXPIRY_S / 4))
        if not _read(path):
            return True
        if _beaten(path) != seen or _read(path) != first:
            raise held_by(path.parent, line, part_named(path.name))
    return True


def _locks(out: Path) -> list[Path]:
    try:
        return sorted(path for path in out.iterdir() if is_lock(path.name))
    except OSError:
        return []


def _held(path: Path) -> OutputError:
    return held_by(path.parent, _parsed(_read(path)), part_named(path.name))
