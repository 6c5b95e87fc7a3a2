"""Progress of a run, read from its output alone: ``scorer status``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from ..errors import OutputError
from ..storage.location import Location
from ..storage.lock import LockRecord, lock_holder
from ..storage.output_folder import OutputFolder, extra_outputs
from ..storage.run_plan import PLAN, Plan, check_parts, find_outputs
from ..storage.receipts import FAILED, FailedShard, Receipt, receipt_name
from ..storage.store import FileInfo
from ..system.codec import OpenRecord

RECENT_S = 600.0
"""The rate is that of the shards finished in so many seconds."""


class RunStatus(OpenRecord, frozen=True, kw_only=True):
    """A run, or all parts of one that were given.

    ``planned``, ``done``, ``failed``, ``waiting``: shards. ``failures``: quarantined shards by kind of error.
    ``devices``: finished shards by the device that scored them. ``rows``: in finished shards. ``rows_per_s``: of all
    workers, ``None`` if no shard was finished recently. ``left_s``: estimated from the rate and the mean size of a
    shard. ``finished``: whether the run is complete. ``missing_parts``: numbers of the parts that were not given.
    ``stale``: outputs without an input. ``holders``: the processes that hold the outputs now.
    """

    schema: int = 5
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
    missing_parts: list[int]
    stale: list[str]
    holders: list[LockRecord]


def status_of(outs: Sequence[Location]) -> RunStatus:
    """Look at an output, or at the parts of one; nothing is written.

    Raises:
        OutputError: one is not an output, cannot be read, or they are not parts of one run.
    """
    folders = [_opened(out) for out in find_outputs(outs)]
    missing = check_parts({str(output.location): plan for output, plan, _ in folders}, allow_partial=True)
    done: list[Receipt] = []
    failed: list[FailedShard] = []
    rate, finished = 0.0, not missing
    for output, plan, files in folders:
        receipts = output.receipts(plan.inputs)
        finished = finished and output.why_unfinished(receipts) is None
        mine = [receipt for receipt in receipts.values() if isinstance(receipt, Receipt)]
        failed += output.quarantined(plan, receipts)
        done += mine
        rate += _rate(mine, plan, files[PLAN].modified)
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
        missing_parts=list(missing),
        stale=[name for output, plan, files in folders for name in extra_outputs(files, plan, plan).stale],
        holders=[holder for output, _, _ in folders if (holder := lock_holder(output.store)) is not None],
    )


def stale_files(outs: Sequence[Location]) -> list[str]:
    """Absolute paths or URIs of the outputs without an input, and of what was recorded about them.

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


def _rate(done: Sequence[Receipt], plan: Plan, planned: float) -> float:
    """Rows a second of the shards of this plan that were finished recently. ``planned``: when it was written."""
    now, digest = time.time(), plan.digest
    since = max(planned, now - RECENT_S)
    recent = [receipt for receipt in done if receipt.plan == digest and _seconds(receipt.created) >= since - 1]
    return sum(receipt.output.rows for receipt in recent) / max(now - since, 1.0)


def _seconds(created: str) -> float:
    with suppress(ValueError):
        return datetime.fromisoformat(created).timestamp()
    return 0.0
