"""Who may write into an output folder: lock files with an flock, a line about the holder, and a heartbeat.

A whole run holds ``_lock`` exclusively. Parts share ``_lock``, and each holds ``_lock.<k>-of-<n>`` exclusively. Each
worker of ``--join`` is a part whose lock is ``_lock.worker-<token>``, a file that is removed at its end. Files that all
parts write (plan, totals, markers) are written under ``_lock.brief``, which is held briefly, or as long as hashing the
outputs of others takes. Its holder has a line and a heartbeat too, so that a stuck holder can be distinguished from a
slow one.

On one machine the flock is sufficient: the kernel releases it when the process ends in any way. On some network file
systems an flock is visible on one machine only. So a process that gets the flock also reads the line in the file: if
it was written under another kernel and its heartbeat still changes, the folder is held. If the heartbeat does not
change for :data:`EXPIRY_S`, that machine is considered lost. Times are compared only on the file system's own clock.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from ..errors import OutputError
from .durable import discard, output_errors
from .lock_files import age as _age
from .lock_files import beaten as _beaten
from .lock_files import boot as _boot
from .lock_files import described as _named
from .lock_files import is_flocked as _is_flocked
from .lock_files import parsed as _parsed
from .lock_files import read_line as _read

LOCK = "_lock"
BRIEF = "_lock.brief"
BEAT_S = 10.0
EXPIRY_S = 60.0
BRIEF_LIMIT_S = 120.0
"""Longest wait in seconds for ``_lock.brief`` while its holder gives no sign of life."""
_PART = re.compile(r"_lock\.(?:(\d+)-of-(\d+)|worker-([0-9a-f]{16}))")
"""The lock of a part, or of a worker of ``--join``."""


def is_lock(name: str) -> bool:
    """Whether a file name is that of a lock."""
    return name in (LOCK, BRIEF) or _PART.fullmatch(name) is not None


def part_lock(part: tuple[int, int]) -> str:
    """The name of a part's own lock."""
    return f"{LOCK}.{part[0]}-of-{part[1]}"


def worker_lock(token: str) -> str:
    """The name of the lock of a worker."""
    return f"{LOCK}.worker-{token}"


def worker_token(name: str) -> str | None:
    """The token of the worker whose lock has this name; ``None`` for other names."""
    match = _PART.fullmatch(name)
    return match[3] if match is not None else None


class Lease:
    """A lock file that this process holds until :meth:`release`; made by :func:`take`.

    ``token``: identifies this holder; part of the line of a lease that is held exclusively. Child processes do not
    inherit the descriptor, so that no child keeps the lease after its parent has ended.
    """

    def __init__(self, path: Path, lock: int, line: bytes | None, token: str) -> None:
        self.path = path
        self.token = token
        self._lock = lock
        self._line = line
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if line is not None:
            self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)
            self._thread.start()

    def check(self) -> None:
        """Check that no other run has taken over the lease, for example while this machine was suspended.

        Reads one small file, so it is cheap enough to call before each rename and each receipt.

        Raises:
            OutputError: another run has the lease now; nothing more may be written.
        """
        if self._line is not None and _read(self.path) != self._line:
            raise OutputError(
                f"{self.path}: another run took over this output folder, since this run gave no sign of life; "
                "run again when the other run has ended"
            )

    def release(self) -> None:
        """Release the lease. The file is kept: if it were removed, two runs could hold two files of the same name."""
        if self._lock < 0:
            return
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self._line is not None and _read(self.path) == self._line:
            with suppress(OSError):
                os.ftruncate(self._lock, 0)
        os.close(self._lock)
        self._lock = -1

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            # Not after a takeover: the heartbeat would be taken for that of the new holder.
            if _read(self.path) == self._line:
                with suppress(OSError):
                    os.utime(self._lock)


def new_token() -> str:
    """A new identifier of a holder: 16 random hexadecimal digits."""
    return secrets.token_hex(8)


def take(
    path: Path, *, shared: bool = False, say: Callable[[str], None] = lambda message: None, token: str | None = None
) -> Lease:
    """Lock a file of an output folder; the file is created if it does not exist.

    Args:
        shared: take a shared lock.
        token: of the holder, who may hold several leases; a new one by default.

    Raises:
        OutputError: another run holds it (the message says which), or the file system has no locks.
    """
    out = path.parent
    token = token or new_token()
    lock = _flock(path, shared)
    try:
        taken_over = _await_expiry(path, say)
        if path.name == LOCK and not shared:
            for other in _parts(out):
                _await_expiry(other, say)
        if shared:
            with output_errors("lock", path):
                os.ftruncate(lock, 0)
            return Lease(path, lock, None, token)
        line = _write_line(path, lock, token)
        if taken_over:
            time.sleep(min(1.0, EXPIRY_S / 4))  # two machines may take over the same lease: the last line counts
            if _read(path) != line:
                raise OutputError(f"{out} is held by {_holder(path)}; wait for it to end, or choose another --out")
        return Lease(path, lock, line, token)
    except BaseException:
        os.close(lock)
        raise


