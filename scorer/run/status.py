"""How far the run into an output is, read from the output alone: ``scorer status``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ..errors import OutputError
from ..storage.location import Location
from ..storage.lock import LockRecord
from ..storage.output_folder import OutputFolder
from ..storage.parts import check_parts, find_outputs
from ..storage.plan import PLAN, Plan
from ..storage.receipts import FailedShard, Receipt, failed_name, receipt_name
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


@dataclass(frozen=True)
class _Folder:
    """One output. ``written``: when its plan was."""

    output: OutputFolder
    plan: Plan
    written: float
    files: Mapping[str, FileInfo]

    @classmethod
    def open(cls, out: Location) -> _Folder:
        output = OutputFolder(out)
        files = output.store.list()
        plan = output.read_plan()
        if plan is None or PLAN not in files:
            raise OutputError(f"{out} has no readable {PLAN}; name the --out folder of a run")
        return cls(output, plan, files[PLAN].modified, files)

    @property
    def stale(self) -> list[str]:
        return self.output.extra_outputs(self.files, self.plan, self.plan)[1]


def status_of(outs: Sequence[Location]) -> RunStatus:
    """Look at an output, or at the parts of one; nothing is written.

    Raises:
        OutputError: one is not an output, cannot be read, or they are not parts of one run.
    """
    folders = [_Folder.open(out) for out in find_outputs(outs)]
    missing = check_parts({str(one.output.location): one.plan for one in folders}, allow_partial=True)
    done: list[Receipt] = []
    failed: list[FailedShard] = []
    rates = []
    for one in folders:
        mine = [found for found in one.output.receipts(one.plan.inputs).values() if isinstance(found, Receipt)]
        names = {receipt.relative for receipt in mine}
        failed += [
            found for name, found in one.output.failed().items() if name in one.plan.inputs and name not in names
        ]
        done += mine
        rates.append(_rate(mine, one.plan, one.written))
    planned = sum(len(one.plan.inputs) for one in folders)
    waiting, rows, rate = planned - len(done) - len(failed), sum(one.output.rows for one in done), sum(rates)
    return RunStatus(
        out=", ".join(map(str, outs)),
        finished=not missing and all(one.output.why_unfinished() is None for one in folders),
        planned=planned,
        done=len(done),
        failed=len(failed),
        waiting=waiting,
        failures=dict(sorted(Counter(one.kind for one in failed).items())),
        devices=dict(sorted(Counter(one.provenance.worker for one in done).items())),
        rows=rows,
        rows_per_s=round(rate, 1) if rate else None,
        left_s=round(waiting * rows / len(done) / rate, 1) if rate and done else None,
        missing_parts=list(missing),
        stale=[name for one in folders for name in one.stale],
        holders=[holder for one in folders if (holder := one.output.lock_holder()) is not None],
    )


def stale_files(outs: Sequence[Location]) -> list[str]:
    """Absolute paths or URIs of the outputs without an input, and of what was recorded about them.

    Raises:
        OutputError: see :func:`status_of`.
    """
    found = []
    for one in map(_Folder.open, find_outputs(outs)):
        for relative in one.stale:
            names = (relative, receipt_name(relative), failed_name(relative))
            found += [one.output.store.uri(name) for name in names if name in one.files]
    return found


def _rate(done: Sequence[Receipt], plan: Plan, planned: float) -> float:
    """Rows a second of the shards of this plan that were finished recently. ``planned``: when it was written."""
    now, digest = time.time(), plan.digest
    since = max(planned, now - RECENT_S)
    rows = sum(one.output.rows for one in done if one.plan == digest and _seconds(one.created) >= since - 1)
    return rows / max(now - since, 1.0)


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0
