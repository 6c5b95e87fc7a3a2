"""A run: shards in, scored shards out, resumable at any moment.

One process owns OUT: it holds the lease, writes the plan, hands shards to an executor, and believes outputs by writing
receipts. Nobody else writes receipts, so that only what this process saw complete counts.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ..errors import OutputError, ScorerError, ShardError, UsageError
from ..scoring.plan import Budgets, Plan
from ..scoring.reuse.earlier import check_earlier
from ..scoring.row_scorer import RowScoring
from ..scoring.summary import RunSummary
from ..scoring.windows import FIRST_ROWS
from ..storage import (
    Fingerprint,
    Identity,
    InputFile,
    Maker,
    Receipt,
    RunOutput,
    SeenOutput,
    ShardReader,
    check_apart,
    inspect_output,
    resolve_inputs,
    table_notes,
)
from ..storage.counts import RecheckCounts
from ..storage.store import ABSENT
from ..system.signals import sigterm_raises
from .early_check import refuse_unscorable
from .executors import Executor, Handled, Inline
from .messages import Facts, Failed, Loaded, Made
from .options import Outcome, Reporter, RunOptions
from .plan_file import OtherBudgetsError, plan_of, refuse_another_plan, refuse_other_hardware
from .preview import again_by_reason, losses_of, refuse_rescore, removals, told
from .survey import Shard, Survey, large_units, part_of, survey
from .totals import Totals, add_up, outcome_of, summary_of
from .verified import VerifiedOutputs


def run(options: RunOptions, scoring: RowScoring, reporter: Reporter, executor: Executor | None = None) -> Outcome:
    """Score all shards that are not yet done.

    Args:
        scoring: finds columns, and for the *inline* executor opens what scores the rows.
        executor: where shards are scored; in this process by default.

    Raises:
        ScorerError: nothing can be scored, or the output cannot be used; nothing has been written then.
        Terminated, KeyboardInterrupt: interrupted; the same call resumes.
    """
    started = time.perf_counter()
    _refuse_options(options)
    with ExitStack() as stack:
        stack.enter_context(sigterm_raises())
        files = resolve_inputs(list(options.inputs), options.form)
        check_apart(list(options.inputs), options.out, options.form)
        for line in table_notes(files):
            reporter.say(line)
        present = inspect_output(options.out) == "ours"
        reused = check_earlier(options.reuse, options.out)
        reader = stack.enter_context(
            ShardReader(form=options.form, delimiter=options.delimiter, split_rows=options.split_rows)
        )
        seen = SeenOutput(options.out)
        before = Plan.usable(seen, reporter.say) if present else None
        found = survey(files, reader, scoring.find_columns, options.limit, before.inputs if before is not None else {})
        refuse_unscorable(found, reader, options.max_error_rate, reporter.say)
        chosen = executor or Inline(scoring, options.max_error_rate)
        stack.enter_context(chosen)
        earlier = before.budgets if before is not None else Budgets()
        binding = before if not options.rescore and present and seen.receipts.all() else None
        facts = chosen.prepare(earlier, binding, found, reader, tuple(reused), reporter)
        opened = RunOutput.open(options.out, create=True, part=options.part, say=reporter.say)
        output = stack.enter_context(opened)
        try:
            return _Run(options, scoring, reporter, chosen, output, found, facts, earlier).execute(started)
        except OtherBudgetsError as other:  # of parts that started a moment before this one
            facts = chosen.prepare(other.budgets, Plan.usable(output), found, reader, (), reporter)
            return _Run(options, scoring, reporter, chosen, output, found, facts, other.budgets).execute(started)


def _refuse_options(options: RunOptions) -> None:
    for name, given in (("--prune", options.prune), ("--rescore", options.rescore)):
        if given and (options.limit is not None or options.part is not None):
            other = "--limit" if options.limit is not None else "--part"
            if name == "--rescore" and options.part is None:
                continue
            raise UsageError(
                f"{name} with {other} would remove or replace what this run does not look at; give one of the two"
            )


class _Run:
    """The state of one run, which :func:`run` sets up."""

    def __init__(
        self,
        options: RunOptions,
        scoring: RowScoring,
        reporter: Reporter,
        executor: Executor,
        output: RunOutput,
        found: Survey,
        facts: Facts,
        earlier: Budgets,
    ) -> None:
        self.options, self.reporter, self.executor, self.output = options, reporter, executor, output
        self.survey, self.facts, self.receipts = found, facts, output.receipts
        self.id = secrets.token_hex(8)
        self.verified = VerifiedOutputs(output)
        self.failures: dict[str, str] = {}
        self.made: dict[str, Made] = {}
        self.aside = RecheckCounts()
        self.reuse = facts.reuse.summary if facts.reuse is not None else ()
        self.receipt_seconds = 0.0
        self.guard = threading.Lock()
        self.plan = plan_of(
            facts,
            found,
            window_rows=earlier.window_rows or options.window_rows,
            window_bytes=earlier.window_bytes or options.window_bytes,
            first_rows=FIRST_ROWS if earlier.first_rows is None else earlier.first_rows,
            limit=options.limit,
            parts=options.part[1] if options.part is not None else None,
            settings=scoring.to_plan(),
            split_rows=options.split_rows,
        )

    def execute(self, started: float) -> Outcome:
        options, output = self.options, self.output
        output.refuse_links(self.plan.inputs.keys())
        shards = [shard for shard in self.survey.usable if self._mine(shard.file.relative)]
        reasons = self._why_not_done(shards)
        todo = [shard for shard in shards if shard.file.relative in reasons]
        stored = output.stored(shard.file.relative for shard in todo)
        present = Plan.usable(output)
        if not options.rescore:
            refuse_rescore(output, todo, self.facts.signature)
            if todo and reasons.keys() != {shard.file.relative for shard in shards} and present is not None:
                refuse_other_hardware(present, self.facts, options.out)
        if not todo and present is not None:  # nothing is scored here, so the plan says where it was
            self.plan = replace(
                self.plan,
                device=present.device,
                provider=present.provider,
                runtime=present.runtime,
                versions=present.versions,
            )
        self._enter(todo, stored)
        for shard in shards:
            if shard.file.relative not in reasons:
                self.verified.renew(shard.file.relative, shard.info.identity)
        for line in told(again_by_reason(reasons, stored.__contains__)):
            self.reporter.say(line)
        if note := large_units(todo):
            self.reporter.say(note)
        failed = [(file, error) for name, (file, error) in self.survey.failed.items() if self._mine(name)]
        output.require_space(sum(shard.least_bytes for shard in todo), f"the output of {len(todo)} shards")
        if todo or failed:
            output.reopen()
        self.receipts.remove_all(shard.file.relative for shard in todo)  # neither this run nor totals may count them
        for file, error in failed:
            self._quarantine(file, error)
        self.reporter.started(len(shards), sum(shard.rows for shard in todo), len(shards) - len(todo))
        began = time.perf_counter()
        if todo:
            self._score(todo, stored)
        scoring = time.perf_counter() - began
        output.check()
        self._confirm_plan()
        return self._conclude(started, scoring, len(shards) - len(todo))

    def _score(self, todo: Sequence[Shard], stored: Mapping[str, str]) -> None:
        listed = self.receipts.listed if self.output.store.is_remote else {}
        expected = {name: listed[name].version for name in stored if name in listed}
        work = [(shard, expected.get(shard.file.relative, ABSENT)) for shard in todo]
        self.executor.score(work, self.plan, self.output, self._handle, self.reporter)
        self.output.sweep_temporary()  # of workers that died while they wrote

    def _handle(self, result: Handled) -> None:
        if isinstance(result, Loaded):
            self.reuse = result.summary
        elif isinstance(result, Failed):
            with self.guard:
                self.aside = RecheckCounts.total([self.aside, result.recheck])
                self._note(result.relative, result.kind, result.message, result.identity)
        else:
            self._publish(result)

    def _publish(self, made: Made) -> None:
        """Give the output of a shard its name, then write its receipt. Several threads call this at the same time."""
        began, relative = time.perf_counter(), made.relative
        if made.temporary:
            self.output.store.upload(relative, Path(made.temporary), made.written.sha256)
        else:
            self.output.check()
        self.verified.write(
            Receipt(
                relative=relative,
                input=made.record,
                fingerprint=made.fingerprint,
                output=made.written,
                counts=made.counts,
                plan=self.plan.digest,
                maker=Maker(
                    run=self.id,
                    worker=made.origin.device.words,
                    origin=msgspec.to_builtins(made.origin),
                    seconds={stage: round(value, 3) for stage, value in made.seconds.items()},
                    computed=made.computed,
                ),
            )
        )
        self.receipts.clear_failed(relative)
        with self.guard:
            self.made[relative] = made
            self.receipt_seconds += time.perf_counter() - began
            self.reporter.shard_done(relative, made.written.rows)

    def _quarantine(self, file: InputFile, error: ScorerError) -> None:
        kind = error.kind if isinstance(error, ShardError) else "columns"
        self._note(file.relative, kind, str(error), None)

    def _note(self, relative: str, kind: str, message: str, identity: Identity | None) -> None:
        """Note why a shard was not scored; an earlier output stays, and is not believed any more."""
        self.output.check()
        self.failures[relative] = message
        self.output.set_aside(relative)
        self.receipts.write_failed(relative, kind, message, identity)
        self.reporter.shard_failed(relative, message)

    def _enter(self, todo: list[Shard], stored: Mapping[str, str]) -> None:
        """Make the plan that of the output, or find that it is.

        Raises:
            OutputError: other parts run under another plan, or outputs would be lost without ``--prune``.
        """
        options, inputs, output = self.options, self.plan.inputs.keys(), self.output
        others = output.others()
        present = Plan.usable(output)
        if others and present is None and output.create_plan(self.plan.content):
            present = self.plan
        if others:
            present = present or Plan.usable(output)
            refuse_another_plan(present, self.plan, sorted(others), options.out)
            self.plan = present or self.plan
        before = present.inputs if present is not None else {}
        if not options.prune:
            outside = output.outside_of(inputs)
            losses = losses_of(outside, self.plan.inputs, before, stored, self.receipts, todo, self.executor.reader)
            losses.refuse(options.out, limited=options.limit is not None, parts=options.part is not None)
        output.sweep_temporary()
        if others:
            return
        for line in removals(output.remove_stale(inputs), self.plan.inputs, before):
            self.reporter.say(line)
        if present is None and not output.create_plan(self.plan.content):
            again = Plan.usable(output)  # of a part that began at the same moment, or damaged
            if again is not None and options.part is not None:
                refuse_another_plan(again, self.plan, sorted(output.others()), options.out)
                self.plan = again
                return
            output.write_plan(self.plan.content)
        elif present is not None and present != self.plan:
            output.write_plan(self.plan.content)

    def _confirm_plan(self) -> None:
        """Make sure that the plan is still there; what else was taken away, the totals find.

        Raises:
            OutputError: another plan is there.
        """
        present = Plan.usable(self.output)
        if present is None:
            self.reporter.say("_plan.json was removed or damaged during the run; it is written again")
            self.output.write_plan(self.plan.content)
        elif present != self.plan:
            raise OutputError(
                f"{self.options.out}: _plan.json was replaced during the run, so that the folder is another run's "
                "now; run again when nothing else writes there"
            )

    def _why_not_done(self, shards: list[Shard]) -> dict[str, str]:
        """By relative path, why a shard is to be scored; the others are done, and their outputs as they were."""
        reasons = {}
        for shard in shards:
            relative = shard.file.relative
            found = self.verified.check(relative, shard.info.identity, self._fingerprint(shard), shard.file.uri)
            if found is None and self.options.rescore:
                found = self._made_elsewhere(relative)
            if found is not None:
                reasons[relative] = found
        return reasons

    def _made_elsewhere(self, relative: str) -> str | None:
        """Why a shard that is done is scored again with ``--rescore``: it was computed on another kind of device."""
        receipt = self.verified.receipt(relative)
        if receipt is None:
            return None
        maker = receipt.maker
        here = self.facts.device, self.facts.origin.runtime
        there = maker.worker, maker.origin.get("runtime")
        return None if here == there else f"it was scored elsewhere ({maker.worker})"

    def _mine(self, relative: str) -> bool:
        """Whether a shard is for this process."""
        part = self.options.part
        return part is None or part_of(relative, part[1]) == part[0]

    def _fingerprint(self, shard: Shard) -> Fingerprint:
        return shard.fingerprint(self.facts.signature, self.facts.reuse.digest if self.facts.reuse is not None else "")

    def _conclude(self, started: float, scoring: float, skipped: int) -> Outcome:
        """Write the totals and, where all is done, the marker. Parts that end at the same time do this again until
        nothing was added in between, so that the last totals are of all receipts."""
        while True:
            self.receipts.forget()
            totals = add_up(self.survey, self.receipts, self._fingerprint, self.verified)
            summary = self._summary(totals, started, scoring, skipped)
            if totals.failed or totals.missing:
                self.output.reopen()  # a marker of an earlier run no longer holds
            self.output.write_run(summary.content)
            if not totals.failed and not totals.missing:
                self.output.write_success(totals.receipts)
                break
            names = set(self.receipts.all())
            self.receipts.forget()
            if self.options.part is None or names == set(self.receipts.all()):
                break
        return outcome_of(summary, totals, self.failures, self.options, self._mine, self.reporter)

    def _summary(self, totals: Totals, started: float, scoring: float, skipped: int) -> RunSummary:
        return summary_of(
            totals,
            self.facts,
            self.plan,
            [self.made[name] for name in self.made],
            report=self.executor.report,
            reuse=self.reuse,
            aside=self.aside,
            scoring=scoring,
            publishing=self.receipt_seconds,
            total_seconds=time.perf_counter() - started,
            skipped=skipped,
            now=datetime.now(UTC),
        )
