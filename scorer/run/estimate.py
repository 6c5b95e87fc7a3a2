"""Estimate what a run would do and cost: count its rows and checks, or a sample of them, and time the model."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..inference.batches import Batch
from ..inference.engine import Work
from ..metric.inputs import find_columns
from ..metric.verdict import decide
from ..scoring.counts import total
from ..scoring.pipeline import Prepared
from ..scoring.plan import Plan
from ..scoring.reuse import Reuse, open_sources
from ..scoring.reuse.earlier import check_earlier
from ..scoring.scorer import Scorer
from ..scoring.windows import FIRST_ROWS, WINDOW_BYTES, WINDOW_ROWS
from ..status import SCORED, TOO_LONG
from ..storage import Counts, SeenOutput, ShardReader, resolve_inputs
from ..storage.counts import FactCounts, PredicateCounts
from ..storage.objects.uri import Location
from ..storage.pieces import shard_of
from ..storage.receipts import NO_RECEIPT
from ..system.input_formats import Format
from .early_check import refuse_unscorable
from .estimate_result import DiskSpace, Estimate, LengthBin, PlannedChecks, PlannedDevice, PlannedRows, PlannedShards
from .preview import Losses, again_by_reason, losses_of
from .survey import Shard, large_units, survey

SAMPLE_ROWS = 200_000
"""Above this many rows, counts are estimated from a sample of about so many."""
PROBE_SECONDS = 3.0
SHOWN_FACTS = 10
_BINS = (0, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512)


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
    inputs: list[str],
    scorer: Scorer,
    out: Location | None = None,
    reuse: Sequence[Location] = (),
    limit: int | None = None,
    form: Format = "auto",
    split_rows: int | None = None,
    delimiter: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Estimate:
    """Count what a run over ``inputs`` would do, and time the model on a sample of it. No row is scored.

    Args:
        out: where the run would write.
        reuse: earlier outputs, whose rows the run would take over.
        limit: score only the first rows.
        form: the format of the inputs.
        split_rows: the run would divide shards of more rows.
        delimiter: of CSV and TSV.
        say: is told what a run would say of its first rows.

    Raises:
        InputError, ColumnError: as a run would, also where not one of the first rows can be scored.
    """
    earlier, names = check_earlier(reuse, out), scorer.settings.columns
    with ShardReader(form=form, delimiter=delimiter, split_rows=split_rows) as reader, ExitStack() as stack:
        output = SeenOutput(out) if out is not None and _is_there(out) else None
        plan = Plan.usable(output) if output is not None else None
        before = plan.inputs if plan is not None else {}
        found = survey(resolve_inputs(inputs, form), reader, partial(find_columns, names=names), limit, before)
        refuse_unscorable(found, reader, 0.0, say)
        sources = open_sources(earlier, scorer.full_signature, names, scorer.origin)
        reasons = _why_not_done(found.usable, scorer, output, sources.digest)
        stored = output.stored(reasons) if output is not None else {}
        reused: Reuse | None = None
        if earlier:
            reused = stack.enter_context(Reuse(sources))
            reused.load()
        todo = [shard for shard in found.usable if shard.file.relative in reasons]
        losses = Losses()
        if output is not None:
            outside = output.outside_of(found.planned.keys())
            losses = losses_of(outside, found.planned, before, stored, output.receipts, todo, reader)
        rows = sum(shard.rows for shard in todo)
        sample = _sample(todo, rows, reader, scorer, reused)
    counts = total(list(sample.counts))
    scale = rows / sample.rows if sample.rows else 0.0
    padded = counts.tokens.padded * scale
    seconds = padded * sample.probe_seconds / sample.probe_tokens if sample.probe_tokens else 0.0
    return Estimate(
        signature=scorer.signature,
        shards=PlannedShards(
            usable=len(found.usable),
            skipped=len(found.usable) - len(todo),
            again=again_by_reason(reasons, stored.__contains__),
            outside=losses.outside,
            shorter=losses.shorter,
            divided=losses.divided,
            failed={name: str(error) for name, (_, error) in found.failed.items()},
            pieces=Counter(shard_of(shard.file.relative) for shard in found.usable if shard.piece is not None),
            note=large_units(todo),
        ),
        rows=PlannedRows(
            all=sum(shard.rows for shard in found.usable),
            to_score=rows,
            sampled=sample.rows,
            reused=round(counts.rows.reused * scale) if earlier else None,
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


def _is_there(out: Location) -> bool:
    """Whether there can be an output at a place."""
    return not isinstance(out, Path) or out.is_dir()


def _why_not_done(shards: list[Shard], scorer: Scorer, output: SeenOutput | None, reuse: str) -> dict[str, str]:
    """By relative path, why a run into an output would score a shard; the others it would skip."""
    if output is None:
        return {shard.file.relative: NO_RECEIPT for shard in shards}
    found = {
        s.file.relative: output.receipts.check(
            s.file.relative, s.info.identity, s.fingerprint(scorer.full_signature, reuse), s.file.uri
        )
        for s in shards
    }
    return {relative: reason for relative, reason in found.items() if isinstance(reason, str)}


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
    works: list[Work] = []
    for shard in chosen:
        windows = shard.windows(reader, max_rows=WINDOW_ROWS, max_bytes=WINDOW_BYTES, limit=each, first_rows=FIRST_ROWS)
        if reuse is not None:
            reuse.begin_shard()
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
    if triples.documents:
        return ()
    first = int(np.argmax(triples.lengths > 0)) if len(triples) else 0
    chosen = triples.ids[int(triples.offsets[first]) :][: int(min(triples.lengths[first], SHOWN_FACTS))]
    return tuple(prepared.checks.texts[prepared.checks.facts[i]] for i in chosen.tolist())


def _probe(work: Work, scorer: Scorer, sample: _Sample, seconds: float) -> None:
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
        scorer.engine.run_batches(part)
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
