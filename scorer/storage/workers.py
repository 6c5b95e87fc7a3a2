"""The workers of a joined run (``--join``), as their locks and cards tell.

Each worker has a lock with a heartbeat (:mod:`.lease`), and a card that says what it computes on. Both are removed at
its end; what a killed worker leaves is removed by the next worker that joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .durable import Holder, atomic_json, discard, read_json
from .lease import worker_lock, worker_token
from .lock_files import age, boot, is_flocked, parsed, read_line

CLAIMS = "_claims"
"""Folder of the claims, and of the cards of the workers."""


@dataclass(frozen=True)
class WorkerLine:
    """A worker that has not certainly ended. ``device``: in words, empty before its model is loaded. ``started``: UTC,
    ISO 8601. ``silent_s``: seconds since its last heartbeat."""

    token: str
    host: str
    pid: int
    device: str
    started: str
    silent_s: float


def has_ended(out: Path, token: str) -> bool:
    """Whether a worker has certainly ended: its lock is gone, or was written under this kernel and is not held."""
    path = out / worker_lock(token)
    line = parsed(read_line(path))
    if not path.exists():
        return True
    # The line is written after the lock was taken, so a worker that begins is never taken for one that ended.
    return bool(line) and line.get("boot") == boot() and not is_flocked(path)


def workers(out: Path) -> Iterator[WorkerLine]:
    """The workers that have a lock here and have not certainly ended, by their tokens."""
    for path in sorted(out.glob(worker_lock("*"))):
        token, line = worker_token(path.name), parsed(read_line(path))
        if token is None or not line or has_ended(out, token):
            continue
        card = read_json(_card(out, token))
        device = card.get("device") if isinstance(card, dict) else ""
        pid = line.get("pid")
        yield WorkerLine(
            token,
            str(line.get("host", "")),
            pid if isinstance(pid, int) else 0,
            device if isinstance(device, str) else "",
            str(line.get("started", "")),
            max(0.0, age(path)),
        )


def write_card(holder: Holder, device: str) -> None:
    """Say on which device the holder of this lock computes."""
    atomic_json(_card(holder.root, holder.token), {"device": device}, "card", holder)


def remove_card(out: Path, token: str) -> None:
    """Remove a worker's card, if it has one, and the folder if it was the last file in it."""
    discard(_card(out, token))
    with suppress(OSError):
        (out / CLAIMS).rmdir()


def _card(out: Path, token: str) -> Path:
    return out / CLAIMS / f"worker-{token}.json"
