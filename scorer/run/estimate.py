"""``scorer plan``: what a run would do and cost. Rows and checks are counted, or those of a sample; the model timed."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..inference.batching import Batch
from ..inference.engine import EncodedPairs
from ..metric.inputs import find_columns
from ..metric.verdict import decide
from ..scoring.counts import total
from ..scoring.pipeline import Prepared
from ..scoring.reuse import Reuse, open_sources
from ..scoring.scorer import Scorer
from ..scoring.summary import ReusedOutput
from ..scoring.windows import FIRST_ROWS, WINDOW_BYTES, WINDOW_ROWS
from ..status import SCORED, TOO_LONG
from ..storage import Counts, ShardReader
from ..storage.counts import FactCounts, PredicateCounts
from ..storage.location import Location
from ..storage.pieces import shard_of
from ..storage.receipts_old import NO_RECEIPT
from ..system.codec import OpenRecord
from .options import RunOptions
from .preview import Losses, again_by_reason, look, losses_of
from .survey import Shard, large_units
from .verified import VerifiedOutputs

SAMPLE_ROWS = 200_000
"""Above this many rows, counts are estimated from a sample of about so many."""
PROBE_SECONDS = 3.0
SHOWN_FACTS = 10
_BINS = (0, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class PlannedShards(OpenRecord, frozen=True, kw_only=True):
    """Shards that can be scored (``usable``), and those of them that are done (``skipped``).

    ``again``: relative paths of outputs that are scored again, by reason. ``outside``, ``shorter``, ``divided``: what a
    run without ``--prune`` refuses to remove or shorten, as in :class:`.preview.Losses`. ``failed``: why a shard cannot
    be scored, by relative path. ``pieces``: how many of the usable ones are pieces of a shard, by its relative path.
    ``note``: on those of very many rows.
    """

    usable: int
    skipped: int
    again: dict[str, list[str]]
    outside: list[str]
    shorter: dict[str, tuple[int, int]]
    divided: list[str]
    failed: dict[str, str]
    pieces: dict[str, int]
    note: str | None = None


class PlannedRows(OpenRecord, frozen=True, omit_defaults=True):
    """Rows of all usable shards, of those that are not done, and those that were read for the estimate.

    ``reused``: rows that earlier outputs would provide; ``None`` where none is named.
    """

    all: int
    to_score: int
    sampled: int
    reused: int | None = None


class PlannedChecks(OpenRecord, frozen=True):
    """Checks that would be asked, and distinct pairs among them."""

    all: int
    unique: int


class LengthBin(OpenRecord, frozen=True):
    """Distinct pairs that have at most ``up_to`` tokens, and more than the bin before."""

    up_to: int
    pairs: int


class DiskSpace(OpenRecord, frozen=True):
    """Bytes that the output needs, and bytes that are free where it goes; ``None`` for an object store."""

    needed: int
    free: int | None


class PlannedDevice(OpenRecord, frozen=True):
    """Where the model would run."""

    kind: str
    name: str


class Estimate(OpenRecord, frozen=True, kw_only=True):
    """What a run would do and cost.

    ``estimated``: the counts come from a sample and are scaled up by rows. ``errors``, ``notes``: rows by kind.
    ``too_long``: pairs longer than the model's maximum. ``seconds``: of the model alone, from a probe on this device.
    ``rows_in_five_minutes``: rows that the model scores in about that time, ``None`` where nothing is to be scored.
    ``first_facts``: of the first row that has facts, as sentences.
    """

    signature: str
    shards: PlannedShards
    rows: PlannedRows
    estimated: bool
    reuse: tuple[ReusedOutput, ...]
    errors: dict[str, int]
    notes: dict[str, int]
    checks: PlannedChecks
    facts: FactCounts
    token_lengths: tuple[LengthBin, ...]
    too_long: int
    disk: DiskSpace
    seconds: float
    device: PlannedDevice
    precision: str
    rows_in_five_minutes: int | None = None
    first_facts: tuple[str, ...] = ()


@dataclass
class _Sample:
    """What was seen of the rows."""

    rows: int = 0
    counts: list[Counts] = field(default_factory=list)
    lengths: list[npt.NDArray[np.int64]] = field(default_factory=list)
    too_long: int = 0
    probe_tokens: int = 0
    probe_seconds: float = 0.0
    first_facts: tuple[str, ...] = ()


def estimate_run(
    options: RunOptions, scorer: Scorer, out: Location | None, say: Callable[[str], None] = lambda line: None
) -> Estimate:
    """Count what a run over ``inputs`` would do, and time the model on a sample of it. No row is scored.

    Args:
        options: of the run; those that only matter to its writing are not looked at.
        out: where the run would write, if it is known.
        say: is told what a run would say of its first rows.

    Raises:
        ScorerError: as a run would, also where not one of the first rows can be scored.
    """
    names = scorer.settings.columns
    with look(options, out, partial(find_columns, names=names), say) as ahead, ExitStack() as stack:
        found, output = ahead.found, ahead.output
        sources = open_sources(ahead.reused, scorer.full_signature, names, scorer.origin)
        reused: Reuse | None = None
        if ahead.reused:
            reused = stack.enter_context(Reuse(sources))
            reused.load()
        reasons = dict.fromkeys((shard.file.relative for shard in found.usable), NO_RECEIPT)
        stored: Mapping[str, str] = {}
        losses = Losses()
        todo = found.usable
        if output is not None:
            verified = VerifiedOutputs(output)
            reasons = verified.why_not_done(
                found.usable, lambda shard: shard.fingerprint(scorer.full_signature, sources.digest)
            )
            stored = output.stored(reasons)
            todo = [shard for shard in found.usable if shard.file.relative in reasons]
            losses = losses_of(output, ahead.plan, found.planned, todo, stored, ahead.reader)
        rows = sum(shard.rows for shard in todo)
        sample = _sample(todo, rows, ahead.reader, scorer, reused)
    counts = total(list(sample.counts))
    scale = rows / sample.rows if sample.rows else 0.0
    padded = counts.tokens.padded * scale
    seconds = padded * sample.probe_seconds / sample.probe_tokens if sample.probe_tokens else 0.0
    return Estimate(
        signature=scorer.signature,
        shards=PlannedShards(
            usable=len(found.usable),
            skipped=len(found.usable) - len(todo),
            again=again_by_reason(reasons, stored),
            outside=losses.outside,
            shorter=losses.shorter,
            divided=losses.divided,
            failed={name: str(one.error) for name, one in found.failed.items()},
            pieces=Counter(shard_of(shard.file.relative) for shard in found.usable if shard.piece is not None),
            note=large_units(todo),
        ),
        rows=PlannedRows(
            all=sum(shard.rows for shard in found.usable),
            to_score=rows,
            sampled=sample.rows,
            reused=round(counts.rows.reused * scale) if reused is not None else None,
        ),
        estimated=sample.rows < rows,
        reuse=reused.summary() if reused is not None else sources.summary(),
        errors=_scaled(counts.rows.errors, scale),
        notes=_scaled(counts.rows.notes, scale),
        checks=PlannedChecks(round(counts.checks.all * scale), round(counts.checks.unique * scale)),
        facts=_scaled_facts(counts.facts, scale),
        token_lengths=_histogram(sample, scale, scorer.engine.bundle.max_length),
        too_long=round(sample.too_long * scale),
        disk=_disk(todo, counts.facts, scale, out),
        seconds=round(seconds, 1),
        device=PlannedDevice(scorer.engine.device.kind, scorer.engine.device.name),
        precision=scorer.engine.precision,
        first_facts=sample.first_facts,
        rows_in_five_minutes=_rounded(300 * rows / seconds) if seconds else None,
    )


def _sample(shards: list[Shard], rows: int, reader: ShardReader, scorer: Scorer, reuse: Reuse | None) -> _Sample:
    """Prepare windows as a run would: all of them, or from shards spread evenly when there are too many."""
    share = min(1.0, SAMPLE_ROWS / rows) if rows else 1.0
    if share < 1.0:
        # Whole windows, since duplicates are found within a window; from the beginnings of shards, since Parquet
        # is read from its beginning.
        count = max(1, min(len(shards), SAMPLE_ROWS // WINDOW_ROWS))
        chosen = [shards[i] for i in np.linspace(0, len(shards) - 1, count).astype(int)]
        each = -(-SAMPLE_ROWS // count)
    else:
        chosen, each = shards, None
    sample = _Sample()
    works: list[EncodedPairs] = []
    for shard in chosen:
        windows = shard.windows(reader, max_rows=WINDOW_ROWS, max_bytes=WINDOW_BYTES, limit=each, first_rows=FIRST_ROWS)
        for table in windows:
            prepared = scorer.pipeline.prepare(shard.columns.rows(table), reuse)
            work, inverse = prepared.work, prepared.work.pairs.inverse
            # No answers are known; errors and notes do not depend on them, and nothing else is used.
            unknown = np.zeros((len(prepared.checks), 3), np.float32)
            verdicts = decide(prepared.rows, prepared.checks, unknown, work.status[inverse], work.truncated[inverse])
            sample.first_facts = sample.first_facts or _first_facts(prepared)
            sample.rows += len(table)
            sample.counts.append(scorer.pipeline.count(prepared, verdicts))
            sample.lengths.append(work.lengths[work.status == SCORED])
            sample.too_long += int((work.status == TOO_LONG).sum() + work.truncated.sum())
            if len(works) < 4:
                works.append(work)
    for work in works:
        _probe(work, scorer, sample, PROBE_SECONDS / len(works))
    return sample


def _first_facts(prepared: Prepared) -> tuple[str, ...]:
    """The facts of the first row that has some, as sentences; the first :data:`SHOWN_FACTS` of them."""
    triples = prepared.rows.triples
    first = int(np.argmax(triples.lengths > 0)) if len(triples) else 0
    chosen = triples.ids[int(triples.offsets[first]) :][: int(min(triples.lengths[first], SHOWN_FACTS))]
    return tuple(prepared.checks.texts[prepared.checks.facts[i]] for i in chosen.tolist())


def _probe(work: EncodedPairs, scorer: Scorer, sample: _Sample, seconds: float) -> None:
    """Time the model on batches spread over a window's lengths, for about ``seconds``."""
    order = np.random.default_rng(0).permutation(len(work.batches))
    groups = np.array_split(order, max(1, len(order) // 64))
    began = time.perf_counter()
    for group in groups:
        batches: list[Batch] = [work.batches[i] for i in group]
        if not batches:
            return
        part = replace(work, batches=batches)
        started = time.perf_counter()
        scorer.engine.compute(part)
        sample.probe_seconds += time.perf_counter() - started
        sample.probe_tokens += part.padded_tokens
        if time.perf_counter() - began > seconds:
            return


def _histogram(sample: _Sample, scale: float, max_length: int) -> tuple[LengthBin, ...]:
    """Distinct pairs by token length."""
    edges = [edge for edge in _BINS if edge < max_length] + [max_length]
    lengths = np.concatenate(sample.lengths) if sample.lengths else np.empty(0, np.int64)
    counts, _ = np.histogram(lengths, bins=np.array(edges) + 0.5)
    return tuple(LengthBin(int(edge), round(int(n) * scale)) for edge, n in zip(edges[1:], counts, strict=True))


def _disk(shards: list[Shard], facts: FactCounts, scale: float, out: Location | None) -> DiskSpace:
    """The space needed is rough: the size of the input, plus a key for each row and a number for each fact."""
    rows = sum(shard.rows for shard in shards)
    inputs = sum(shard.info.identity.size * shard.rows // max(shard.info.rows, 1) for shard in shards)
    needed = inputs + 32 * rows + round(4 * facts.all * scale)
    if out is not None and not isinstance(out, Path):
        return DiskSpace(needed, None)
    place = (out or Path()).absolute()
    while not place.exists():
        place = place.parent
    return DiskSpace(needed, shutil.disk_usage(place).free)


def _rounded(rows: float) -> int:
    """Down to one digit that is not zero."""
    step: int = 10 ** max(len(str(int(rows))) - 1, 0)
    return max(int(rows) // step * step, 1)


def _scaled(counts: Mapping[str, int], scale: float) -> dict[str, int]:
    return {key: round(value * scale) for key, value in counts.items()}


def _scaled_facts(facts: FactCounts, scale: float) -> FactCounts:
    by_predicate = {
        name: PredicateCounts(round(one.template * scale), round(one.backoff * scale))
        for name, one in facts.by_predicate.items()
    }
    return FactCounts(
        round(facts.template * scale), round(facts.backoff * scale), by_predicate, round(facts.skipped * scale)
    )
