"""A run: shards in, scored shards out, resumable at any moment.

One process owns OUT: it holds the lease, writes the plan, hands shards to an executor, and believes outputs by writing
receipts. Nobody else writes receipts, so that only what this process saw complete counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from ..errors import OutputError, UsageError
from ..scoring.plan import Budgets, Plan
from ..scoring.row_scorer import RowScoring
from ..storage import Fingerprint, RunOutput
from ..storage.store_old import ABSENT
from ..system.signals import check_signals, signals_raise
from .executors import Executor, Inline
from .messages import Facts, Failed, Loaded, Made, Result
from .options import Outcome, Reporter, RunOptions
from .plan_file import OtherBudgetsError, common_plan, plan_of, refuse_other_hardware
from .preview import Outlook, again_by_reason, look, losses_of, refuse_rescore, removals, told
from .survey import Shard, large_units, part_of
from .totals import Work, add_up, outcome_of, summary_of
from .verified import VerifiedOutputs


def run(options: RunOptions, scoring: RowScoring, reporter: Reporter, executor: Executor | None = None) -> Outcome:
    """Score all shards that are not yet done.

    Args:
        scoring: finds columns, and for the *inline* executor opens what scores the rows.
        executor: where shards are scored; in this process by default. It is closed at the end.

    Raises:
        ScorerError: nothing can be scored, or the output cannot be used; nothing has been written then.
        Terminated, KeyboardInterrupt: interrupted; the same call resumes.
    """
    started = time.perf_counter()
    _refuse_options(options)
    with ExitStack() as stack:
        stack.enter_context(signals_raise())
        chosen = stack.enter_context(executor or Inline(scoring, options.max_error_rate))
        ahead = stack.enter_context(look(options, options.out, scoring.find_columns, reporter.say))
        earlier = ahead.plan.budgets if ahead.plan is not None else Budgets()
        is_kept = ahead.output is not None and ahead.output.receipts.all() and not options.rescore
        facts = chosen.prepare(ahead, earlier, ahead.plan if is_kept else None, reporter)
        opened = RunOutput.open(options.out, create=True, part=options.part, say=reporter.say)
        output = stack.enter_context(opened)
        try:
            return _Run(options, scoring, reporter, chosen, ahead, output, facts, earlier).execute(started)
        except OtherBudgetsError as other:  # of parts that started a moment before this one
            earlier = other.budgets
            facts = chosen.prepare(ahead, earlier, Plan.usable(output), reporter)
            return _Run(options, scoring, reporter, chosen, ahead, output, facts, earlier).execute(started)


def _refuse_options(options: RunOptions) -> None:
    limited, is_part = options.limit is not None, options.part is not None
    for name, other, given in (
        ("--prune", "--limit", options.prune and limited),
        ("--prune", "--part", options.prune and is_part),
        ("--rescore", "--part", options.rescore and is_part),
    ):
        if given:
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
        ahead: Outlook,
        output: RunOutput,
        facts: Facts,
        earlier: Budgets,
    ) -> None:
        self.options, self.reporter, self.executor, self.output = options, reporter, executor, output
        self.ahead, self.facts, self.receipts = ahead, facts, output.receipts
        self.verified = VerifiedOutputs(output)
        self.work = Work(facts.reuse.summary if facts.reuse is not None else ())
        self.guard = threading.Lock()
        self.plan = plan_of(facts, ahead.found, options, earlier, scoring.to_plan())

    def execute(self, started: float) -> Outcome:
        options, output, found = self.options, self.output, self.ahead.found
        output.refuse_links(self.plan.inputs.keys())
        shards = [shard for shard in found.usable if self._mine(shard.file.relative)]
        reasons = self._why_not_done(shards)
        todo = [shard for shard in shards if shard.file.relative in reasons]
        stored = output.stored(reasons)
        present = Plan.usable(output)
        if not options.rescore:
            refuse_rescore(output, todo, self.facts.signature)
            if 0 < len(todo) < len(shards) and present is not None:
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
                self.verified.renew(shard)
        for line in told(again_by_reason(reasons, stored)):
            self.reporter.say(line)
        if note := large_units(todo):
            self.reporter.say(note)
        failed = [one for name, one in found.failed.items() if self._mine(name)]
        output.require_space(sum(shard.least_bytes for shard in todo), f"the output of {len(todo)} shards")
        if todo or failed:
            output.reopen()
        self.receipts.remove(*reasons)  # neither this run nor totals may count them
        for one in failed:
            self._handle(Failed.of(one.file.relative, one.error, None))
        self.work.skipped = len(shards) - len(todo)
        self.reporter.started(len(shards), sum(shard.rows for shard in todo), self.work.skipped)
        began = time.perf_counter()
        if todo:
            self._score(todo, stored)
        self.work.scoring = time.perf_counter() - began
        check_signals()
        output.check()
        self._confirm_plan()
        return self._conclude(started)

    def _score(self, todo: Sequence[Shard], stored: Mapping[str, str]) -> None:
        listed = self.receipts.listed if self.output.store.is_remote else {}
        expected = {name: listed[name].version for name in stored if name in listed}
        work = [(shard, expected.get(shard.file.relative, ABSENT)) for shard in todo]
        self.executor.score(work, self.plan, self.output, self._handle)
        self.output.sweep_temporary()  # of workers that died while they wrote

    def _handle(self, result: Result | Loaded) -> None:
        if isinstance(result, Loaded):
            self.work.reuse = result.summary
        elif isinstance(result, Failed):
            self._set_aside(result)
        else:
            self._publish(result)

    def _publish(self, made: Made) -> None:
        """Give the output of a shard its name, then write its receipt. Several threads call this at the same time."""
        began, relative = time.perf_counter(), made.relative
        if made.temporary:
            self.output.store.upload(relative, Path(made.temporary), made.receipt.output.sha256)
        else:
            self.output.check()
        receipt = replace(made.receipt, created=datetime.now(UTC).isoformat(timespec="seconds"))
        self.verified.write(receipt)
        self.receipts.clear_failed(relative)
        with self.guard:
            self.work.receipts.append(receipt)
            self.work.publishing += time.perf_counter() - began
            self.reporter.shard_done(relative, receipt.output.rows)

    def _set_aside(self, failed: Failed) -> None:
        """Note why a shard was not scored; an earlier output stays, and is not believed any more."""
        with self.guard:
            self.output.check()
            self.work.failures[failed.relative] = failed.message
            self.output.set_aside(failed.relative)
            self.receipts.write_failed(failed.relative, failed.kind, failed.message, failed.identity)
            self.reporter.shard_failed(failed.relative, failed.message)

    def _enter(self, todo: list[Shard], stored: Mapping[str, str]) -> None:
        """Make the plan that of the output, or find that it is.

        Raises:
            OutputError: other parts run under another plan, or outputs would be lost without ``--prune``.
        """
        options, inputs, output = self.options, self.plan.inputs, self.output
        others, present = sorted(output.others()), Plan.usable(output)
        if others:
            if present is None and output.create_plan(self.plan.content):
                present = self.plan
            present = self.plan = common_plan(present or Plan.usable(output), self.plan, others, options.out)
        if not options.prune:
            losses = losses_of(output, present, inputs, todo, stored, self.ahead.reader)
            losses.refuse(options.out, limited=options.limit is not None, parts=options.part is not None)
        output.sweep_temporary()
        if others:
            return
        for line in removals(output.remove_stale(inputs.keys()), inputs, present):
            self.reporter.say(line)
        if present is None and not output.create_plan(self.plan.content):
            again = Plan.usable(output)  # of a part that began at the same moment, or damaged
            if again is not None and options.part is not None:
                self.plan = common_plan(again, self.plan, sorted(output.others()), options.out)
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
        reasons = self.verified.why_not_done(shards, self._fingerprint)
        if self.options.rescore:
            elsewhere = {shard.file.relative: self._made_elsewhere(shard.file.relative) for shard in shards}
            reasons |= {name: why for name, why in elsewhere.items() if why is not None and name not in reasons}
        return reasons

    def _made_elsewhere(self, relative: str) -> str | None:
        """Why a shard that is done is scored again with ``--rescore``: it was computed on another kind of device."""
        receipt = self.verified.receipt(relative)
        if receipt is None:
            return None
        maker = receipt.maker
        here, there = (self.facts.device, self.facts.runtime), (maker.worker, maker.origin.get("runtime"))
        return None if here == there else f"it was scored elsewhere ({maker.worker})"

    def _mine(self, relative: str) -> bool:
        """Whether a shard is for this process."""
        part = self.options.part
        return part is None or part_of(relative, part[1]) == part[0]

    def _fingerprint(self, shard: Shard) -> Fingerprint:
        return shard.fingerprint(self.facts.signature, self.facts.reuse.digest if self.facts.reuse is not None else "")

    def _conclude(self, started: float) -> Outcome:
        """Write the totals and, where all is done, the marker. Parts that end at the same time do this again until
        nothing was added in between, so that the last totals are of all receipts."""
        while True:
            self.receipts.forget()
            totals = add_up(self.ahead.found, self.receipts, self._fingerprint, self.verified)
            seconds = time.perf_counter() - started
            summary = summary_of(totals, self.facts, self.plan, self.work, self.executor.report, seconds)
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
        return outcome_of(summary, totals, self.work.failures, self.options, self._mine, self.reporter)
