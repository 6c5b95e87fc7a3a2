"""Preview of a run, without scoring: shards, the facts of a sample, shards that are done, and the time."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from ..errors import DeviceError, OutputError, count_of
from ..inference.rates import MeasuredRate, best_rate, keep_rate
from ..metric.joining import SentenceUse
from ..scoring.settings import Settings
from ..storage.input_files import find_files
from ..storage.output_folder import OutputFolder
from ..storage.receipts import FactCounts, NoReceipt, Unusable
from ..storage.shards import Shard
from ..system.codec import OpenRecord
from .driver import group_by_reason, make_plan, notes_of, refuse_unusable
from .executors import Inspected, Job, Reporter, RunOptions
from .inline import Inline
from .inspection import parse_start
from .planned_sample import SAMPLE_ROWS, Show, read_sample

TIMED_SECONDS = 3.0


class PlannedRun(OpenRecord, frozen=True, kw_only=True):
    """Preview of a run."""

    shards: int
    """Shards of the inputs."""
    rows: int
    """Rows of the inputs."""
    unreadable: dict[str, str]
    """Reasons of files that cannot be scored, by the path of the output."""
    signature: str
    """Signature of the scores in one line."""
    device: str
    """Device that would compute."""
    precision: str
    """Precision of the model."""
    done: int
    """Shards that would be skipped."""
    rows_to_score: int
    """Rows of the other shards."""
    again: dict[str, list[str]]
    """Outputs that would be scored again, by reason."""
    refused: str | None
    """Why the run would end before it writes; ``None`` if it would not."""
    sampled_rows: int
    """Rows of the sample, to which all fields up to ``sentences`` refer."""
    first_facts: list[str]
    """Facts of the first row that has any, as the model reads them."""
    first_text: str | None = None
    """Text of that row under ``--reading plain``, as the model reads it."""
    facts: FactCounts
    """Facts with a template, and by backoff."""
    checks: int
    """Number of checks."""
    pairs: int
    """Number of distinct pairs."""
    errors: dict[str, int]
    """Rows with an error, by kind."""
    sentences: list[SentenceUse]
    """Use of the sentences that say several facts."""
    pairs_per_s: float | None = None
    """Rate of the model; ``None`` where nothing is to be scored."""
    seconds: float | None = None
    """Time of all rows to score at this rate."""
    best_device: str | None = None
    """Faster device that the bundle was measured on; ``None`` without one."""
    best_seconds: float | None = None
    """Time of all rows to score on the faster device."""


def plan_run(
    options: RunOptions, settings: Settings, show: Show, reporter: Reporter, *, has_output: bool
) -> PlannedRun:
    """Preview a run; nothing is written.

    Args:
        options: options of the run.
        settings: settings of its scorer.
        show: called with each line for the user, as soon as it is known.
        reporter: receives the events of the executor.
        has_output: whether to compare with the output of the options.

    Raises:
        ScorerError: as a run.
    """
    with Inline(Job(settings, options), reporter) as inline:
        inspected = inline.inspect(find_files(options.inputs, options.form, options.delimiter))
        unreadable = {name: footer.error for name, (_, footer) in inspected.unreadable.items()}
        lines = [f"shards: {len(inspected.shards):,}, {len(unreadable)} unusable"]
        lines += [f"  {name}: {error}" for name, error in unreadable.items()]
        for line in [*lines, f"rows: {inspected.rows:,}", *notes_of(dict.fromkeys(inspected.shards, NoReceipt()))]:
            show(line)
        refuse_unusable(inspected)
        sample = read_sample(settings, inspected, show, reporter.say)
        compared = _compare(inline, inspected, has_output, show)
        timed: dict[str, Any] = {}
        if compared["rows_to_score"] and (rate := _rate(inline, inspected)):
            timed = _times(inline, rate, sample["pairs"] / sample["sampled_rows"] * compared["rows_to_score"])
        shards, rows = len(inspected.shards), inspected.rows
        return PlannedRun(shards=shards, rows=rows, unreadable=unreadable, **sample, **compared, **timed)


def _compare(inline: Inline, inspected: Inspected, has_output: bool, show: Show) -> dict[str, Any]:
    """Compare with the output: shards that are done, scored again or refused. Opens the model for its signature."""
    options = inline.job.options
    output = OutputFolder(options.out) if has_output else None
    stored = output.read_plan(show) if output is not None else None
    inline.open(stored, [])
    info = inline.info
    plan, shards = make_plan(info, inspected, options, stored, inline.job.settings.to_plan())
    todo: dict[Shard, Unusable] = dict.fromkeys(shards, NoReceipt())
    refused = None
    if output is not None:
        state = output.compare(plan, shards, stored)
        todo = dict(state.todo)
        try:
            state.refuse_replacement()
        except (OutputError, DeviceError) as error:
            refused = str(error)
    done, rows = len(shards) - len(todo), sum(shard.rows for shard in todo)
    if has_output:
        show(f"done: {count_of(done, 'shard')}; {count_of(rows, 'row')} to score")
        for line in [*notes_of(todo), *([f"refused: {refused}"] if refused else [])]:
            show(f"  {line}")
    return {
        "signature": info.signature, "device": info.origin.device.description,
        "precision": info.signature_parts["prec"],
        "done": done, "rows_to_score": rows, "again": group_by_reason(todo), "refused": refused,
    }  # fmt: skip


class _Rate(NamedTuple):
    pairs_per_s: float
    tokens_per_s: float


def _times(inline: Inline, rate: _Rate, pairs: float) -> dict[str, Any]:
    """Seconds for so many pairs, on this device and on the best one that the bundle was measured on. Keeps the rate."""
    digest, device = inline.scorer.engine.bundle.sha256, inline.info.origin.device.description
    precision = inline.scorer.engine.precision
    keep_rate(digest, MeasuredRate(device=device, precision=precision, tokens_per_s=rate.tokens_per_s))
    seconds = pairs / rate.pairs_per_s
    times: dict[str, Any] = {"pairs_per_s": round(rate.pairs_per_s, 1), "seconds": round(seconds, 3)}
    best = best_rate(digest)
    if best is not None and best.device != device and best.tokens_per_s > rate.tokens_per_s:
        times["best_device"] = best.device
        times["best_seconds"] = round(seconds * rate.tokens_per_s / best.tokens_per_s, 3)
    return times


def _rate(inline: Inline, inspected: Inspected) -> _Rate | None:
    """The rate of the model, from calls of three seconds together; ``None`` where no pair can be computed."""
    scorer, seconds, pairs, tokens = inline.scorer, 0.0, 0, 0
    sample = (parse_start(shard, inline.job.settings, SAMPLE_ROWS) for shard in inspected.sample)
    for rows in chain.from_iterable(sample):
        work = scorer.pipeline.prepare(rows).work
        for batch in work.batches:
            start = time.perf_counter()
            scorer.engine.compute(replace(work, batches=[batch]))
            seconds, pairs = seconds + time.perf_counter() - start, pairs + len(batch.pairs)
            tokens += int(work.lengths[batch.pairs].sum())
            if seconds > TIMED_SECONDS:
                return _Rate(pairs / seconds, tokens / seconds)
    return _Rate(pairs / seconds, tokens / seconds) if pairs else None
