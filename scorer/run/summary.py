"""How a run ended: the content of ``_run.json`` from the receipts, and the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from .. import __version__
from ..scoring.summary import Origin, ReusedOutput, RunSummary, ShardCounts, Speed, total
from ..storage.location import named
from ..storage.output_folder import Totals
from ..storage.plan import Plan
from ..storage.receipts import Receipt, canonical
from ..system.numbers import percent
from .executors import RunOptions
from .messages import WorkerInfo


@dataclass(frozen=True)
class Outcome:
    """How a run ended. ``summary``: of ``_run.json``. ``exit_code``: 0, or 3 for the ``reason``."""

    summary: RunSummary
    exit_code: int
    reason: str = ""


@dataclass
class RunWork:
    """Work of this run. ``reuse``: what became of the outputs of ``--reuse``. ``receipts``: of the shards that it
    scored. ``failures``: why it quarantined others, by relative path. ``skipped``: shards that were done before.
    ``scoring``: seconds from the first shard to the last receipt; ``publishing``: seconds of giving outputs their names
    and receipts."""

    reuse: tuple[ReusedOutput, ...] = ()
    receipts: list[Receipt] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    skipped: int = 0
    scoring: float = 0.0
    publishing: float = 0.0


def summary_of(totals: Totals, info: WorkerInfo, plan: Plan, work: RunWork, seconds: float) -> RunSummary:
    """The content of ``_run.json``.

    Args:
        seconds: of the whole run.
    """
    counts = total(receipt.counts for receipt in totals.receipts)
    done = {receipt.relative for receipt in totals.receipts}
    stages = Counter(write=work.publishing)  # type: ignore[call-overload]  # seconds, which add up too
    for one in work.receipts:
        stages.update(one.provenance.seconds)
    # This run's device first, the others by the number of their shards, then those of reused outputs.
    origins = {canonical(receipt.provenance.origin): receipt.provenance.origin for receipt in totals.receipts}
    shards = Counter(canonical(receipt.provenance.origin) for receipt in totals.receipts)
    ordered = [msgspec.convert(origins[text], Origin) for text in sorted(shards, key=lambda one: (-shards[one], one))]
    reused = info.reuse.origins if info.reuse is not None else ()
    return RunSummary(
        signature_line=info.signature,
        signature_parts=info.signature_parts,
        rows=counts.rows,
        labels=counts.labels,
        facts=counts.facts,
        checks=counts.checks,
        tokens=counts.tokens,
        shards=ShardCounts(len(totals.receipts), work.skipped, len(totals.failed), len(totals.missing)),
        seconds={stage: round(value, 3) for stage, value in {**stages, "total": seconds}.items()},
        computed_now=sum(one.provenance.computed for one in work.receipts),
        speed=Speed.of(total(one.counts for one in work.receipts if one.relative in done), work.scoring),
        exact=plan.budgets.exact,
        device=info.origin.device,
        bound=info.origin.bound,
        invariance_error=info.origin.invariance_error,
        origins=tuple(dict.fromkeys([info.origin, *ordered, *reused])),
        reuse=work.reuse,
        stale=tuple(totals.stale),
        random_weights=info.random_weights,
        forced=info.forced,
        versions={"d2t-scorer": __version__, **info.versions},
        # To the microsecond, because a history tells runs apart by it, and small runs follow each other fast.
        finished=datetime.now(UTC).isoformat(timespec="microseconds"),
    )


def outcome_of(summary: RunSummary, totals: Totals, work: RunWork, options: RunOptions) -> Outcome:
    """How the run ended: 0, or 3 with the reasons."""
    reasons = []
    if totals.missing:
        reasons.append(
            f"Outputs or receipts of {len(totals.missing)} shards disappeared during the run "
            f"({named(totals.missing)}). Another program may be writing to {options.out}; run again to rescore them"
        )
    if failed := len(work.failures if totals.missing else totals.failed):
        reasons.append(f"{failed} shards failed, see {options.out}/_failed/")
    if (rate := summary.counts.error_rate) > options.max_error_rate:
        reasons.append(f"{percent(rate)} of the rows have errors, more than --max-error-rate {options.max_error_rate}")
    return Outcome(summary, 3 if reasons else 0, "; ".join(reasons))
