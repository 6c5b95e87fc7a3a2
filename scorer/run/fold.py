"""The totals of a joined run: a pure function of its plan, its receipts and the shards set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from ..errors import OutputError
from ..scoring.counts import total
from ..scoring.origin import Origin
from ..scoring.plan import Plan
from ..scoring.summary import Recheck, ReusedOutput, RunSummary, ShardCounts, Speed
from ..storage import Receipt
from ..storage.counts import Counts
from ..storage.joined import KnownReceipts, RunReceipts


def verified_receipts(
    plan: Plan, receipts: RunReceipts, known: KnownReceipts, reused: str, renew: Callable[[], None]
) -> tuple[list[Receipt], list[str]]:
    """The receipts of a plan that agree with it and with their outputs, and the paths of those that do not.

    In a folder, every output is hashed that this process has not written itself.

    Args:
        reused: digest of the reused outputs, empty if there are none.
        renew: called after each output.
    """
    whole = {"signature": plan.signature.line, "signature_parts": plan.signature.parts, "rows": None, "reuse": reused}
    found, wrong = [], []
    for relative in receipts.all():
        planned = plan.inputs.get(relative)
        if planned is None:
            continue
        receipt = known.receipt(relative)
        if receipt is None:
            receipt = receipts.read(relative)
            renew()
            wanted = {**whole, "piece": planned.piece.to_json() if planned.piece is not None else None}
            agrees = receipt is not None and receipt.fingerprint.includes(wanted)
            if receipt is None or not agrees or receipt.input.identity != planned.identity:
                wrong.append(relative)
                continue
            if not receipts.is_intact(receipt):
                wrong.append(relative)
                continue
        found.append(receipt)
    return found, wrong


def fold(
    plan: Plan,
    receipts: Sequence[Receipt],
    failed: int,
    *,
    here: Origin,
    reuse: tuple[ReusedOutput, ...],
    reused_origins: Sequence[Origin],
    recheck: Callable[[Counts], Recheck],
    versions: Mapping[str, str],
) -> RunSummary:
    """The content of ``_run.json``.

    Args:
        failed: shards set aside.
        here: where this worker computes; what a plain run had done before is ascribed to it.
        reuse, reused_origins, recheck: of the earlier outputs that labels were taken from.
    """
    counts = total(receipt.counts for receipt in receipts)
    seconds = sum(receipt.maker.seconds for receipt in receipts if receipt.maker is not None)
    origins = _origins(receipts, here)
    origins += [one for one in reused_origins if one not in origins]
    workers = Counter(receipt.maker.worker for receipt in receipts if receipt.maker is not None)
    return RunSummary(
        signature=plan.signature,
        counts=counts,
        shards=ShardCounts(len(receipts), sum(receipt.plan != plan.digest for receipt in receipts), failed),
        seconds={"total": round(seconds, 3)},
        computed_now=sum(receipt.maker.computed for receipt in receipts if receipt.maker is not None),
        speed=_speed(receipts, seconds),
        exact=plan.budgets.exact,
        device=origins[0].device,
        bound=max(origin.bound for origin in origins),
        company_bound=max(origin.company_bound for origin in origins),
        origins=tuple(origins),
        reuse=reuse,
        recheck=recheck(counts),
        versions=versions,
        finished=datetime.now(UTC).isoformat(timespec="microseconds"),
        plan=plan.digest,
        workers=dict(sorted(workers.items())),
    )


def _origins(receipts: Sequence[Receipt], here: Origin) -> list[Origin]:
    """Where the shards were computed, the most frequent place first."""
    texts = Counter(receipt.maker.origin for receipt in receipts if receipt.maker is not None)
    makers = {receipt.maker.origin: receipt.maker for receipt in receipts if receipt.maker is not None}
    found = []
    for text, _ in sorted(texts.items(), key=lambda item: (-item[1], item[0])):
        try:
            found.append(Origin.from_json(makers[text].origin_fields()))
        except OutputError:
            continue  # of another version
    if not found or any(receipt.maker is None for receipt in receipts):
        found += [here] if here not in found else []
    return found


def _speed(receipts: Sequence[Receipt], seconds: float) -> Speed:
    """Rates of one worker on average: the work of all, by the sum of their seconds."""
    counts = total(receipt.counts for receipt in receipts if receipt.maker is not None)
    checks, tokens = counts.checks, counts.tokens

    def rate(count: float) -> float:
        return round(count / seconds, 1) if seconds else 0.0

    return Speed(
        seconds=round(seconds, 3),
        rows_per_s=rate(counts.rows.all),
        unique_pairs_per_s=rate(checks.computed),
        real_tokens_per_s=rate(tokens.real),
        padding=round(1 - tokens.real / tokens.padded, 4) if tokens.padded else 0.0,
        duplicates=round(1 - checks.unique / checks.all, 4) if checks.all else 0.0,
    )
