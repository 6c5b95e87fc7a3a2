"""A run: shards in, scored shards out, resumable at any moment.

One process owns OUT: it holds the lock, writes the plan, hands shards to an executor, and believes outputs by writing
receipts. Nobody else writes receipts, so that only what this process saw complete counts.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ..errors import InputError
from ..storage.inputs import check_apart, find_files
from ..storage.output_folder import LockedOutput, OutputFolder
from ..storage.plan import Budgets, Part, Plan, belongs_to_part, shards_digest
from ..storage.receipts import RECEIPTS, InputRecord, json_round_trip
from ..storage.shards import FIRST_ROWS, Shard
from ..system.signals import check_signals, signals_raise
from .early_check import refuse_unscorable
from .executors import BoundOf, Executor, Inspected, sample_shards
from .messages import Begin, ReuseLoaded, ShardResult, WorkerInfo
from .options import Outcome, RunOptions
from .preview import group_by_reason, large_shards_note, rescore_messages
from .progress import Reporter
from .publisher import Publisher
from .summary import RunWork, outcome_of, summary_of


def run(executor: Executor, reporter: Reporter) -> Outcome:
    """Score all shards that are not done.

    Raises:
        ScorerError: nothing can be scored, or the output cannot be used.
        Terminated, KeyboardInterrupt: interrupted; the same call resumes.
    """
    started, options = time.perf_counter(), executor.job.options
    with signals_raise():
        files = find_files(options.inputs, options.form, options.delimiter)
        check_apart(options.inputs, options.out, options.form)
        if options.reuse:
            from .reuse import check_earlier

            check_earlier(options.reuse, options.out)
        with OutputFolder.lock(options.out, say=reporter.say) as output, executor:
            stored = output.read_plan(reporter.say)
            found = executor.inspect(files)
            refuse_unusable(found, reporter)
            info = executor.open(*known_budgets(stored, output, options), sample_shards(found.shards))
            plan, shards = make_plan(info, found, options, stored, executor.job.settings.to_plan())
            todo = output.unfinished(shards, plan, rescore=options.rescore)
            output.refuse_replacement(
                stored, plan, shards, todo, rescore=options.rescore, allow_stale=options.allow_stale
            )
            if not todo and stored is not None:  # nothing is scored here, so the plan says where it was
                plan = at_the_place_of(stored, plan)
            tell(todo, reporter)
            for removed in output.begin(plan, todo):
                reporter.say(f"removed {removed}: its input is divided in another way now")
            work = RunWork(reuse=info.reuse.outputs if info.reuse is not None else (), skipped=len(shards) - len(todo))
            reporter.started(len(shards), sum(shard.rows for shard in todo), work.skipped)
            quarantine_unreadable(found, plan, output, work, reporter)
            if todo:
                score(executor, list(todo), plan, output, work, reporter)
            check_signals()
            totals = output.totals(plan, shards)
            summary = summary_of(totals, info, plan, work, time.perf_counter() - started)
            output.finish(plan, summary.content, totals)
    return outcome_of(summary, totals, work, options)


def refuse_unusable(found: Inspected, reporter: Reporter) -> None:
    """Refuse inputs of which none can be scored.

    Raises:
        InputError: says why for the first.
    """
    if not found.shards:
        file, footer = next(iter(found.unreadable.values()))
        many = f" (and {len(found.unreadable) - 1} more inputs cannot be used)" if len(found.unreadable) > 1 else ""
        raise InputError(f"{file.name}: {footer.error}{many}")
    refuse_unscorable(found.first_rows, reporter.say)


def known_budgets(stored: Plan | None, output: OutputFolder, options: RunOptions) -> tuple[Budgets, BoundOf | None]:
    """The budgets of an earlier plan. The bound of ``--exact`` in them holds while its labels are kept."""
    if stored is None:
        return Budgets(), None
    if options.rescore or not output.store.list(RECEIPTS):
        return replace(stored.budgets, exact=None), None
    return stored.budgets, (stored.signature_parts, stored.provider)


def make_plan(
    info: WorkerInfo, found: Inspected, options: RunOptions, stored: Plan | None, settings: Mapping[str, object]
) -> tuple[Plan, list[Shard]]:
    """The plan of a run, and the shards that it scores: those of its part.

    A file that cannot be read keeps the outputs that it had in the stored plan.
    """
    inputs = {
        shard.relative: InputRecord(uri=shard.uri, identity=shard.identity, groups=shard.groups)
        for shard in found.shards
    }
    for relative, (file, _) in found.unreadable.items():
        before = [name for name, one in (stored.inputs if stored is not None else {}).items() if one.uri == file.uri]
        inputs |= {name: InputRecord(uri=file.uri, identity=None) for name in before or [relative]}
    part = None
    if options.part is not None:
        number, count = options.part
        part = Part(number=number, count=count, shards=shards_digest(inputs))
        inputs = {name: one for name, one in inputs.items() if belongs_to_part(name, number, count)}
    earlier = stored.budgets if stored is not None else Budgets()
    plan = Plan(
        signature=info.signature,
        signature_parts=info.signature_parts,
        inputs=inputs,
        budgets=replace(
            info.budgets,
            window_rows=earlier.window_rows or options.window_rows,
            window_bytes=earlier.window_bytes or options.window_bytes,
            first_rows=FIRST_ROWS if earlier.first_rows is None else earlier.first_rows,
        ),
        device=info.device,
        provider=info.provider,
        runtime=info.runtime,
        versions=dict(info.versions),
        settings=json_round_trip(dict(settings)),  # so that it can be compared with one that was read
        limit=options.limit,
        part=part,
        reuse=info.reuse.planned if info.reuse is not None else (),
        reuse_digest=info.reuse.digest if info.reuse is not None else "",
        split_rows=options.split_rows,
    )
    return plan, [shard for shard in found.shards if shard.relative in inputs]


def at_the_place_of(stored: Plan, plan: Plan) -> Plan:
    """A plan with the device and the versions of another one."""
    return replace(
        plan, device=stored.device, provider=stored.provider, runtime=stored.runtime, versions=stored.versions
    )


def tell(todo: Mapping[Shard, str], reporter: Reporter) -> None:
    """Tell which shards are scored again and why, and which are large."""
    for line in rescore_messages(group_by_reason(todo)):
        reporter.say(line)
    if note := large_shards_note(todo):
        reporter.say(note)


def quarantine_unreadable(
    found: Inspected, plan: Plan, output: LockedOutput, work: RunWork, reporter: Reporter
) -> None:
    """Quarantine the outputs of files that cannot be scored."""
    footers = {file.uri: footer for file, footer in found.unreadable.values()}
    for relative, record in plan.inputs.items():
        if record.identity is None:
            footer = footers[record.uri]
            quarantine(ShardResult(relative=relative, error=footer.error, kind=footer.kind), output, work, reporter)


def score(
    executor: Executor, todo: Sequence[Shard], plan: Plan, output: LockedOutput, work: RunWork, reporter: Reporter
) -> None:
    """Score shards, and publish each as it is done."""
    began, guard = time.perf_counter(), threading.Lock()
    begin = Begin(plan=replace(plan, inputs={}), digest=plan.digest, run=secrets.token_hex(8))
    with Publisher() as publisher:
        for result in executor.score(todo, begin, output.temporary):
            if isinstance(result, ReuseLoaded):
                work.reuse = result.outputs
            elif result.receipt is None:
                quarantine(result, output, work, reporter)
            else:
                publisher.put(partial(publish, result, output, work, guard))
        publisher.finish()
    work.scoring = time.perf_counter() - began


def publish(result: ShardResult, output: LockedOutput, work: RunWork, guard: threading.Lock) -> None:
    """Give the output of a shard its name, then write its receipt. Several threads call this at the same time."""
    assert result.receipt is not None
    began = time.perf_counter()
    output.publish(Path(result.temporary) if result.temporary else None, result.receipt)
    with guard:
        work.receipts.append(result.receipt)
        work.publishing += time.perf_counter() - began


def quarantine(result: ShardResult, output: LockedOutput, work: RunWork, reporter: Reporter) -> None:
    """Store why a shard was not scored. An earlier output stays where it is, without a receipt."""
    work.failures[result.relative] = result.error
    output.quarantine(result.relative, result.kind, result.error, result.identity)
    reporter.shard_failed(result.relative, result.error)
