"""The lock of an output: an flock on ``_lock``, or in an object store, and on a file system without flock, a record
there that is written on condition of the version that was seen, renewed every minute, and taken over after five."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import field
from msgspec.structs import replace

from ..errors import DamagedFileError, OutputError, SchemaError
from ..system.codec import OpenRecord, decode, encode, utc_now
from ..system.waiting import Closing, call_interruptibly
from .local_files import ABSENT, output_errors, temporary_name
from .run_plan import LOCK
from .store import LocalStore, Store

RENEW_S = 60.0
STALE_S = 120.0
"""Age of the last renewal in seconds from which a holder publishes nothing until it has renewed its record."""
EXPIRY_S = 300.0
_POLL_S = 5.0
_SETTLE_S = 2.0
"""After the first write in a folder, where a condition and its write are two steps: the last of two writers counts."""
_RELEASE_S = 5.0
"""Seconds that the end of a run waits for a store that does not answer; the record expires by itself."""
NO_FLOCK = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class LockRecord(OpenRecord, frozen=True):
    """Content of ``_lock``."""

    pid: int = field(default_factory=os.getpid)
    """Process id of the run."""
    host: str = field(default_factory=socket.gethostname)
    """Host name of its machine."""
    started: str = field(default_factory=utc_now)
    """Start of the run in UTC, ISO 8601."""
    nonce: str = ""
    """A random value, new in each renewal, so that no two writes have the same content."""

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host} since {self.started}"


class FileLock(Closing):
    """An flock while this process holds it; the file is deleted at the end. Child processes do not inherit the
    descriptor, so that none keeps the lock.

    Raises:
        BlockingIOError: another process holds it.
        OSError: the file cannot be opened or locked.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._is_open, is_locked = path, True, False
        while not is_locked:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_locked = self.may_publish  # otherwise its holder deleted the file before it released the lock
            finally:
                if not is_locked:
                    os.close(self._file)
        with suppress(OSError):  # a full disk: the record only tells others who holds the lock
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, encode(LockRecord()), 0)

    @property
    def may_publish(self) -> bool:
        """Whether outputs and receipts may be written now: the path still leads to the locked file."""
        with suppress(OSError):
            return self._is_open and os.path.samestat(self._path.lstat(), os.fstat(self._file))
        return False

    def check(self) -> None:
        """Raise :class:`.OutputError` before a write if the lock file was replaced."""
        if not self.may_publish:
            raise OutputError(
                f"{self._path} was removed or replaced during the run, so that another run may have begun; run again "
                "when nothing else writes there"
            )

    def close(self) -> None:
        """Release the lock."""
        if self._is_open:
            with suppress(OSError):
                if self.may_publish:
                    self._path.unlink()
            self._is_open = False
            os.close(self._file)


class RecordLock(Closing):
    """A record that a thread renews. Waits for the record of a holder without a sign of life to expire."""

    def __init__(self, store: Store, on_wait: Callable[[str], None]) -> None:
        self._store, self._record, self._renewed = store, LockRecord(), 0.0
        self._guard, self._ended = threading.Lock(), threading.Event()
        replaced = _await_expiry(store, on_wait)
        self._version: str | None = replaced  # None: another run has taken the lock over
        if not self._renew():
            raise _held(store)
        try:
            if store.is_remote:
                self._require_conditions()
            else:
                time.sleep(_SETTLE_S)
                if not self._is_mine():
                    raise _held(store)
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._keep_renewing, name="lock", daemon=True).start()

    @property
    def may_publish(self) -> bool:
        """As of a :class:`FileLock`; costs no request."""
        return self._version is not None and not self._ended.is_set() and _now() - self._renewed < STALE_S

    def check(self) -> None:
        """As of a :class:`FileLock`; renews an old record first, and raises if the store does not answer."""
        if self.may_publish:
            return
        if self._ended.is_set() or not self._renew():
            raise OutputError(
                f"{self._store.uri(LOCK)}: another run took over this output, because this run did not renew its "
                "lock; run again when the other run has ended"
            )

    def close(self) -> None:
        """Release the lock; its record is deleted."""

        def delete() -> None:
            with self._guard:  # a renewal under way would write the record again
                if self._is_mine():
                    self._store.delete([LOCK])

        if not self._ended.is_set():
            self._ended.set()
            with suppress(TimeoutError, OutputError):
                call_interruptibly(delete, lambda: None, limit_s=_RELEASE_S)

    def _keep_renewing(self) -> None:
        while not self._ended.wait(RENEW_S):
            with suppress(OutputError):  # the store does not answer: may_publish ends with the age of the record
                if not self._renew():
                    return

    def _renew(self) -> bool:
        """Write the record over the version that this holder wrote last; ``False`` if another version replaced it."""
        with self._guard:
            if self._version is not None:
                start, self._version = _now(), self._write(self._version)
                self._renewed = start
            return self._version is not None

    def _write(self, expect: str) -> str | None:
        record = replace(self._record, nonce=secrets.token_hex(8))
        return self._store.write(LOCK, encode(record), expect=expect)

    def _is_mine(self) -> bool:
        info = self._store.list(LOCK).get(LOCK)
        return info is not None and info.version == self._version

    def _require_conditions(self) -> None:
        """Refuse a store that writes although the condition of the write does not hold."""
        first = self._version or ABSENT
        self._renew()
        if any(self._write(expect) is not None for expect in (ABSENT, first)):
            self._store.delete([LOCK])
            raise OutputError(
                f"{self._store.uri(LOCK)}: the store does not support conditional writes (If-None-Match and "
                "If-Match), without which two runs could overwrite each other's outputs; use a store that has "
                "them (docs/stores.md), or a local --out"
            )


