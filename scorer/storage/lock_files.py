"""Lock files: the line about the holder, its heartbeat, and whether an flock is held. See :mod:`.lease`."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ..errors import OutputError
from ..system.codec import OpenRecord, encode
from ..system.process_marks import own_mark
from .durable import discard, output_errors, temporary_name

_BOOT = Path("/proc/sys/kernel/random/boot_id")
LINE_BYTES = 4096
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


def block(holder: Mapping[str, object], activity: Activity) -> bytes:
    """A line as it is written: the holder, and what it does if that fits."""
    content = encode({**holder, "activity": activity})
    if len(content) > LINE_BYTES:
        content = encode(dict(holder))
    return content.ljust(LINE_BYTES)


def new_holder() -> dict[str, object]:
    """Who this process is, as its locks say, with a token that no other holder has."""
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "boot": boot(),
        "process": own_mark(),
        "token": secrets.token_hex(8),
    }


def held_by(place: object, line: dict[str, Any], what: str) -> OutputError:
    """Somebody else holds an output. ``line``: of the lock; ``what``: the holder where it says nothing."""
    return OutputError(f"{place} is held by {described(line, what)}; wait for it to end, or choose another --out")


def boot() -> str:
    """An identifier of the running kernel; host names may not be unique."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return socket.gethostname()


def read_line(path: Path) -> bytes:
    """The line in a lock file; empty if there is none."""
    try:
        with path.open("rb") as file:
            return file.read(LINE_BYTES).rstrip()
    except OSError:
        return b""


def parsed(line: bytes) -> dict[str, Any]:
    """The fields of a line; empty if it is none."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def activity_of(line: dict[str, Any]) -> Activity:
    """What a line says that its holder does."""
    try:
        return msgspec.convert(line.get("activity", {}), Activity)
    except msgspec.ValidationError:
        return Activity()


def described(line: dict[str, Any], what: str = "another run") -> str:
    """A holder for a message, by process and host."""
    try:
        return f"{what} (pid {line['pid']} on {line['host']} since {line['started']})"
    except KeyError:
        return what


def beaten(path: Path) -> int:
    """When a file was last touched, in ns on the file system's clock; 0 if it does not exist."""
    # Opened each time: network file systems then ask the server instead of using their cache.
    try:
        with path.open("rb") as file:
            return os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return 0


def store_time(folder: Path) -> float:
    """The present time in seconds on the clock of a file system, from the time of a file written now; 0 on errors."""
    probe = folder / temporary_name()
    try:
        with probe.open("xb") as file:
            file.write(b"?")
        return probe.stat().st_mtime
    except OSError:
        return 0.0
    finally:
        discard(probe)


def age(path: Path) -> float:
    """Seconds since a file was last touched, on the clock of its file system; 0 on errors."""
    now = store_time(path.parent)
    try:
        return now - path.stat().st_mtime if now else 0.0
    except OSError:
        return 0.0


def is_flocked(path: Path) -> bool:
    """Whether a process of this machine, or on a file system with real locks of any machine, has locked a file."""
    with output_errors("lock", path):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:  # a worker removes its file at its end
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
    return False
