"""A run: shards in, scored shards out, resumable at any moment.

One process owns OUT: it holds the lock, writes the plan, hands shards to an executor, and believes outputs by writing
receipts. Nobody else writes receipts, so that only outputs count that this process saw complete.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import InputError, count_of
from ..scoring.summary import ComputeEnvironment, RunSummary, ShardCounts, Speed, total
from ..storage.input_files import check_apart, find_files
from ..storage.location import named
from ..storage.output_folder import OutputFolder
from ..storage.output_writer import OutputWriter, Totals, lock_output
from ..storage.receipts import RECEIPTS, InputRecord, NoReceipt, Receipt, Unusable, canonical
from ..storage.run_plan import Part, Plan, belongs_to_part, shards_digest
from ..storage.shards import FIRST_ROWS, WINDOW_BYTES, WINDOW_ROWS, Shard
from ..system.codec import encode, program_version
from ..system.numbers import percent
from ..system.waiting import check_signals, in_thread, result_of, signals_raise
from .executors import Begin, Executor, Inspected, Reporter, RunOptions, ShardResult, WorkerInfo

LARGE_ROWS = 2_000_000
"""Rows of a shard above which a run names ``--split-rows``."""
WINDOWS: dict[str, Any] = {"window_rows": WINDOW_ROWS, "window_bytes": WINDOW_BYTES, "first_rows": FIRST_ROWS}
"""Bounds of the windows of a new plan; a run that resumes keeps those of its plan."""
PUBLISHED_AT_ONCE = 8
_CLOSE_SECONDS = 5.0


@dataclass(frozen=True)
class Outcome:
    """The end of a run."""

    summary: RunSummary
    """Content of ``_run.json``."""
    exit_code: int
    """0, or 3 for the reason."""
    reason: str = ""
    """Why shards failed or too many rows have errors; empty for 0."""


@dataclass
class RunWork:
    """Work of this run."""

    receipts: list[Receipt] = field(default_factory=list)
    """Receipts of the shards that it scored."""
    failures: dict[str, str] = field(default_factory=dict)
    """Reasons of the shards that it quarantined, by path."""
    skipped: int = 0
    """Shards that were done before."""
    scoring: float = 0.0
    """Seconds from the first shard to the last receipt."""
    publishing: float = 0.0
    """Seconds of giving outputs their names and receipts."""


def run(executor: Executor, reporter: Reporter) -> Outcome:
    """Score all shards that are not done; after an interrupt the same call resumes.

    Raises:
        ScorerError: nothing can be scored.
    """
    started, options = time.perf_counter(), executor.job.options
    with signals_raise():
        files = find_files(options.inputs, options.form, options.delimiter)
        check_apart(options.inputs, files, options.out)
        if options.reuse:
            from .reuse import find_earlier

            find_earlier(options.reuse, options.out)
        with lock_output(options.out, reporter.say) as output, executor:
            stored = output.read_plan(reporter.say)
            inspected = executor.inspect(files)
            refuse_unusable(inspected)
            resumed = plan_to_resume(stored, output, options) if stored is not None else None
            executor.open(resumed, inspected.sample)
            plan, shards = make_plan(executor.info, inspected, options, stored, executor.job.settings.to_plan())
            state = output.compare(plan, shards, stored, rescore=options.rescore)
            state.refuse_replacement(rescore=options.rescore, allow_stale=options.allow_stale)
            plan, todo = state.plan, state.todo
            for line in notes_of(todo):
                reporter.say(line)
            for reused in executor.info.reuse.outputs if todo else ():
                reporter.say(f"--reuse {reused.description}")
            writer = output.begin(state)
            for removed in state.extra.divided:
                reporter.say(f"removed {removed}: its input is divided in another way now")
            work = RunWork(skipped=len(shards) - len(todo))
            reporter.started(len(shards), sum(shard.rows for shard in todo), work.skipped)
            footers = {file.uri: footer for file, footer in inspected.unreadable.values()}
            for relative, record in plan.inputs.items() if footers else ():
                if record.identity is None:
                    footer = footers[record.uri]
                    unread = ShardResult(relative=relative, error=footer.error, kind=footer.kind)
                    quarantine(unread, writer, work, reporter)
            if todo:
                score(executor, list(todo), plan, writer, work, reporter)
            check_signals()
            totals = writer.totals(shards)
            summary = summary_of(totals, executor.info, plan, work, time.perf_counter() - started)
            writer.finish(encode(summary, indent=1), totals)
    return outcome_of(summary, totals, work, options)


def refuse_unusable(inspected: Inspected) -> None:
    """Refuse the inputs, before anything is written, if no file can be read or no row of the first window gets a
    label."""
    if not inspected.shards:
        file, footer = next(iter(inspected.unreadable.values()))
        further = len(inspected.unreadable) - 1
        suffix = f" (and {further} more inputs cannot be used)" if further else ""
        raise InputError(f"{file.name}: {footer.error}{suffix}")
    if inspected.first_windows and inspected.first_windows[-1][1].hopeless:
        file, footer = inspected.first_windows[0]
        raise InputError(
            f"{file.name}: no row in the first window can be scored; nothing was written: {footer.hopeless} "
            "(--max-error-rate 1 runs regardless)"
        )


def plan_to_resume(stored: Plan, output: OutputFolder, options: RunOptions) -> Plan:
    """The stored plan without its inputs, for its budgets. The bound of ``--exact`` holds while its labels are kept."""
    keeps = not options.rescore and output.store.list(RECEIPTS)
    return replace(stored, inputs={}, budgets=stored.budgets if keeps else replace(stored.budgets, exact=None))


def make_plan(
    info: WorkerInfo, inspected: Inspected, options: RunOptions, stored: Plan | None, settings: Mapping[str, object]
) -> tuple[Plan, list[Shard]]:
    """The plan, and the shards of its part. A file that cannot be read keeps the outputs that it had in the stored
    plan."""
    inputs = {
        shard.relative: InputRecord(uri=shard.file.uri, identity=shard.identity, groups=shard.groups)
        for shard in inspected.shards
    }
    stored_inputs = stored.inputs if stored is not None else {}
    for relative, (file, _) in inspected.unreadable.items():
        earlier = [name for name, record in stored_inputs.items() if record.uri == file.uri]
        inputs |= {name: InputRecord(uri=file.uri, identity=None) for name in earlier or [relative]}
    part = None
    if options.part is not None:
        number, count = options.part
        part = Part(number=number, count=count, shards=shards_digest(inputs))
        inputs = {name: record for name, record in inputs.items() if belongs_to_part(name, number, count)}
    windows = dict(WINDOWS)
    if stored is not None:
        stored_windows = {name: getattr(stored.budgets, name) for name in windows}
        windows |= {name: value for name, value in stored_windows.items() if value is not None}
        settings = {**settings, "threads": stored.settings.get("threads")}  # as its budgets, they are kept
    plan = Plan(
        signature=info.signature,
        signature_parts=info.signature_parts,
        inputs=inputs,
        budgets=replace(info.budgets, **windows),
        device=info.origin.device.description,
        provider=info.provider,
        runtime=info.origin.runtime,
        versions=dict(info.versions),
        settings=json.loads(canonical(dict(settings))),  # so that it can be compared with one that was read
        limit=options.limit,
        part=part,
        reuse=info.reuse.planned,
        reuse_digest=info.reuse.digest,
        split_rows=options.split_rows,
    )
    return plan, [shard for shard in inspected.shards if shard.relative in inputs]


def notes_of(todo: Mapping[Shard, Unusable]) -> list[str]:
    """Lines about the shards that are scored again, by reason, and about large ones."""
    lines = [
        f"scored again ({count_of(len(paths), 'shard')}): {reason}: {named(paths)}"
        for reason, paths in group_by_reason(todo).items()
    ]
    if large := [shard.name for shard in todo if shard.rows > LARGE_ROWS]:
        lines.append(
            f"note: {named(large)}: more than {LARGE_ROWS:,} rows are one unit of work, which an interrupted run "
            "begins again; --split-rows N divides Parquet files along their row groups"
        )
    return lines


def group_by_reason(todo: Mapping[Shard, Unusable]) -> dict[str, list[str]]:
    """Paths of the shards that were scored before and are scored again, by reason."""
    paths: dict[str, list[str]] = {}
    for shard, receipt in todo.items():
        if not isinstance(receipt, NoReceipt):
            paths.setdefault(receipt.reason, []).append(shard.relative)
    return paths


def score(
    executor: Executor, todo: Sequence[Shard], plan: Plan, writer: OutputWriter, work: RunWork, reporter: Reporter
) -> None:
    """Score shards, and publish each as it is done."""
    start = time.perf_counter()
    begin = Begin(plan=replace(plan, inputs={}), digest=plan.digest, run=secrets.token_hex(8))
    published = list[Future[tuple[Receipt, float]]]()
    publishing = deque[Future[tuple[Receipt, float]]]()
    try:
        for result in executor.score(todo, begin, writer.temporary):
            if result.receipt is None:
                quarantine(result, writer, work, reporter)
            else:  # in threads, so that syncs and requests overlap and the device does not wait
                while publishing and (publishing[0].done() or len(publishing) == PUBLISHED_AT_ONCE):
                    result_of(publishing.popleft())
                published.append(in_thread(partial(publish, writer, result.temporary, result.receipt)))
                publishing.append(published[-1])
        while publishing:
            result_of(publishing.popleft())
    finally:
        wait(publishing, _CLOSE_SECONDS)  # not longer after an error or a signal: a store may not answer
    work.scoring = time.perf_counter() - start
    work.receipts = [future.result()[0] for future in published]
    work.publishing = sum(future.result()[1] for future in published)


def publish(writer: OutputWriter, temporary: str, receipt: Receipt) -> tuple[Receipt, float]:
    """Give an output its name and write its receipt; the receipt, and the seconds that this took. Threads may call it
    together."""
    start = time.perf_counter()
    writer.publish(Path(temporary) if temporary else None, receipt)
    return receipt, time.perf_counter() - start


def quarantine(result: ShardResult, writer: OutputWriter, work: RunWork, reporter: Reporter) -> None:
    """Record the reason why a shard was not scored. An earlier output of it stays, without a receipt."""
    work.failures[result.relative] = result.error
    writer.quarantine(result.relative, result.kind, result.error, result.identity)
    reporter.shard_failed(result.relative, result.error)


def summary_of(totals: Totals, info: WorkerInfo, plan: Plan, work: RunWork, seconds: float) -> RunSummary:
    """The content of ``_run.json``. ``seconds``: duration of the whole run."""
    counts = total(receipt.counts for receipt in totals.receipts)
    done = {receipt.relative for receipt in totals.receipts}
    stages = Counter(write=work.publishing)  # type: ignore[call-overload]  # seconds, which add up too
    for receipt in work.receipts:
        stages.update(receipt.provenance.seconds)
    # This run's device first, the others by the number of their shards, then those of reused outputs.
    shards = Counter(canonical(receipt.provenance.origin) for receipt in totals.receipts)
    texts = sorted(shards, key=lambda text: (-shards[text], text))
    ordered = [msgspec.json.decode(text, type=ComputeEnvironment) for text in texts]
    scored = total(receipt.counts for receipt in work.receipts if receipt.relative in done)
    checks, tokens, per_second = scored.checks, scored.tokens, 1 / work.scoring if work.scoring else 0.0
    speed = Speed(
        seconds=round(work.scoring, 3),
        rows_per_s=round(scored.rows.all * per_second, 1),
        unique_pairs_per_s=round(checks.computed * per_second, 1),
        real_tokens_per_s=round(tokens.real * per_second, 1),
        padding=round(1 - tokens.real / tokens.padded, 4) if tokens.padded else 0.0,
        duplicates=round(1 - checks.unique / checks.all, 4) if checks.all else 0.0,
    )
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
        computed_now=sum(receipt.provenance.computed for receipt in work.receipts),
        speed=speed,
        exact=plan.budgets.exact,
        device=info.origin.device,
        bound=info.origin.bound,
        invariance_error=info.origin.invariance_error,
        origins=tuple(dict.fromkeys([info.origin, *ordered, *info.reuse.origins])),
        reuse=info.reuse.outputs,
        stale=tuple(totals.stale),
        random_weights=info.random_weights,
        forced=info.forced,
        versions={"d2t-scorer": program_version(), **info.versions},
        # To the microsecond, because a history tells runs apart by it, and small runs follow each other fast.
        finished=datetime.now(UTC).isoformat(timespec="microseconds"),
    )


def outcome_of(summary: RunSummary, totals: Totals, work: RunWork, options: RunOptions) -> Outcome:
    """The end of the run: exit code 0, or 3 with the reasons."""
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
