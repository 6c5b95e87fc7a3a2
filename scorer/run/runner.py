"""A run: shards in, scored shards out, resumable at any moment.

One stream of windows goes through the pipeline for all shards, so that the device does not wait where one shard ends
and the next begins. A shard's output appears whole or not at all: its file is renamed into place, then its receipt is
written, and only the receipt makes it done.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import UTC, datetime

from ..errors import OutputError, ScorerError, ShardError, UsageError
from ..scoring.counts import total
from ..scoring.plan import Budgets, Plan
from ..scoring.reuse import RecheckLog, Reuse
from ..scoring.reuse.earlier import check_earlier
from ..scoring.row_scorer import RowScorer, RowScoring
from ..scoring.summary import RunSummary, ShardCounts
from ..stats.percentages import percent
from ..storage import (
    Counts,
    Fingerprint,
    Identity,
    InputFile,
    OutputFolder,
    Receipt,
    ShardReader,
    ShardWriter,
    check_output_apart,
    inspect_output,
    require_space,
    resolve_inputs,
    table_notes,
)
from ..storage.believed import Believed
from ..storage.durable import Holder
from ..system.signals import sigterm_raises
from .completion import add_up
from .early_check import EarlyCheck, refuse_unscorable
from .options import Outcome, Reporter, RunOptions
from .plan_file import OtherBudgetsError, earlier_plan, plan_of, refuse_another_plan
from .preview import find_losses, named, removals, scored_again, told
from .shard_stream import ShardStream
from .starts import starts_of
from .survey import Shard, Survey, large_units, part_of, survey
from .versions import versions


def run(options: RunOptions, scoring: RowScoring, reporter: Reporter) -> Outcome:
    """Score all shards that are not yet done.

    Args:
        scoring: opens what scores the rows, with the budgets of an earlier plan, if there is one.

    Raises:
        ScorerError: nothing can be scored, or the output folder cannot be used; nothing has been written then.
        Terminated, KeyboardInterrupt: interrupted; the same call resumes.
    """
    started = time.perf_counter()
    if options.prune and (options.limit is not None or options.part is not None):
        other = "--limit" if options.limit is not None else "--part"
        raise UsageError(
            f"--prune with {other} would remove or shorten what this run does not look at; give one of the two"
        )
    files = resolve_inputs(list(options.inputs), options.form)
    check_output_apart(list(options.inputs), options.folder, options.form)
    for line in table_notes(files):
        reporter.say(line)
    inspect_output(options.folder)
    earlier_outputs = check_earlier(options.reuse, options.folder)
    with ExitStack() as stack:
        stack.enter_context(sigterm_raises())
        reader = stack.enter_context(ShardReader(form=options.form, split_rows=options.split_rows))
        before = earlier_plan(options.folder)
        earlier, inputs = (before.budgets, before.inputs) if before is not None else (Budgets(), {})
        found = survey(files, reader, scoring.find_columns, options.limit, inputs)
        refuse_unscorable(found, reader, options.max_error_rate)
        while True:
            with ExitStack() as inner:
                scorer = inner.enter_context(scoring.open(earlier))
                scorer = scorer.warm_up(earlier_plan(options.folder), starts_of(found, reader))
                reuse = None
                if earlier_outputs:
                    reuse = inner.enter_context(scorer.open_reuse(earlier_outputs))
                shared = options.part is not None
                opened = OutputFolder.open(options.folder, create=True, shared=shared, say=reporter.say)
                folder = inner.enter_context(opened)
                try:
                    plan = plan_of(
                        scorer,
                        found,
                        reuse,
                        window_rows=earlier.window_rows or options.window_rows,
                        window_bytes=earlier.window_bytes or options.window_bytes,
                        limit=options.limit,
                        parts=options.part[1] if options.part is not None else None,
                        settings=scoring.to_plan(),
                        split_rows=options.split_rows,
                    )
                    return _Run(options, scorer, reporter, reader, folder, found, plan, reuse).execute(started)
                except OtherBudgetsError as other:  # of parts that started a moment before this one
                    earlier = other.budgets


class _Run:
    """The state of one run, which :func:`run` sets up."""

    def __init__(
        self,
        options: RunOptions,
        scorer: RowScorer,
        reporter: Reporter,
        reader: ShardReader,
        folder: OutputFolder,
        found: Survey,
        plan: Plan,
        reuse: Reuse | None = None,
    ) -> None:
        self.options = options
        self.scorer = scorer
        self.reporter = reporter
        self.reader = reader
        self.folder = folder
        self.survey = found
        self.receipts = folder.receipts
        self.failures: dict[str, str] = {}
        self.believed = Believed(options.folder, self.receipts)
        self.written: set[str] = set()
        self.scoring = 0.0
        self.reuse = reuse
        self.plan = plan
        self.recheck_log = RecheckLog(reuse.sources if reuse is not None else None)
        early_check = EarlyCheck(scorer.warnings, options.max_error_rate, reporter.say)
        self.stream = ShardStream(scorer, reader, options.folder, plan.budgets, reporter, self.recheck_log, early_check)

    def execute(self, started: float) -> Outcome:
        shards = [s for s in self.survey.usable if self._mine(s.file.relative)]
        reasons = self._why_not_done(shards)
        todo = [s for s in shards if s.file.relative in reasons]
        with self.folder.brief():
            self._enter(todo)
            for shard in shards:
                if shard.file.relative not in reasons:
                    self.believed.renew(shard.file.relative, shard.info.identity)
        for line in told(scored_again(self.options.folder, reasons)):
            self.reporter.say(line)
        if note := large_units(todo):
            self.reporter.say(note)
        failed = [(file, error) for name, (file, error) in self.survey.failed.items() if self._mine(name)]
        require_space(self.folder.path, sum(shard.least_bytes for shard in todo), f"the output of {len(todo)} shards")
        with self.folder.brief():
            if todo or failed:
                self.folder.reopen()
            for shard in todo:
                self.receipts.remove(shard.file.relative)  # neither this run nor the totals may count it
            for file, error in failed:
                self._set_aside(file, error, None)
        self.reporter.started(len(shards), sum(s.rows for s in todo), len(shards) - len(todo))
        if self.reuse is not None and todo:
            self.reuse.sources.say(self.reporter.say)
            self.reuse.load()
        began = time.perf_counter()
        self.stream.score(todo, self.reuse if todo else None, self)
        self.scoring = time.perf_counter() - began
        with self.folder.brief():
            self.folder.check()
            self._confirm_plan()
            return self._conclude(started, len(shards) - len(todo))

    def _enter(self, todo: list[Shard]) -> None:
        """Make the plan that of the folder, or find that it is. ``todo``: the shards that are to be scored.

        Raises:
            OutputError: other parts run under another plan, or outputs would be lost without ``--prune``.
        """
        options, inputs = self.options, self.plan.inputs.keys()
        others = self.folder.join(options.part) if options.part is not None else []
        self.folder.refuse_links(inputs)
        present = Plan.usable(self.folder.read_plan())
        before = present.inputs if present is not None else {}
        if others:
            refuse_another_plan(present, self.plan, others, options.folder)
            self.plan = present or self.plan
        if not options.prune:
            losses = find_losses(options.folder, self.plan.inputs, before, todo, self.reader)
            losses.refuse(options.folder, limited=options.limit is not None, parts=options.part is not None)
        self.folder.sweep_temporary()
        if others:
            return
        for line in removals(self.folder.remove_stale(inputs), self.plan.inputs, before):
            self.reporter.say(line)
        if present != self.plan:
            self.folder.write_plan(self.plan.to_json())

    def _confirm_plan(self) -> None:
        """Make sure that the plan is still there; what else was taken away, :meth:`_conclude` finds.

        Raises:
            OutputError: another plan is there.
        """
        present = Plan.usable(self.folder.read_plan())
        if present is None:
            self.reporter.say("_plan.json was removed or damaged during the run; it is written again")
            self.folder.write_plan(self.plan.to_json())
        elif present != self.plan:
            raise OutputError(
                f"{self.options.folder}: _plan.json was replaced during the run, so that the folder is another run's "
                "now; run again when nothing else writes there"
            )

    def _why_not_done(self, shards: list[Shard]) -> dict[str, str]:
        """By relative path, why a shard is to be scored; the others are done, and their outputs as they were."""
        reasons = {}
        for shard in shards:
            relative = shard.file.relative
            found = self.believed.check(relative, shard.info.identity, self._fingerprint(shard), shard.file.uri)
            if found is not None:
                reasons[relative] = found
        return reasons

    def _mine(self, relative: str) -> bool:
        """Whether a shard is for this process."""
        part = self.options.part
        return part is None or part_of(relative, part[1]) == part[0]

    def _fingerprint(self, shard: Shard) -> Fingerprint:
        reused = self.reuse.sources.digest if self.reuse is not None else ""
        return shard.fingerprint(self.scorer.signature, reused)

    def holder(self, shard: Shard) -> Holder:
        """See :class:`.shard_stream.Sink`."""
        return self.folder.holder

    def moved(self, window: bool) -> None:
        """Nothing to do: this process holds the whole folder, or a part of it."""

    def commit(self, shard: Shard, writer: ShardWriter, counts: list[Counts]) -> None:
        """Publish the output of a shard, then its receipt."""
        written = writer.commit()
        relative = shard.file.relative
        self.believed.write(
            Receipt(
                relative=relative,
                input=shard.record(),
                fingerprint=self._fingerprint(shard),
                output=written,
                counts=total(counts),
                plan=self.plan.digest,
            )
        )
        self.receipts.clear_failed(relative)
        self.written.add(relative)
        self.reporter.shard_done(relative, written.rows)

    def set_aside(self, shard: Shard, error: ScorerError) -> None:
        """Note why a shard was not scored."""
        self._set_aside(shard.file, error, shard.info.identity)

    def _set_aside(self, file: InputFile, error: ScorerError, identity: Identity | None) -> None:
        self.failures[file.relative] = str(error)
        self.folder.set_aside(file.relative)  # an earlier output stays, and is not believed any more
        kind = error.kind if isinstance(error, ShardError) else "columns"
        self.receipts.write_failed(file.relative, kind, str(error), identity)
        self.reporter.shard_failed(file.relative, str(error))

    def _conclude(self, started: float, skipped: int) -> Outcome:
        totals = add_up(self.survey, self.receipts, self._fingerprint, self.believed)
        counts = total(receipt.counts for receipt in totals.receipts)
        fresh = [receipt.counts for receipt in totals.receipts if receipt.relative in self.written]
        scorer, reuse = self.scorer, self.reuse
        seconds = dict(scorer.seconds, write=self.stream.writing, total=time.perf_counter() - started)
        report = scorer.report(total(fresh), self.scoring)
        summary = RunSummary(
            signature=scorer.signature,
            counts=counts,
            shards=ShardCounts(len(totals.receipts), skipped, len(totals.failed), len(totals.missing)),
            seconds={stage: round(value, 3) for stage, value in seconds.items()},
            computed_now=scorer.computed,
            speed=report.speed,
            exact=report.exact,
            device=scorer.origin.device,
            bound=report.bound,
            company_bound=report.company_bound,
            origins=reuse.sources.origins() if reuse is not None else (scorer.origin,),
            reuse=reuse.summary() if reuse is not None else (),
            recheck=self.recheck_log.figures(counts),
            versions=versions(scorer.versions),
            # To the microsecond, because a history tells runs apart by it, and small runs follow each other fast.
            finished=datetime.now(UTC).isoformat(timespec="microseconds"),
        )
        missing = [name for name in totals.missing if self._mine(name)]
        if others := len(totals.missing) - len(missing):
            self.reporter.say(f"{others} shards are left to other parts; _SUCCESS comes with the last")
        if totals.failed or totals.missing:
            self.folder.reopen()  # a marker of an earlier run no longer holds
        self.folder.write_run(summary.to_json())
        if not totals.failed and not totals.missing:
            self.folder.write_success()
        reasons = []
        if missing:
            reasons.append(
                f"{len(missing)} shards lost their output or receipt during the run ({named(missing)}): something else "
                "writes into the folder; the same command scores them again"
            )
        failed = self.failures if totals.missing else totals.failed
        if failed:
            reasons.append(f"{len(failed)} shards failed, see {self.options.folder}/_failed/")
        if wrong := summary.recheck.disagreed:
            reasons.append(
                f"{wrong} of {summary.recheck.rows} reused rows that were scored again disagree with the earlier "
                "output, so its labels cannot be relied on: run without --reuse"
            )
        if totals.missing:
            counts = total(receipt.counts for receipt in totals.receipts if self._mine(receipt.relative))
        if (rate := counts.error_rate) > self.options.max_error_rate:
            reasons.append(
                f"{percent(rate)} of the rows have errors, more than --max-error-rate {self.options.max_error_rate}"
            )
        return Outcome(summary, 3 if reasons else 0, "; ".join(reasons))
