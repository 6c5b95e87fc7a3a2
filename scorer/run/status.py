"""How far the run into an output folder is, read from the folder alone: ``scorer status``."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from ..errors import OutputError
from ..scoring.plan import Plan
from ..storage import Receipt
from ..storage.claims import StandingClaim
from ..storage.finished import PLAN
from ..storage.objects.uri import Location
from ..storage.run_view import view_of
from ..storage.workers import WorkerLine

RECENT_S = 600.0
"""The rate is that of the shards finished in so many seconds."""


@dataclass(frozen=True)
class WorkerStatus:
    """A worker of ``--join`` that runs. ``age_s``: since it started. ``silent_s``: since its last heartbeat, which it
    gives every 10 s. ``holds``: the shards that it has claimed, and ``batch_s``: seconds since it finished a batch."""

    host: str
    pid: int
    device: str
    age_s: float
    silent_s: float
    holds: tuple[str, ...]
    batch_s: float | None


@dataclass(frozen=True)
class RunStatus:
    """A run.

    ``planned``, ``done``, ``held``, ``failed``, ``waiting``: shards; ``held``: claimed by a worker that may be alive.
    ``rows``: in finished shards. ``rows_per_s``: of all workers, ``None`` if no shard was finished recently.
    ``left_s``: estimated from the rate and the mean size of a shard. ``finished``: whether the run is complete.
    """

    out: str
    finished: bool
    planned: int
    done: int
    held: int
    failed: int
    waiting: int
    rows: int
    rows_per_s: float | None
    left_s: float | None
    workers: tuple[WorkerStatus, ...]

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {"schema": 1, **asdict(self)}


def status_of(out: Location) -> RunStatus:
    """Look at an output; nothing is written but a probe of the clock of its file system or store.

    Raises:
        OutputError: it is no output, or cannot be read.
    """
    view = view_of(out)
    if view is None:
        raise OutputError(f"{out} has no readable {PLAN}; name the --out folder of a run")
    plan, receipts = Plan.from_json(view.plan), view.receipts
    names = [relative for relative in receipts.all() if relative in plan.inputs]
    failed = {relative for relative in receipts.failed_names() if relative in plan.inputs}.difference(names)
    settled = {*names, *failed}
    claims = {claim.relative: claim for claim in view.claims.values() if not claim.ended}
    held = {relative for relative in claims if relative in plan.inputs and relative not in settled}
    waiting = len(plan.inputs) - len(settled) - len(held)
    done = [receipt for relative in names if (receipt := receipts.read(relative)) is not None]
    rows = sum(receipt.output.rows for receipt in done)
    rate = _rate(done, plan, view.planned)
    mean = rows / len(done) if done else 0.0
    left = (waiting + len(held)) * mean / rate if rate else None
    return RunStatus(
        out=str(out),
        finished=view.finished,
        planned=len(plan.inputs),
        done=len(names),
        held=len(held),
        failed=len(failed),
        waiting=waiting,
        rows=rows,
        rows_per_s=None if rate is None else round(rate, 1),
        left_s=None if left is None else round(left, 1),
        workers=tuple(
            _worker(worker, [claim for claim in claims.values() if claim.worker == worker.token])
            for worker in view.workers
        ),
    )


def _worker(line: WorkerLine, claims: list[StandingClaim]) -> WorkerStatus:
    holds = tuple(sorted(claim.relative for claim in claims))
    batch = min((claim.silent_s for claim in claims), default=None)
    age = max(0.0, time.time() - _seconds(line.started))
    return WorkerStatus(
        line.host,
        line.pid,
        line.device,
        round(age, 1),
        round(line.silent_s, 1),
        holds,
        None if batch is None else round(batch, 1),
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
