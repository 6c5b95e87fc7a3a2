"""Who holds an output now, as its locks say; for people alone."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import asdict

from ..system.process_marks import has_ended
from . import lease, lock_files
from .lock_files import Activity
from .store import Store


class LockHolder(Activity, frozen=True, kw_only=True):
    """A process that holds an output, or a part of it, and what it does as of its last heartbeat. ``what``: ``run`` or
    ``part k/n``. ``started``: ISO 8601."""

    what: str
    host: str
    pid: int
    started: str


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
        found.append(
            LockHolder(
                what=what,
                host=str(line.get("host", "")),
                pid=pid if isinstance(pid, int) else 0,
                started=str(line.get("started", "")),
                **asdict(lock_files.activity_of(line)),
            )
        )
    return found
