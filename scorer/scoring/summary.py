"""The content of ``_run.json``: how a run went, what its output holds, and where its labels were computed.

What is measured are bounds on logits: how far a logit may move with the other pairs of a batch, with the precision or
with the provider. If no logit moves by more than d, no softmax probability moves by more than d/2, since the absolute
entries of a row of its Jacobian sum to 2p(1 - p).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ..metric import FINE
from ..storage.plan import ExactBudget
from ..storage.receipts import CheckCounts, Counts, FactCounts, PredicateCounts, RowCounts, TokenCounts
from ..system.codec import Count, Magnitude, OpenRecord
from .signature import Signed

MOST_PREDICATES = 1000
"""``by_predicate`` keeps this many; the rest is summed under :data:`OTHER_PREDICATES`."""
OTHER_PREDICATES = "(other predicates)"
ROUNDING = 1e-6
"""Probabilities are stored as float32."""


class Device(OpenRecord, frozen=True):
    """Device that computed: kind, name and threads. ``threads``: ``None`` where the runtime chooses them."""

    kind: str
    name: str
    threads: Count | None = None

    @property
    def words(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}".strip()


class Origin(OpenRecord, frozen=True):
    """Where labels were computed, and how far logits stray there; kept in ``_run.json`` as ``origins``.

    ``runtime``: version of ONNX Runtime. ``bound``: largest |Δlogit| against the checkpoint's fp32;
    ``invariance_error``: with the other pairs of a batch. ``exact``: the margin below which pairs ran again in fp32, if
    they did; it is measured on the data of each run, so a pair may come from another variant than in an earlier run.
    """

    device: Device
    runtime: str
    bound: Magnitude
    invariance_error: Magnitude
    exact: Magnitude | None = None


def allowed_difference(*logit_bounds: float) -> float:
    """The largest |Δ probability| that bounds on logits explain, rounding aside.

    Args:
        logit_bounds: how far each of the two sides may be from the value that they share.
    """
    return 0.5 * sum(logit_bounds)


def is_within(difference: float, allowed: float) -> bool:
    """Whether |Δ probability| is no more than ``allowed`` and rounding; never true of NaN."""
    return difference <= allowed + ROUNDING


class ShardCounts(OpenRecord, frozen=True, omit_defaults=True):
    """Shards that are done, those of them that this run found done (``skipped``), quarantined, and not done."""

    done: Count
    skipped: Count
    failed: Count
    missing: Count = 0


class Speed(OpenRecord, frozen=True, kw_only=True):
    """How fast a process scored. ``seconds``: from its first window to its last receipt. ``padding``, ``duplicates``:
    shares of tokens and of checks."""

    seconds: Magnitude
    rows_per_s: Magnitude
    unique_pairs_per_s: Magnitude = 0.0
    real_tokens_per_s: Magnitude = 0.0
    padding: Magnitude = 0.0
    duplicates: Magnitude = 0.0

    @classmethod
    def of(cls, counts: Counts, seconds: float) -> Speed:
        """Compute the speed from counts of shards and the seconds that they took."""
        checks, tokens, per_second = counts.checks, counts.tokens, 1 / seconds if seconds else 0.0
        return cls(
            seconds=round(seconds, 3),
            rows_per_s=round(counts.rows.all * per_second, 1),
            unique_pairs_per_s=round(checks.computed * per_second, 1),
            real_tokens_per_s=round(tokens.real * per_second, 1),
            padding=round(1 - tokens.real / tokens.padded, 4) if tokens.padded else 0.0,
            duplicates=round(1 - checks.unique / checks.all, 4) if checks.all else 0.0,
        )


class ReusedOutput(OpenRecord, frozen=True, kw_only=True):
    """Contribution of an earlier output. ``differs``: parts of its signature that are not this run's. ``keys``: rows
    that it offers, ``None`` where nothing was left to score. ``shards_refused``: those not believed, by reason."""

    out: str
    signature_equal: bool
    differs: tuple[str, ...]
    keys: Count | None
    shards_used: Count
    shards_refused: Mapping[str, Count]


class RunSummary(Signed, OpenRecord, frozen=True, kw_only=True):
    """How a run went.

    ``rows``, ``labels``, ``facts``, ``checks``, ``tokens``: the counts of all shards that are done. ``seconds``: by
    stage. ``computed_now``: pairs that this process computed. ``bound``, ``invariance_error``: the largest |Δlogit|
    against fp32 and with the other pairs of a batch, ``None`` where there is no model. ``exact``: that of ``--exact``.
    ``random_weights``, ``forced``: as the bundle says, why labels should not be trusted.
    ``origins``: where the labels were computed. ``reuse``: the earlier outputs given. ``stale``: outputs
    without an input. ``finished``: when, in UTC, as in
    ISO 8601.
    """

    schema: int = 1
    rows: RowCounts
    labels: Mapping[str, Count]
    facts: FactCounts
    checks: CheckCounts
    tokens: TokenCounts
    shards: ShardCounts
    seconds: Mapping[str, Magnitude]
    computed_now: Count
    speed: Speed
    exact: ExactBudget | None
    device: Device
    bound: Magnitude | None
    invariance_error: Magnitude | None
    origins: tuple[Origin, ...]
    reuse: tuple[ReusedOutput, ...]
    stale: tuple[str, ...] = ()
    random_weights: bool = False
    forced: tuple[str, ...] = ()
    versions: Mapping[str, str]
    finished: str

    @property
    def counts(self) -> Counts:
        """All counts."""
        return Counts(self.rows, self.labels, self.facts, self.checks, self.tokens)


def total(many: Iterable[Counts]) -> Counts:
    """The sum of counts, with every label of the metric and the most frequent predicates."""
    found = Counts.total([Counts(labels=dict.fromkeys(FINE, 0)), *many])
    return replace(found, facts=replace(found.facts, by_predicate=most_frequent(found.facts.by_predicate)))


def most_frequent(by_predicate: Mapping[str, PredicateCounts]) -> Mapping[str, PredicateCounts]:
    """The most frequent predicates, the others summed under :data:`OTHER_PREDICATES`."""
    if len(by_predicate) <= MOST_PREDICATES:
        return by_predicate
    ranked = sorted(by_predicate, key=lambda p: (p == OTHER_PREDICATES, -by_predicate[p].all, p))
    kept = {predicate: by_predicate[predicate] for predicate in ranked[: MOST_PREDICATES - 1]}
    others = [by_predicate[predicate] for predicate in ranked[MOST_PREDICATES - 1 :]]
    kept[OTHER_PREDICATES] = PredicateCounts(sum(n.template for n in others), sum(n.backoff for n in others))
    return kept
