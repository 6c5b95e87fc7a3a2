"""Who holds an output now, as its locks say; for people alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..system.process_marks import has_ended
from . import lease, lock_files
from .lock_files import Activity
from .store import Store


@dataclass(frozen=True)
class LockHolder:
    """A process that holds an output, or a part of it. ``what``: ``run`` or ``part k/n``. ``started``: ISO 8601.
    ``activity``: what it does, as of its last heartbeat."""

    what: str
    host: str
    pid: int
    started: str
    activity: Activity


def holders(store: Store) -> list[LockHolder]:
    """Those whose lock shows that they live, or may live on another machine."""
    found = []
    for name in filter(lease.is_lock, store.list_top()):
        content = store.read(name)
        line = lock_files.parsed(content[0]) if content is not None else {}
        if not line or has_ended(line.get("process")):
            continue
        if isinstance(store.place, Path) and not lease.is_held(store.place / name):
            continue
        what = "run" if name == lease.LOCK else lease.part_named(name)
        pid = line.get("pid")
        host, started = str(line.get("host", "")), str(line.get("started", ""))
        activity = lock_files.activity_of(line)
        found.append(LockHolder(what, host, pid if isinstance(pid, int) else 0, started, activity))
    return found
