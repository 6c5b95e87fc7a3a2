"""What a run records in ``_plan.json`` before it scores, and when two runs mean the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

from ..errors import OutputError
from ..scoring.plan import Budgets, Plan
from ..scoring.reuse import Reuse
from ..scoring.row_scorer import RowScorer
from ..storage import InputRecord, OutputFolder
from ..storage.canonical import normal
from ..storage.stored_output import StoredOutput
from .survey import Survey


class OtherBudgetsError(Exception):
    """The parts that run compute with other budgets, and this one must do as they do."""

    def __init__(self, budgets: Budgets) -> None:
        super().__init__("other budgets")
        self.budgets = budgets


def plan_of(
    scorer: RowScorer,
    found: Survey,
    reuse: Reuse | None,
    *,
    window_rows: int,
    window_bytes: int,
    limit: int | None,
    parts: int | None,
    settings: Mapping[str, object],
    split_rows: int | None,
) -> Plan:
    """The plan of a run."""
    return Plan(
        signature=scorer.signature,
        inputs=found.planned,
        budgets=replace(scorer.budgets, window_rows=window_rows, window_bytes=window_bytes),
        provider=scorer.provider,
        runtime=scorer.origin.runtime,
        limit=limit,
        parts=parts,
        settings=normal(dict(settings)),  # so that it can be compared with one that was read
        reuse=reuse.sources.planned() if reuse is not None else (),
        split_rows=split_rows,
    )


def refuse_another_plan(present: Plan | None, plan: Plan, others: list[str], out: Path) -> None:
    """Parts that run together must mean the same; where a bundle or a template file lies may differ.

    Raises:
        OutputError: they differ, in what is said.
        OtherBudgetsError: they differ in budgets alone, which this part can take over.
    """
    names = sorted(field.name for field in fields(Plan) if field.name != "settings")
    differing = [name for name in names if present is None or getattr(present, name) != getattr(plan, name)]
    if present is not None and differing == ["budgets"]:
        raise OtherBudgetsError(present.budgets)
    if differing:
        raise OutputError(
            f"{out} is being filled by {named_others(others)} under another plan (it differs in "
            f"{', '.join(differing)}); give this part the same inputs and options, or wait for the others to end"
        )


def named_others(others: list[str]) -> str:
    """The parts and workers that run now, for a message; see :meth:`.OutputFolder.join`."""
    return " and ".join(f"part {one}" if one[:1].isdigit() else one for one in others)


def earlier_plan(out: Path) -> Plan | None:
    """The plan that an unfinished or earlier run recorded here; ``None`` where there is none that can be read."""
    return Plan.usable(OutputFolder.peek_plan(out))


def inputs_of(output: StoredOutput) -> Mapping[str, InputRecord]:
    """The inputs of the plan that is there; none where there is none that can be read."""
    plan = Plan.usable(output.read_plan())
    return plan.inputs if plan is not None else {}


def earlier_budgets(out: Path) -> Budgets:
    """The budgets that an unfinished or earlier run recorded here, so that a resume computes as it did."""
    plan = earlier_plan(out)
    return plan.budgets if plan is not None else Budgets()
