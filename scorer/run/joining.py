"""How a worker comes to a joined run: the first one surveys the inputs and writes the plan, the others read it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from ..errors import OutputError
from ..scoring.plan import Budgets, Plan
from ..scoring.reuse import Reuse
from ..scoring.row_scorer import RowScorer, RowScoring
from ..scoring.summary import RunSummary
from ..storage import InputFile, ShardReader, resolve_inputs, table_notes
from ..storage.joined import JoinedOutput
from ..storage.objects.uri import Location
from .early_check import refuse_unscorable
from .join_terms import differ_in_hardware_alone, join_terms, refuse_other_terms
from .options import JoinOptions, Reporter, RunOptions
from .plan_file import named_others, plan_of
from .preview import again_by_reason, losses_of, removals, told
from .starts import starts_of
from .survey import Shard, Survey, large_units, survey
from .versions import versions


@dataclass(frozen=True)
class Joined:
    """A worker that is ready to take shards. ``known``: by relative path, shards that this worker surveyed."""

    scorer: RowScorer
    plan: Plan
    reuse: Reuse | None
    known: Mapping[str, Shard] = field(default_factory=dict)


@dataclass(frozen=True)
class Joining:
    """What a worker joins with. ``earlier``: the outputs of ``--reuse`` that are there."""

    options: RunOptions
    join: JoinOptions
    scoring: RowScoring
    reporter: Reporter
    reader: ShardReader
    output: JoinedOutput
    earlier: tuple[Location, ...]

    def enter(self, stack: ExitStack) -> Joined:
        """Join the workers that run, or begin as the first.

        Args:
            stack: closes the scorer, and what else is opened.

        Raises:
            OutputError: another run is going on, or outputs would be lost.
            ScorerError: nothing can be scored.
        """
        with self.output.brief():
            others = self.output.join_worker()
            present = Plan.usable(self.output.read_plan())
            joined = self._first(stack, present) if not others else None
        if joined is None:
            if present is None or present.join is None:
                raise OutputError(
                    f"{self.options.out} is being filled by {named_others(others)}, not by workers with --join; wait "
                    "for it to end, or choose another --out"
                )
            joined = self._later(stack, present)
        device = joined.scorer.origin.device
        self.output.announce(f"{device.kind} {device.name}".strip())
        return joined

    def _open(self, stack: ExitStack, present: Plan | None, found: Survey) -> tuple[RowScorer, Plan, Reuse | None]:
        """The scorer, and the plan that this worker would make of what it found."""
        budgets = present.budgets if present is not None else Budgets()
        scorer = stack.enter_context(self.scoring.open(budgets))
        if not found.usable and present is not None and scorer.signature != present.signature:
            self._refuse_differences(present, replace(present, signature=scorer.signature))
        scorer = scorer.warm_up(present, starts_of(found, self.reader) if found.usable else [])
        reuse = stack.enter_context(scorer.open_reuse(self.earlier)) if self.earlier else None
        plan = plan_of(
            scorer,
            found,
            reuse,
            window_rows=budgets.window_rows or self.options.window_rows,
            window_bytes=budgets.window_bytes or self.options.window_bytes,
            limit=None,
            parts=None,
            settings=self.scoring.to_plan(),
            split_rows=self.options.split_rows,
        )
        terms = join_terms(self.options.inputs, self.options.form, scorer, versions(scorer.versions))
        return scorer, replace(plan, join=terms), reuse

    def _later(self, stack: ExitStack, present: Plan) -> Joined:
        scorer, mine, reuse = self._open(stack, present, Survey([], {}))
        self._refuse_differences(present, mine)
        return Joined(scorer, present, reuse)

    def _refuse_differences(self, present: Plan, mine: Plan) -> None:
        refuse_other_terms(
            present, mine, self.options.out, mixed_devices=self.join.mixed_devices, say=self.reporter.say
        )

    def _first(self, stack: ExitStack, present: Plan | None) -> Joined:
        """Make the plan that of the folder while no other worker runs, or resume the one that is there."""
        out = self.options.out
        files = resolve_inputs(list(self.options.inputs), self.options.form)
        for line in table_notes(files):
            self.reporter.say(line)
        before = present.inputs if present is not None else {}
        found = survey(files, self.reader, self.scoring.find_columns, earlier=before)
        refuse_unscorable(found, self.reader, self.options.max_error_rate)
        scorer, plan, reuse = self._open(stack, present, found)
        finished = present is not None and self._was_concluded(present)
        unfinished = present is not None and present.join is not None and not finished
        if present is not None and unfinished and differ_in_hardware_alone(present, plan):
            self._refuse_differences(present, plan)
            plan = present
        if present is not None and _on_device_of(plan, present) == present:
            plan = present  # another worker of the same run was the first one then
        resumed = present == plan and not finished
        self.output.refresh()
        reasons = self._why_not_done(found, scorer, reuse)
        aside = self.output.receipts.failed_names()
        if present == plan and finished and self.output.is_finished and not reasons and not aside:
            return Joined(scorer, plan, reuse)
        self.output.refuse_links(plan.inputs.keys())
        todo = [shard for shard in found.usable if shard.file.relative in reasons]
        stored = self.output.stored(shard.file.relative for shard in todo)
        outside = self.output.outside_of(plan.inputs.keys())
        losses = losses_of(outside, plan.inputs, before, stored, self.output.receipts, todo, self.reader)
        losses.refuse(out, limited=False, parts=True)
        self.output.require_space(sum(shard.least_bytes for shard in todo), f"the output of {len(todo)} shards")
        if not resumed:
            self._await_claims()
            self.output.remove_claims()
        self.output.sweep_temporary()
        for line in removals(self.output.remove_stale(plan.inputs.keys()), plan.inputs, before):
            self.reporter.say(line)
        if present != plan:
            plan = self._write(plan)
        for line in told(again_by_reason(reasons, stored.__contains__)):
            self.reporter.say(line)
        if note := large_units(todo):
            self.reporter.say(note)
        if todo or found.failed or not resumed:
            self.output.reopen()
        self.output.receipts.remove_all(shard.file.relative for shard in todo)
        for shard in found.usable:
            if shard.file.relative not in reasons:  # an input that was only touched has another identity in the plan
                self.output.receipts.renew(shard.file.relative, shard.info.identity)
        for relative in aside if not resumed else ():
            self.output.receipts.clear_failed(relative)  # it is tried again
        for file, error in found.failed.values():
            self._set_aside(file, str(error), getattr(error, "kind", "columns"))
        rows = sum(shard.rows for shard in todo)
        self.reporter.started(len(found.usable), rows, len(found.usable) - len(todo))
        return Joined(scorer, plan, reuse, {shard.file.relative: shard for shard in found.usable})

    def _write(self, plan: Plan) -> Plan:
        """Write the plan; the plan that holds, which on a file system without real locks may be another worker's."""
        if self.output.read_plan() is not None:
            self.output.write_plan(plan.to_json())
        elif not self.output.create_plan(plan.to_json()):
            found = self.output.read_plan()
            present = Plan.from_json(found) if found is not None else None
            if present is None:
                self.output.write_plan(plan.to_json())  # a damaged one was there
            else:
                self._refuse_differences(present, plan)
                return present
        return plan

    def _why_not_done(self, found: Survey, scorer: RowScorer, reuse: Reuse | None) -> dict[str, str]:
        """By relative path, why a shard is to be scored. Outputs are hashed at the end of the run, by one worker."""
        reused = reuse.sources.digest if reuse is not None else ""
        reasons = {}
        for shard in found.usable:
            fingerprint = shard.fingerprint(scorer.signature, reused)
            why = self.output.receipts.compare(shard.file.relative, shard.info.identity, fingerprint, shard.file.uri)
            if isinstance(why, str):
                reasons[shard.file.relative] = why
        return reasons

    def _await_claims(self) -> None:
        """Wait until no worker of an earlier plan can believe that it holds a shard."""
        said = False
        while any(not claim.is_free(self.join.lease_s) for claim in self.output.standing_claims().values()):
            if not said:
                self.reporter.say(f"{self.options.out}: waiting for the claims of workers of an earlier plan to expire")
                said = True
            time.sleep(min(1.0, self.join.lease_s / 4))

    def _was_concluded(self, plan: Plan) -> bool:
        """Whether the workers of a plan came to its end."""
        summary = RunSummary.parse(self.output.read_run(), str(self.output.path))
        return summary is not None and summary.plan == plan.digest

    def _set_aside(self, file: InputFile, message: str, kind: str) -> None:
        self.output.set_aside(file.relative)
        self.output.receipts.write_failed(file.relative, kind, message, None)
        self.reporter.shard_failed(file.relative, message)


def _on_device_of(plan: Plan, present: Plan) -> Plan:
    """A plan with the name of the device that another one was made with; workers differ in it (``cuda:0``, ``cuda:1``).
    What the device is, the terms say."""
    device = {key: value for key, value in present.settings.items() if key == "device"}
    return replace(plan, settings={**plan.settings, **device})
