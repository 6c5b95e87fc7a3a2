"""The signature of scores, and the content of ``_run.json``: how a run went, and where its labels were computed.

The signature is what scores depend on, in one line, as of sacreBLEU. Scores compare only under equal signatures.

``model:<name>@<sha12>|prec:|ep:|exact:|templates:<sha12>|protocol:|optional:|checks:|maxlen:|overlong:|metric:<rev>``;
after ``checks`` comes ``sentences:<splitter>`` where sentences were checked, and nothing where they were not; at the
end ``scheme:`` where the model's is not ``nli``. The protocol ``factspotter`` has no ``templates:``.

The line shows twelve digits of a digest, which two files can be made to share in minutes. So a second form of the
signature holds all parts with whole digests, as canonical JSON, and comparisons use it wherever both sides have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from ..errors import count_of
from ..metric import FINE, PLAIN_REVISION, REVISION, Options
from ..storage.receipts import (
    CheckCounts,
    Counts,
    FactCounts,
    PredicateCounts,
    RowCounts,
    Signature,
    TokenCounts,
    canonical,
)
from ..system.bounds import ExactBound
from ..system.codec import Count, Magnitude, OpenRecord

if TYPE_CHECKING:
    from ..inference.engine import Engine
    from ..metric.fact_templates import Templates

_SHOWN_DIGITS = 12
_SEPARATORS = "%|,="
_NONE = "none"
MOST_PREDICATES = 1000
"""``by_predicate`` keeps this many; the rest is summed under :data:`OTHER_PREDICATES`."""
OTHER_PREDICATES = "(other predicates)"


def signature_of(engine: Engine, templates: Templates, options: Options, *, truncate: bool) -> Signature:
    """The signature of scores by this engine, with these templates and options."""
    parts: dict[str, Any] = {
        "model": [engine.bundle.name, engine.bundle.sha256],
        "prec": engine.precision,
        "ep": engine.device.kind,
        "exact": "yes" if engine.exact else "no",
        **({} if options.protocol == "factspotter" else {"templates": templates.sha256}),
        "protocol": options.protocol,
        "optional": sorted(map(list, options.optional)),
        "checks": options.sides,
        **({"reading": f"plain-{PLAIN_REVISION}"} if options.reading == "plain" else {}),
        **_sentence_parts(options),
        "maxlen": engine.bundle.max_length,
        "overlong": "truncate" if truncate else "error",
        "metric": REVISION,
        **({"scheme": engine.bundle.scheme.kind} if engine.bundle.scheme.kind != "nli" else {}),
    }
    return signature_of_parts(parts)


def _sentence_parts(options: Options) -> dict[str, Any]:
    """The splitter, and that the worst sentence decides, too, where it does."""
    if options.worst_sentence:
        return {"sentences": "worst", "splitter": options.sentences}
    return {"sentences": options.sentences} if options.sentences else {}


def signature_of_parts(parts: Mapping[str, Any]) -> Signature:
    """A signature from its parts; distinct parts have distinct ones. They have distinct lines too, but for digests that
    share their first twelve digits: whatever could be read as a separator is percent-encoded."""
    shown = {
        **{key: _encode(str(value)) for key, value in parts.items()},
        "model": f"{_encode(parts['model'][0])}@{parts['model'][1][:_SHOWN_DIGITS]}",
        **({"templates": parts["templates"][:_SHOWN_DIGITS]} if "templates" in parts else {}),
        "optional": ",".join("=".join(map(_encode, pair)) for pair in parts["optional"]) or _NONE,
    }
    return Signature("|".join(f"{key}:{shown[key]}" for key in parts), canonical(dict(parts)))


def _encode(value: str) -> str:
    """A value as it stands in a line: separators and everything that is not printable are percent-encoded."""
    return "".join(
        quote(char, safe="", errors="surrogatepass") if char in _SEPARATORS or not char.isprintable() else char
        for char in value
    )


class ComputeDevice(OpenRecord, frozen=True):
    """Device that computed: kind, name and threads. ``threads``: ``None`` where the runtime chooses them."""

    kind: str
    name: str
    threads: Count | None = None

    @property
    def description(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}".strip()


class ComputeEnvironment(OpenRecord, frozen=True):
    """Where labels were computed, and how far logits stray there. ``runtime``: version of ONNX Runtime. ``bound``:
    largest |Δlogit| against the checkpoint's fp32; ``invariance_error``: with the other pairs of a batch. ``exact``:
    the margin below which pairs ran again in fp32, if they did; it is measured on the data of each run."""

    device: ComputeDevice
    runtime: str
    bound: Magnitude
    invariance_error: Magnitude
    exact: Magnitude | None = None


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


class ReusedOutput(OpenRecord, frozen=True, kw_only=True):
    """Contribution of an earlier output. ``differs``: parts of its signature that are not this run's. ``keys``: rows
    that it offers, ``None`` where nothing was left to score. ``shards_refused``: those not believed, by reason."""

    out: str
    signature_equal: bool
    differs: tuple[str, ...]
    keys: Count | None
    shards_used: Count
    shards_refused: Mapping[str, Count]

    @property
    def description(self) -> str:
        """A line for people: how much of it is used, and why not all."""
        keys = f" with {count_of(self.keys, 'key')}" if self.keys is not None else ""
        differs = f"; its signature differs ({', '.join(self.differs)})" if self.differs else ""
        refused = ", ".join(f"{reason} {shards:,}" for reason, shards in self.shards_refused.items())
        refused = f"; shards not used: {refused}" if refused else ""
        return f"{self.out}: {count_of(self.shards_used, 'shard')}{keys}{differs}{refused}"


class RunSummary(OpenRecord, frozen=True, kw_only=True):
    """How a run went.

    ``rows`` to ``tokens``: the counts of all shards that are done. ``seconds``: by stage. ``computed_now``: pairs that
    this process computed. ``bound``, ``invariance_error``: as of :class:`ComputeEnvironment`, ``None`` where there is
    no model. ``random_weights``, ``forced``: as the bundle says, why labels should not be trusted. ``origins``: where
    the labels were computed. ``stale``: outputs without an input. ``finished``: when, in UTC, as in ISO 8601.
    """

    signature_line: str = msgspec.field(name="signature")
    signature_parts: Mapping[str, Any]
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
    exact: ExactBound | None
    device: ComputeDevice
    bound: Magnitude | None
    invariance_error: Magnitude | None
    origins: tuple[ComputeEnvironment, ...]
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
    summed = Counts.total([Counts(labels=dict.fromkeys(FINE, 0)), *many])
    return replace(summed, facts=replace(summed.facts, by_predicate=most_frequent(summed.facts.by_predicate)))


def most_frequent(by_predicate: Mapping[str, PredicateCounts]) -> Mapping[str, PredicateCounts]:
    """The most frequent predicates, the others summed under :data:`OTHER_PREDICATES`."""
    if len(by_predicate) <= MOST_PREDICATES:
        return by_predicate
    ranked = sorted(by_predicate, key=lambda p: (p == OTHER_PREDICATES, -by_predicate[p].all, p))
    kept = {predicate: by_predicate[predicate] for predicate in ranked[: MOST_PREDICATES - 1]}
    others = [by_predicate[predicate] for predicate in ranked[MOST_PREDICATES - 1 :]]
    kept[OTHER_PREDICATES] = PredicateCounts(sum(n.template for n in others), sum(n.backoff for n in others))
    return kept
