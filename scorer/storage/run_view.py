"""What can be seen of a run in its output, which need not be held: for ``scorer status``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..system.json_fields import Fields
from .claims import StandingClaim, standing_claims
from .finished import PLAN, is_finished
from .joined import RunReceipts
from .objects.uri import Location
from .objects.view import StoreView
from .plan import OutputFolder
from .receipts import Receipts
from .workers import WorkerLine, workers


@dataclass(frozen=True)
class RunView:
    """A run. ``plan``: fields of its plan; ``planned``: when that was written, in seconds since 1970. ``claims``: by
    :func:`.claims.key`. ``workers``: those that give signs of life. ``finished``: whether all shards are done."""

    plan: Fields
    planned: float
    receipts: RunReceipts
    claims: Mapping[str, StandingClaim]
    workers: tuple[WorkerLine, ...]
    finished: bool


def view_of(out: Location) -> RunView | None:
    """Look at an output; nothing is written but a probe of the clock. ``None`` where there is no plan.

    Raises:
        OutputError: it cannot be read, or a newer version wrote it.
    """
    if not isinstance(out, Path):
        view = StoreView(out)
        plan = view.plan
        if plan is None:
            return None
        return RunView(plan[0], plan[1], view.receipts, view.claims, view.workers, view.finished)
    fields = OutputFolder.peek_plan(out) if out.is_dir() else None
    if fields is None:
        return None
    planned = (out / PLAN).stat().st_mtime
    return RunView(fields, planned, Receipts(out), standing_claims(out), tuple(workers(out)), is_finished(out))