def _write_line(path: Path, lock: int, token: str) -> bytes:
    """Write into a lock file who holds it."""
    line = json.dumps(
        {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "boot": _boot(),
            "token": token,
        }
    ).encode()
    with output_errors("lock", path):
        os.ftruncate(lock, 0)
        os.pwrite(lock, line, 0)
    return line


@contextmanager
def brief(out: Path, token: str | None = None) -> Iterator[None]:
    """Hold ``_lock.brief`` briefly; waits for another holder as long as it is alive.

    Raises:
        OutputError: its holder (the message says which) gave no sign of life for :data:`BRIEF_LIMIT_S`, or it cannot
            be locked.
    """
    path = out / BRIEF
    with output_errors("lock", path):
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        with output_errors("lock", path):
            _await_brief(path, lock)
        token = token or new_token()
        held = Lease(path, lock, _write_line(path, lock, token), token)
    except BaseException:
        os.close(lock)
        raise
    try:
        yield
    finally:
        held.release()


def _await_brief(path: Path, lock: int) -> None:
    beaten, since = None, 0.0
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        # The file changes with each beat, and when one holder follows another.
        if (seen := _beaten(path)) != beaten:
            beaten, since = seen, time.monotonic()
        elif time.monotonic() - since > BRIEF_LIMIT_S:
            raise OutputError(
                f"{path} is held by {_holder(path)}, which has given no sign of life for {BRIEF_LIMIT_S:.0f} s; "
                "end that process if it is stuck, then run again: it resumes"
            )
        time.sleep(0.02)  # polled instead of waiting in the kernel, so that signals are handled


def other_parts(out: Path, mine: str) -> list[str]:
    """The other parts that run now, as ``k/n``, and workers, by process and host. To be called under :func:`brief`."""
    return [
        f"{match[1]}/{match[2]}" if match[1] else _named(_parsed(_read(path)), "a worker")
        for path in _held_parts(out, mine)
        if (match := _PART.fullmatch(path.name))
    ]


def remove_ended_workers(out: Path, mine: str) -> None:
    """Remove the locks of workers that have ended. To be called under :func:`brief`."""
    held = {path.name for path in _held_parts(out, mine)}
    for path in _parts(out):
        if path.name not in held and path.name != mine and (match := _PART.fullmatch(path.name)) and match[3]:
            discard(path)


def other_tokens(out: Path, mine: str) -> set[str]:
    """The tokens of the other parts that run now. To be called under :func:`brief`."""
    return {str(_parsed(_read(path)).get("token")) for path in _held_parts(out, mine)}


def _held_parts(out: Path, mine: str) -> list[Path]:
    """The locks of other parts that are held."""
    found = []
    for path in _parts(out):
        if path.name == mine:
            continue
        line = _parsed(_read(path))
        if _is_flocked(path) or (line and line.get("boot") != _boot() and _age(path) < EXPIRY_S):
            found.append(path)
    return found


def _flock(path: Path, shared: bool) -> int:
    out = path.parent
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        with output_errors("lock", path):
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.flock(lock, kind | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock), path.stat()):
                    return lock
                os.close(lock)  # another process removed and created it again in between
            except FileNotFoundError:
                os.close(lock)
            except BlockingIOError:
                os.close(lock)
                raise OutputError(
                    f"{out} is held by {_holder(path)}; wait for it to end, or choose another --out"
                ) from None
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
    say(f"{path.parent}: waiting up to {wait_s:.0f} s for a sign of life from {_named(line)}")
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        time.sleep(min(1.0, EXPIRY_S / 4))
        if not _read(path):
            return True
        if _beaten(path) != seen or _read(path) != first:
            raise OutputError(f"{path.parent} is held by {_named(line)}; wait for it to end, or choose another --out")
    return True


def _parts(out: Path) -> list[Path]:
    try:
        return sorted(path for path in out.iterdir() if _PART.fullmatch(path.name))
    except OSError:
        return []


def _holder(path: Path) -> str:
    line = _parsed(_read(path))
    if not line and path.name == LOCK:  # it is shared by parts, which have their own lines
        lines = [found for part in _parts(path.parent) if (found := _parsed(_read(part)))]
        return f"a part of {_named(lines[0])}" if lines else "another run"
    return _named(line)
