"""How far the run into an output is, read from the output alone: ``scorer status``."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime

from ..errors import OutputError
from ..scoring.plan import Plan
from ..storage import Receipt, SeenOutput
from ..storage.lease import LockHolder, holders
from ..storage.location import Location
from ..storage.plan import PLAN
from ..system.codec import OpenRecord

RECENT_S = 600.0
"""The rate is that of the shards finished in so many seconds."""


class RunStatus(OpenRecord, frozen=True, kw_only=True):
    """A run.

    ``planned``, ``done``, ``held``, ``failed``, ``waiting``: shards; the held ones are being scored.
    ``failures``: quarantined shards by kind of error.
    ``devices``: finished shards by the device that scored them. ``rows``: in finished shards. ``rows_per_s``: of all
    workers, ``None`` if no shard was finished recently. ``left_s``: estimated from the rate and the mean size of a
    shard. ``finished``: whether the run is complete. ``holders``: processes that hold the output now.
    """

    schema: int = 3
    out: str
    finished: bool
    planned: int
    done: int
    held: int
    failed: int
    waiting: int
    failures: dict[str, int]
    devices: dict[str, int]
    rows: int
    rows_per_s: float | None
    left_s: float | None
    holders: tuple[LockHolder, ...]


def status_of(out: Location) -> RunStatus:
    """Look at an output; nothing is written.

    Raises:
        OutputError: it is not an output, or cannot be read.
    """
    output = SeenOutput(out)
    plan, entry = Plan.load(output), output.store.look(PLAN)
    if plan is None or entry is None:
        raise OutputError(f"{out} has no readable {PLAN}; name the --out folder of a run")
    receipts = output.receipts
    found = [receipts.read(relative) for relative in receipts.all() if relative in plan.inputs]
    done = [receipt for receipt in found if receipt is not None]
    names = {receipt.relative for receipt in done}
    notes = {name: note for name, note in receipts.failed().items() if name in plan.inputs and name not in names}
    now = holders(output.store)
    left_to_do = len(plan.inputs) - len(done) - len(notes)
    held = min(sum(one.held for one in now), left_to_do)
    waiting = left_to_do - held
    rows = sum(receipt.output.rows for receipt in done)
    rate = _rate(done, plan, entry.modified)
    left = left_to_do * rows / len(done) / rate if rate and done else None
    return RunStatus(
        out=str(out),
        finished=left_to_do == 0 and not notes and output.agrees_with(done),
        planned=len(plan.inputs),
        done=len(done),
        held=held,
        failed=len(notes),
        waiting=waiting,
        failures=dict(sorted(Counter(note.kind for note in notes.values()).items())),
        devices=dict(sorted(Counter(one.maker.worker for one in done).items())),
        rows=rows,
        rows_per_s=None if rate is None else round(rate, 1),
        left_s=None if left is None else round(left, 1),
        holders=tuple(now),
    )


def _rate(done: list[Receipt], plan: Plan, planned: float) -> float | None:
    """Rows a second of the shards of this plan that were finished recently."""
    now, digest = time.time(), plan.digest
    since = max(planned, now - RECENT_S)
    rows = sum(one.output.rows for one in done if one.plan == digest and _seconds(one.created) >= since - 1)
    return rows / max(now - since, 1.0) if rows else None


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0
