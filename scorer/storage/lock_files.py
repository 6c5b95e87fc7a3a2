"""What a lock says of its holder, and the flock that a folder adds to it. See :mod:`.lease`."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from ..errors import DamagedFileError
from ..system.codec import OpenRecord, decode, encode
from ..system.process_marks import own_mark
from .durable import discard, output_errors, temporary_name

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_LINE_BYTES = 4096
"""A line is written as one block of this size, so that no reader sees a half of it."""
_MOST = 8


class Worker(OpenRecord, frozen=True):
    """What scores shards now. ``name``, ``device``: as messages name them; ``shards``: those that it has."""

    name: str
    device: str
    shards: tuple[str, ...] = ()


class Activity(OpenRecord, frozen=True, kw_only=True):
    """What a run does now, as its lease says with each heartbeat. ``held``: shards that workers have; ``running``:
    workers. ``workers``, ``died``: some of them, and why the last ones died."""

    held: int = 0
    running: int = 0
    workers: tuple[Worker, ...] = ()
    died: tuple[str, ...] = ()

    @classmethod
    def of(cls, workers: Sequence[Worker], died: Sequence[str] = ()) -> Activity:
        """Of all workers, of which the first ones are named, so that it fits a line."""
        named = tuple(Worker(one.name[:80], one.device[:80], tuple(s[-80:] for s in one.shards[:2])) for one in workers)
        return cls(
            held=sum(len(one.shards) for one in workers),
            running=len(workers),
            workers=named[:_MOST],
            died=tuple(why[:200] for why in died[-3:]),
        )


class Line(OpenRecord, frozen=True, kw_only=True):
    """The content of a lock. ``started``: ISO 8601. ``boot``: of the kernel; host names may not be unique. ``process``:
    a mark, see :mod:`.process_marks`. ``token``: no other holder has it. ``beat``: another one in each heartbeat."""

    pid: int
    host: str
    started: str
    boot: str
    process: str = ""
    token: str
    beat: str = ""
    activity: Activity = Activity()

    @classmethod
    def own(cls) -> Self:
        """Of this process, with a new token."""
        return cls(
            pid=os.getpid(),
            host=socket.gethostname(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            boot=boot(),
            process=own_mark(),
            token=secrets.token_hex(8),
        )

    @classmethod
    def parse(cls, content: bytes) -> Self | None:
        """What a lock says; ``None`` where it says nothing that can be read."""
        try:
            return decode(content, cls, "the lock")
        except DamagedFileError:
            return None

    def block(self) -> bytes:
        """The line as it is written: with what the holder does if that fits."""
        content = encode(self)
        return (content if len(content) <= _LINE_BYTES else encode(replace(self, activity=Activity()))).ljust(
            _LINE_BYTES
        )


class FileLock:
    """An flock on a lock file. The kernel releases it when the process ends in any way.

    Child processes do not inherit the descriptor, so that no child keeps the lock after its parent has ended.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._file = path, descriptor

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Create the file and lock it; ``None`` if another process has it.

        Raises:
            OutputError: it cannot be locked.
        """
        with output_errors("lock", path):
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                return None
            except OSError:
                os.close(file)
                raise
        return cls(path, file)

    def write(self, block: bytes) -> None:
        """Replace what the file says, in place: another file of this name would not have the flock.

        Raises:
            OutputError: it cannot be written.
        """
        with output_errors("write", self._path):
            os.pwrite(self._file, block, 0)
            os.utime(self._file)  # network file systems then write it at once

    def clear(self) -> None:
        """Let the file say nothing, as far as possible."""
        with suppress(OSError):
            os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Release the flock. The file is kept: if it were removed, two processes could lock two files of one name."""
        os.close(self._file)


def is_flocked(path: Path) -> bool:
    """Whether a process of this machine, or on a file system with real locks of any machine, has locked a file."""
    with output_errors("lock", path):
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
    return False


def age(path: Path) -> float:
    """Seconds since a file was last touched, on the clock of its file system, which the time of a new file tells; 0
    where none can be written."""
    probe = path.with_name(temporary_name())
    try:
        with probe.open("xb") as file:
            file.write(b"?")
        return probe.stat().st_mtime - path.stat().st_mtime
    except OSError:
        return 0.0
    finally:
        discard(probe)


def boot() -> str:
    """An identifier of the running kernel."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return socket.gethostname()
