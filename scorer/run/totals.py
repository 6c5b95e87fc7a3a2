"""The totals of a run: the receipts that agree with plan and output, folded into ``_run.json`` and an exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata

import msgspec

from .. import __version__
from ..scoring.counts import total
from ..scoring.origin import Origin
from ..scoring.plan import Plan
from ..scoring.row_scorer import Report
from ..scoring.summary import ReusedOutput, RunSummary, ShardCounts
from ..stats.percentages import percent
from ..storage import Counts, Fingerprint, Receipt, Receipts
from ..storage.canonical import canonical
from .messages import Facts
from .options import Outcome, Reporter, RunOptions
from .preview import named
from .survey import Shard, Survey
from .verified import VerifiedOutputs


@dataclass
class Totals:
    """The planned shards. ``receipts``: of those done; ``failed``, ``missing``: relative paths of the others."""

    receipts: list[Receipt] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@dataclass
class Work:
    """What this run did. ``reuse``: what became of the outputs of ``--reuse``. ``receipts``: of the shards that it
    scored. ``failures``: why it quarantined others, by relative path. ``skipped``: shards that were done before.
    ``scoring``: seconds from the first shard to the last receipt; ``publishing``: seconds of giving outputs their names
    and receipts."""

    reuse: tuple[ReusedOutput, ...]
    receipts: list[Receipt] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    skipped: int = 0
    scoring: float = 0.0
    publishing: float = 0.0


def add_up(
    found: Survey, receipts: Receipts, fingerprint: Callable[[Shard], Fingerprint], verified: VerifiedOutputs
) -> Totals:
    """Look at every planned shard.

    Args:
        fingerprint: what the receipt of a shard must say.
        verified: outputs that this process wrote or hashed. Others, and those that were replaced since, are checked
            here, but only if all receipts exist: as long as one is missing, nothing is finished.
    """
    notes = receipts.failed()
    totals = Totals()
    unseen: list[Shard] = []
    for shard in found.usable:
        relative = shard.file.relative
        if (known := verified.receipt(relative)) is not None:
            totals.receipts.append(known)
            continue
        identity, receipt = shard.info.identity, receipts.read(relative)
        if receipt and receipt.fingerprint == fingerprint(shard) and receipt.input.identity == identity:
            totals.receipts.append(receipt)
            unseen.append(shard)
        elif relative in notes and notes[relative].identity == identity:
            totals.failed.append(relative)
        else:
            totals.missing.append(relative)
    for relative in found.failed:
        (totals.failed if relative in notes else totals.missing).append(relative)
    if not totals.missing:
        for shard in unseen:
            if verified.check(shard, fingerprint(shard)) is not None:
                totals.missing.append(shard.file.relative)
        missing = set(totals.missing)
        totals.receipts = [r for r in totals.receipts if r.relative not in missing]
    return totals


def summary_of(
    totals: Totals, facts: Facts, plan: Plan, work: Work, report: Callable[[Counts, float], Report], seconds: float
) -> RunSummary:
    """The content of ``_run.json``.

    Args:
        report: what the executor says of its speed, from the counts of shards and the seconds of scoring.
        seconds: of the whole run.
    """
    counts = total(receipt.counts for receipt in totals.receipts)
    done = {receipt.relative for receipt in totals.receipts}
    found = report(total(one.counts for one in work.receipts if one.relative in done), work.scoring)
    stages = {"write": work.publishing}
    for one in work.receipts:
        for stage, value in one.maker.seconds.items():
            stages[stage] = stages.get(stage, 0.0) + value
    stages["total"] = seconds
    origins = _origins(totals.receipts, facts.origin)
    origins += [one for one in (facts.reuse.origins if facts.reuse is not None else ()) if one not in origins]
    return RunSummary(
        signature_line=facts.signature.line,
        signature_parts=facts.signature.parts,
        rows=counts.rows,
        labels=counts.labels,
        facts=counts.facts,
        checks=counts.checks,
        tokens=counts.tokens,
        shards=ShardCounts(len(totals.receipts), work.skipped, len(totals.failed), len(totals.missing)),
        seconds={stage: round(value, 3) for stage, value in stages.items()},
        computed_now=sum(one.maker.computed for one in work.receipts),
        speed=found.speed,
        exact=found.exact or plan.budgets.exact,
        device=facts.origin.device,
        bound=found.bound,
        invariance_error=found.invariance_error,
        origins=tuple(origins),
        reuse=work.reuse,
        random_weights=facts.caveats.random_weights,
        forced=facts.caveats.forced,
        versions=versions(facts.versions),
        # To the microsecond, because a history tells runs apart by it, and small runs follow each other fast.
        finished=datetime.now(UTC).isoformat(timespec="microseconds"),
    )


def versions(packages: Mapping[str, str] | None = None) -> dict[str, str]:
    """Versions of what a score passes through. ``packages``: those of the row scorer."""
    own = {name: metadata.version(name) for name in ("numpy", "pyarrow")}
    return {"d2t-scorer": __version__, **own, **(packages or {})}


def _origins(receipts: Sequence[Receipt], here: Origin) -> list[Origin]:
    """Where the shards were computed: this run's device first, then the others by the number of their shards."""
    makers = {canonical(receipt.maker.origin): receipt.maker.origin for receipt in receipts}
    texts = Counter(canonical(receipt.maker.origin) for receipt in receipts)
    found = [here]
    for text, _ in sorted(texts.items(), key=lambda item: (-item[1], item[0])):
        origin = msgspec.convert(makers[text], Origin)
        if origin not in found:
            found.append(origin)
    return found


def outcome_of(
    summary: RunSummary,
    totals: Totals,
    failures: Mapping[str, str],
    options: RunOptions,
    mine: Callable[[str], bool],
    reporter: Reporter,
) -> Outcome:
    """How the run ended: 0, or 3 with the reasons.

    Args:
        failures: shards that this process quarantined.
        mine: whether a shard is for this process.
    """
    missing = [name for name in totals.missing if mine(name)]
    if others := len(totals.missing) - len(missing):
        reporter.say(f"other parts will score {others} shards; the last one writes _SUCCESS")
    reasons = []
    if missing:
        reasons.append(
            f"{len(missing)} shards lost their output or receipt during the run ({named(missing)}): something else "
            "writes into the folder; the same command scores them again"
        )
    failed = failures if totals.missing else totals.failed
    if failed:
        reasons.append(f"{len(failed)} shards failed, see {options.out}/_failed/")
    counts = summary.counts
    if totals.missing:
        counts = total(receipt.counts for receipt in totals.receipts if mine(receipt.relative))
    if (rate := counts.error_rate) > options.max_error_rate:
        reasons.append(f"{percent(rate)} of the rows have errors, more than --max-error-rate {options.max_error_rate}")
    return Outcome(summary, 3 if reasons else 0, "; ".join(reasons))
