"""Progress of a run, read from its output alone: ``scorer status``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from ..errors import OutputError
from ..storage.local_files import FileInfo
from ..storage.location import Location
from ..storage.lock import LockRecord, lock_holder
from ..storage.output_folder import OutputFolder, extra_outputs
from ..storage.receipts import FAILED, FailedShard, Receipt, receipt_name
from ..storage.run_plan import PLAN, Plan, check_parts, find_outputs
from ..system.codec import OpenRecord

RECENT_S = 600.0
"""Seconds before now in which finished shards count for the rate."""


class RunStatus(OpenRecord, frozen=True, kw_only=True):
    """A run, or several parts of one."""

    schema: int = 5
    """Version of the format."""
    out: str
    """Paths or URIs of the outputs."""
    finished: bool
    """Whether the run is complete."""
    planned: int
    """Shards of the plan."""
    done: int
    """Shards with a receipt."""
    failed: int
    """Quarantined shards."""
    waiting: int
    """Shards that are neither done nor quarantined."""
    failures: dict[str, int]
    """Quarantined shards by kind of error."""
    devices: dict[str, int]
    """Finished shards by the device that scored them."""
    rows: int
    """Rows of finished shards."""
    rows_per_s: float | None
    """Rate of all workers; ``None`` if no shard was finished recently."""
    left_s: float | None
    """Time left, estimated from the rate and the mean size of a shard; ``None`` without a rate."""
    missing_parts: list[int]
    """Numbers of the parts that are not among the outputs."""
    stale: list[str]
    """Outputs without an input."""
    holders: list[LockRecord]
    """Processes that hold the outputs now."""


def status_of(outs: Sequence[Location]) -> RunStatus:
    """Read the status of an output, or of the parts of one; nothing is written.

    Raises:
        OutputError: one is not an output, cannot be read, or they are not parts of one run.
    """
    folders = [_opened(out) for out in find_outputs(outs)]
    missing_parts = check_parts({str(output.location): plan for output, plan, _ in folders}, allow_partial=True)
    done: list[Receipt] = []
    failed: list[FailedShard] = []
    rate, finished = 0.0, not missing_parts
    for output, plan, files in folders:
        receipts = output.receipts(plan.inputs)
        finished = finished and output.why_unfinished(receipts) is None
        usable = [receipt for receipt in receipts.values() if isinstance(receipt, Receipt)]
        failed += output.quarantined(plan, receipts)
        done += usable
        rate += _rate(usable, plan, files[PLAN].modified)
    planned = sum(len(plan.inputs) for _, plan, _ in folders)
    waiting, rows = planned - len(done) - len(failed), sum(record.output.rows for record in done)
    return RunStatus(
        out=", ".join(map(str, outs)),
        finished=finished,
        planned=planned,
        done=len(done),
        failed=len(failed),
        waiting=waiting,
        failures=dict(sorted(Counter(record.kind for record in failed).items())),
        devices=dict(sorted(Counter(record.provenance.worker for record in done).items())),
        rows=rows,
        rows_per_s=round(rate, 1) if rate else None,
        left_s=round(waiting * rows / len(done) / rate, 1) if rate and done else None,
        missing_parts=list(missing_parts),
        stale=[name for output, plan, files in folders for name in extra_outputs(files, plan, plan).stale],
        holders=[holder for output, _, _ in folders if (holder := lock_holder(output.store)) is not None],
    )


def stale_files(outs: Sequence[Location]) -> list[str]:
    """Absolute paths or URIs of the outputs without an input, and of their records.

    Raises:
        OutputError: see :func:`status_of`.
    """
    uris = []
    for output, plan, files in map(_opened, find_outputs(outs)):
        for relative in extra_outputs(files, plan, plan).stale:
            names = (relative, receipt_name(relative), receipt_name(relative, FAILED))
            uris += [output.store.uri(name) for name in names if name in files]
    return uris


def _opened(out: Location) -> tuple[OutputFolder, Plan, Mapping[str, FileInfo]]:
    output = OutputFolder(out)
    files, plan = output.store.list(), output.read_plan()
    if plan is None or PLAN not in files:
        raise OutputError(f"{out} has no readable {PLAN}; name the --out folder of a run")
    return output, plan, files


def _rate(done: Sequence[Receipt], plan: Plan, started: float) -> float:
    """Rows a second of the shards of this plan that were finished recently.

    Args:
        done: receipts of finished shards.
        plan: the plan.
        started: time at which the plan was written, in seconds since 1970.
    """
    now, digest = time.time(), plan.digest
    since = max(started, now - RECENT_S)
    recent = [receipt for receipt in done if receipt.plan == digest and _seconds(receipt.created) >= since - 1]
    return sum(receipt.output.rows for receipt in recent) / max(now - since, 1.0)


def _seconds(created: str) -> float:
    with suppress(ValueError):
        return datetime.fromisoformat(created).timestamp()
    return 0.0
