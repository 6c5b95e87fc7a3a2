"""The signature of scores, and the content of ``_run.json``: totals of a run, and the devices of its labels.

The signature is one line with everything that scores depend on, as in sacreBLEU. Scores compare only under equal
signatures.

``model:<name>@<sha12>|prec:|ep:|exact:|templates:<sha12>|protocol:|optional:|checks:|maxlen:|overlong:|metric:<rev>``;
after ``checks`` comes ``sentences:<splitter>`` where sentences were checked, and nothing where they were not; at the
end ``scheme:`` where the model's is not ``nli``. The protocol ``factspotter`` has no ``templates:``.

The line shows twelve digits of a digest, and two files with the same twelve digits can be constructed in minutes. So a
second form of the signature holds all parts with whole digests, as canonical JSON, and comparisons use it wherever both
sides have it.
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
    """The splitter, and whether the worst sentence decides, too."""
    if options.worst_sentence:
        return {"sentences": "worst", "splitter": options.sentences}
    return {"sentences": options.sentences} if options.sentences else {}


def signature_of_parts(parts: Mapping[str, Any]) -> Signature:
    """A signature from its parts. Distinct parts have distinct signatures, and distinct lines unless two digests share
    their first twelve digits: separators within a part are percent-encoded."""
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
    """A device that computed labels."""

    kind: str
    name: str
    threads: Count | None = None
    """Threads on the CPU; ``None`` where the runtime chooses them."""

    @property
    def description(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}".strip()


class ComputeEnvironment(OpenRecord, frozen=True):
    """The device and runtime of labels, and the largest differences of logits that were measured there."""

    device: ComputeDevice
    runtime: str
    """Version of ONNX Runtime."""
    bound: Magnitude
    """Largest |Δlogit| between the variant and the checkpoint's fp32."""
    invariance_error: Magnitude
    """Largest |Δlogit| between a pair alone and the same pair in a batch with others."""
    exact: Magnitude | None = None
    """Margin below which pairs ran again in fp32, measured on the data of each run; ``None`` without ``exact``."""


class ShardCounts(OpenRecord, frozen=True, omit_defaults=True):
    """Numbers of shards by state."""

    done: Count
    """Shards with an output, those of earlier runs included."""
    skipped: Count
    """Shards that were done before this run."""
    failed: Count
    """Quarantined shards."""
    missing: Count = 0
    """Shards that are not done."""


class Speed(OpenRecord, frozen=True, kw_only=True):
    """The rates of a process."""

    seconds: Magnitude
    """Seconds from the first window to the last receipt."""
    rows_per_s: Magnitude
    unique_pairs_per_s: Magnitude = 0.0
    real_tokens_per_s: Magnitude = 0.0
    padding: Magnitude = 0.0
    """Share of the computed tokens that are padding."""
    duplicates: Magnitude = 0.0
    """Share of the checks with the pair of another check."""


class ReusedOutput(OpenRecord, frozen=True, kw_only=True):
    """Contribution of an earlier output."""

    out: str
    signature_equal: bool
    differs: tuple[str, ...]
    """Parts of the signature that differ from this run's."""
    keys: Count | None
    """Rows that it has labels of; ``None`` where no row had to be scored."""
    shards_used: Count
    shards_refused: Mapping[str, Count]
    """Shards that are not used, by reason."""

    @property
    def description(self) -> str:
        """A line for the console: the shards that are used, and the reasons for those that are not."""
        keys = f" with {count_of(self.keys, 'key')}" if self.keys is not None else ""
        differs = f"; its signature differs ({', '.join(self.differs)})" if self.differs else ""
        refused = ", ".join(f"{reason} {shards:,}" for reason, shards in self.shards_refused.items())
        refused = f"; shards not used: {refused}" if refused else ""
        return f"{self.out}: {count_of(self.shards_used, 'shard')}{keys}{differs}{refused}"


class RunSummary(OpenRecord, frozen=True, kw_only=True):
    """The totals of a run: ``_run.json``. The counts ``rows`` to ``tokens`` are those of all shards that are done."""

    signature_line: str = msgspec.field(name="signature")
    signature_parts: Mapping[str, Any]
    schema: int = 1
    rows: RowCounts
    labels: Mapping[str, Count]
    """Number of rows by label (``fine``)."""
    facts: FactCounts
    checks: CheckCounts
    tokens: TokenCounts
    shards: ShardCounts
    seconds: Mapping[str, Magnitude]
    """Busy seconds by stage."""
    computed_now: Count
    """Pairs that this process computed."""
    speed: Speed
    exact: ExactBound | None
    device: ComputeDevice
    bound: Magnitude | None
    """As in :class:`ComputeEnvironment`; ``None`` without a model."""
    invariance_error: Magnitude | None
    """As in :class:`ComputeEnvironment`; ``None`` without a model."""
    origins: tuple[ComputeEnvironment, ...]
    """Devices and runtimes that computed the labels."""
    reuse: tuple[ReusedOutput, ...]
    stale: tuple[str, ...] = ()
    """Outputs without an input."""
    random_weights: bool = False
    """Whether the bundle has random weights, so that its labels mean nothing."""
    forced: tuple[str, ...] = ()
    """Reasons for which the export of the bundle was refused until ``--force`` overrode them."""
    versions: Mapping[str, str]
    finished: str
    """Time of the end, UTC, ISO 8601."""

    @property
    def counts(self) -> Counts:
        """All counts."""
        return Counts(self.rows, self.labels, self.facts, self.checks, self.tokens)


def total(counts: Iterable[Counts]) -> Counts:
    """The sum of counts, with every label of the metric and the most frequent predicates."""
    summed = Counts.total([Counts(labels=dict.fromkeys(FINE, 0)), *counts])
    return replace(summed, facts=replace(summed.facts, by_predicate=most_frequent(summed.facts.by_predicate)))


def most_frequent(by_predicate: Mapping[str, PredicateCounts]) -> Mapping[str, PredicateCounts]:
    """The most frequent predicates, the others summed under :data:`OTHER_PREDICATES`."""
    if len(by_predicate) <= MOST_PREDICATES:
        return by_predicate
    ranked = sorted(by_predicate, key=lambda p: (p == OTHER_PREDICATES, -by_predicate[p].all, p))
    frequent = {predicate: by_predicate[predicate] for predicate in ranked[: MOST_PREDICATES - 1]}
    rare = [by_predicate[predicate] for predicate in ranked[MOST_PREDICATES - 1 :]]
    frequent[OTHER_PREDICATES] = PredicateCounts(sum(n.template for n in rare), sum(n.backoff for n in rare))
    return frequent