RunLock = FileLock | RecordLock


def take_lock(store: Store, on_wait: Callable[[str], None] = lambda message: None) -> RunLock:
    """Take the lock of an output; :class:`.OutputError` if another run holds it.

    Args:
        store: store of the output.
        on_wait: called with a line before a wait for a record to expire.
    """
    if isinstance(store, LocalStore):
        try:
            return FileLock(store.location / LOCK)
        except BlockingIOError:
            raise _held(store) from None
        except OSError as error:
            if error.errno not in NO_FLOCK:
                with output_errors("lock", store.location / LOCK):
                    raise
    return RecordLock(store, on_wait)


def _await_expiry(store: Store, on_wait: Callable[[str], None]) -> str:
    """The version to replace: :data:`ABSENT`, or the record of a lost holder; an error where its holder renews it."""
    first = store.list(LOCK).get(LOCK)
    if first is None:
        return ABSENT
    if first.size == 0:  # left by a run with flock, from a machine that has it
        return first.version
    probe = temporary_name()
    try:  # the time of a new file tells the time on the store's clock
        store.write(probe, b"?")
        remaining = EXPIRY_S - (store.list(probe).get(probe, first).modified - first.modified)
    finally:
        store.delete([probe])
    deadline = time.monotonic() + remaining
    if remaining > 0:
        on_wait(
            f"{_held(store)}; waiting at most {remaining:.0f} s for the other run to end or to renew its lock: if it "
            "was killed, its lock is taken over five minutes after the last renewal"
        )
    while time.monotonic() < deadline:
        time.sleep(min(_POLL_S, EXPIRY_S / 10))
        current = store.list(LOCK).get(LOCK)
        if current is None:
            return ABSENT
        if current.version != first.version:
            raise _held(store)
    return first.version


def read_record(store: Store) -> LockRecord | None:
    """The record of a lock; ``None`` where there is none, or a damaged one."""
    try:
        return decode(store.read(LOCK) or b"", LockRecord, LOCK)
    except (DamagedFileError, SchemaError):
        return None


def lock_holder(store: Store) -> LockRecord | None:
    """The run that probably holds an output now."""
    info, record = store.list(LOCK).get(LOCK), read_record(store)
    if isinstance(store, LocalStore):
        try:
            with (store.location / LOCK).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except BlockingIOError:
            return record
        except OSError as error:
            if error.errno not in NO_FLOCK:
                return None
    return record if info is not None and time.time() - info.modified < EXPIRY_S else None


def _held(store: Store) -> OutputError:
    record = read_record(store)
    holder = "another run" if record is None else f"another run ({record})"
    return OutputError(f"{store.location} is held by {holder}; wait for it to end, or choose another --out")


def _now() -> float:
    """Seconds on a clock that also counts while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
