"""How far the run into an output is, read from the output alone: ``scorer status``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from ..errors import OutputError
from ..storage.location import Location
from ..storage.lock import LockRecord
from ..storage.output_folder import OutputFolder
from ..storage.plan import PLAN, Plan
from ..storage.receipts import Receipt
from ..system.codec import OpenRecord

RECENT_S = 600.0
"""The rate is that of the shards finished in so many seconds."""


class RunStatus(OpenRecord, frozen=True, kw_only=True):
    """A run.

    ``planned``, ``done``, ``failed``, ``waiting``: shards. ``failures``: quarantined shards by kind of error.
    ``devices``: finished shards by the device that scored them. ``rows``: in finished shards. ``rows_per_s``: of all
    workers, ``None`` if no shard was finished recently. ``left_s``: estimated from the rate and the mean size of a
    shard. ``finished``: whether the run is complete. ``stale``: outputs without an input. ``holder``: the process that
    holds the output now.
    """

    schema: int = 4
    out: str
    finished: bool
    planned: int
    done: int
    failed: int
    waiting: int
    failures: dict[str, int]
    devices: dict[str, int]
    rows: int
    rows_per_s: float | None
    left_s: float | None
    stale: list[str]
    holder: LockRecord | None


def status_of(out: Location) -> RunStatus:
    """Look at an output; nothing is written.

    Raises:
        OutputError: it is not an output, or cannot be read.
    """
    output = OutputFolder(out)
    files = output.store.list()
    plan, info = output.read_plan(), files.get(PLAN)
    if plan is None or info is None:
        raise OutputError(f"{out} has no readable {PLAN}; name the --out folder of a run")
    done = [one for one in output.receipts(plan.inputs).values() if isinstance(one, Receipt)]
    names = {receipt.relative for receipt in done}
    failed = [one for name, one in output.failed().items() if name in plan.inputs and name not in names]
    waiting = len(plan.inputs) - len(done) - len(failed)
    rows = sum(receipt.output.rows for receipt in done)
    rate = _rate(done, plan, info.modified)
    left = waiting * rows / len(done) / rate if rate and done else None
    return RunStatus(
        out=str(out),
        finished=not waiting and not failed and output.why_unfinished() is None,
        planned=len(plan.inputs),
        done=len(done),
        failed=len(failed),
        waiting=waiting,
        failures=dict(sorted(Counter(one.kind for one in failed).items())),
        devices=dict(sorted(Counter(one.provenance.worker for one in done).items())),
        rows=rows,
        rows_per_s=None if rate is None else round(rate, 1),
        left_s=None if left is None else round(left, 1),
        stale=output.extra_outputs(files, plan, plan)[1],
        holder=output.lock_holder(),
    )


def _rate(done: Sequence[Receipt], plan: Plan, planned: float) -> float | None:
    """Rows a second of the shards of this plan that were finished recently. ``planned``: when it was written."""
    now, digest = time.time(), plan.digest
    since = max(planned, now - RECENT_S)
    rows = sum(one.output.rows for one in done if one.plan == digest and _seconds(one.created) >= since - 1)
    return rows / max(now - since, 1.0) if rows else None


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0
