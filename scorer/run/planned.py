"""What a run would do, without scoring: shards, the facts of a sample, what is done already, and the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as with_batches
from functools import partial

import numpy as np
from msgspec import field
from msgspec.structs import replace

from ..errors import DeviceError, OutputError, ShardError
from ..metric.checks import build_checks
from ..metric.facts import Rows
from ..scoring.counts import count_facts
from ..scoring.scorer import load_metric
from ..scoring.settings import Settings
from ..storage.counts import FactCounts, RowCounts
from ..storage.inputs import find_files
from ..storage.output_folder import OutputFolder
from ..storage.plan import Budgets
from ..storage.receipts import NO_RECEIPT
from ..storage.shards import WINDOW_BYTES, Shard, limit_rows, read_windows
from ..system.codec import OpenRecord
from .driver import make_plan
from .executors import Inspected, Job, sample_shards
from .inline import Inline
from .options import RunOptions
from .preview import group_by_reason, large_shards_note, rescore_messages
from .shard_scorer import columns_of

SAMPLE_ROWS = 1024
"""Rows that are read of each of a few shards."""
TIMED_SECONDS = 3.0
Show = Callable[[str], None]


class PlannedRun(OpenRecord, frozen=True, kw_only=True):
    """What a run would do.

    ``shards``, ``rows``: of the inputs; ``unreadable``: why a file cannot be scored, by the path of its output.
    ``done``: shards that would be skipped; ``again``: outputs that would be scored again, by reason; ``refused``: why
    the run would end before it writes. ``sampled_rows``: those that the following is about: ``first_facts``, as the
    model reads them, ``facts``, ``checks``, distinct ``pairs``, and ``errors`` by kind. ``pairs_per_s``: the rate of
    the model, ``seconds``: what all rows to score take at this rate; ``None`` where nothing is to be scored.
    """

    shards: int
    rows: int
    unreadable: dict[str, str]
    note: str | None
    signature: str = ""
    device: str = ""
    precision: str = ""
    done: int = 0
    rows_to_score: int = 0
    again: dict[str, list[str]] = field(default_factory=dict)
    refused: str | None = None
    sampled_rows: int = 0
    first_facts: list[str] = field(default_factory=list)
    facts: FactCounts = field(default_factory=FactCounts)
    checks: int = 0
    pairs: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    pairs_per_s: float | None = None
    seconds: float | None = None


@dataclass
class _Quiet:
    """A reporter that only passes on what people should know."""

    say: Show

    def started(self, shards: int, rows: int, skipped: int) -> None: ...

    def progress(self, rows: float, pairs: int) -> None: ...

    def shard_failed(self, relative: str, reason: str) -> None: ...


def plan_run(options: RunOptions, settings: Settings, show: Show, say: Show, *, has_output: bool) -> PlannedRun:
    """Find out what a run would do.

    Args:
        show: is told of each thing when it is known.
        say: is told what people should know besides.
        has_output: compare with the output of the options.

    Raises:
        ScorerError: as a run.
    """
    with Inline(Job(settings, options), _Quiet(say)) as inline:
        found = inline.inspect(find_files(options.inputs, options.form, options.delimiter))
        plan = PlannedRun(
            shards=len(found.shards),
            rows=found.rows,
            unreadable={name: footer.error for name, (_, footer) in found.unreadable.items()},
            note=large_shards_note(found.shards),
        )
        show(f"shards: {plan.shards:,}, {len(plan.unreadable)} unusable")
        for name, error in plan.unreadable.items():
            show(f"  {name}: {error}")
        show(f"rows: {plan.rows:,}" + (f"; {plan.note}" if plan.note else ""))
        plan = _sampled(plan, settings, sample_shards(found.shards), show, say)
        plan = _compared(plan, inline, found, has_output, show)
        return _timed(plan, inline, sample_shards(found.shards))


def _sampled(plan: PlannedRun, settings: Settings, shards: Sequence[Shard], show: Show, say: Show) -> PlannedRun:
    """Facts, checks and errors of the first rows of a few shards; no model is opened for them."""
    templates, options = load_metric(settings, say)
    rows = checks = pairs = 0
    facts, errors, first = FactCounts(), RowCounts(), list[str]()
    for window in _windows(settings, shards):
        asked = build_checks(window, templates, options)
        if not first and len(window.triples.ids):
            first = [asked.texts[asked.facts[i]] for i in window.triples.ids[: window.triples.offsets[1]]]
            show("facts of the first row:")
            for fact in first:
                show(f"  {fact}")
        rows, checks = rows + len(window), checks + len(asked)
        pairs += len(np.unique(np.stack([asked.premise, asked.hypothesis]), axis=1).T)
        facts = FactCounts.total([facts, count_facts(window, asked.backoff)])
        kinds = [error.partition(":")[0] for error in window.errors.values()]
        errors = RowCounts.total([errors, RowCounts(errors={kind: kinds.count(kind) for kind in kinds})])
    backoff = f", {facts.backoff / facts.all:.1%} of them by backoff (no template)" if facts.all else ""
    show(f"sample of {rows:,} rows: {facts.all:,} facts{backoff}; {checks:,} checks, {pairs:,} distinct pairs")
    if facts.skipped:
        show(f"  attributes without a value: {facts.skipped:,}")
    for kind, number in errors.errors.items():
        show(f"  {kind}: {number:,} rows")
    return replace(
        plan, sampled_rows=rows, first_facts=first, facts=facts, checks=checks, pairs=pairs, errors=dict(errors.errors)
    )


def _windows(settings: Settings, shards: Sequence[Shard]) -> Iterator[Rows]:
    """The first rows of shards, parsed; none of those that cannot be read, which the run will quarantine."""
    for shard in shards:
        with suppress(ShardError):
            find = partial(columns_of, settings=settings)
            start = limit_rows([shard], SAMPLE_ROWS)[0]
            for columns, table in read_windows(start, find, max_rows=SAMPLE_ROWS, max_bytes=WINDOW_BYTES):
                yield columns.rows(table)


def _compared(plan: PlannedRun, inline: Inline, found: Inspected, has_output: bool, show: Show) -> PlannedRun:
    """What is done, would be scored again, or would be refused. Opens the model, for the signature."""
    options = inline.job.options
    output = OutputFolder(options.out) if has_output else None
    stored = output.read_plan(show) if output is not None else None
    info = inline.open(stored.budgets if stored is not None else Budgets(), None, [])
    planned, shards = make_plan(info, found, options, stored, inline.job.settings.to_plan())
    todo, refused = dict.fromkeys(shards, NO_RECEIPT), None
    if output is not None:
        todo = output.unfinished(shards, planned)
        try:
            output.refuse_replacement(stored, planned, shards, todo)
        except (OutputError, DeviceError) as error:
            refused = str(error)
    plan = replace(
        plan,
        signature=info.signature,
        device=info.device,
        precision=str(info.signature_parts["prec"]),
        done=len(shards) - len(todo),
        rows_to_score=sum(shard.rows for shard in todo),
        again=group_by_reason(todo),
        refused=refused,
    )
    if has_output:
        show(f"done: {plan.done:,} shards; {plan.rows_to_score:,} rows to score")
        for line in [*rescore_messages(plan.again), *([f"refused: {refused}"] if refused else [])]:
            show(f"  {line}")
    return plan


def _timed(plan: PlannedRun, inline: Inline, shards: Sequence[Shard]) -> PlannedRun:
    """The time of the model, from calls of three seconds together."""
    scorer = inline.scorer
    seconds, pairs = 0.0, 0
    for rows in _windows(inline.job.settings, shards if plan.rows_to_score else []):
        work = scorer.pipeline.prepare(rows).work
        for batch in work.batches:
            began = time.perf_counter()
            scorer.engine.compute(with_batches(work, batches=[batch]))
            seconds, pairs = seconds + time.perf_counter() - began, pairs + len(batch.pairs)
            if seconds > TIMED_SECONDS:
                break
        if seconds > TIMED_SECONDS:
            break
    if not pairs:
        return plan
    rate = pairs / seconds
    needed = plan.pairs / plan.sampled_rows * plan.rows_to_score / rate
    return replace(plan, pairs_per_s=round(rate, 1), seconds=round(needed, 3))
