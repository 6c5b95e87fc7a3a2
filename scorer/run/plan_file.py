"""What a run records in ``_plan.json`` before it scores, and when two runs mean the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from ..errors import OutputError
from ..inference.exact import ExactBound
from ..inference.sessions import runtime
from ..scoring.plan import Budgets, Plan
from ..scoring.reuse import Reuse
from ..scoring.scorer import Scorer
from ..storage import InputRecord, OutputFolder
from ..storage.canonical import normal
from .survey import Survey


class OtherBudgetsError(Exception):
    """The parts that run compute with other budgets, and this one must do as they do."""

    def __init__(self, budgets: Budgets) -> None:
        super().__init__("other budgets")
        self.budgets = budgets


def plan_of(
    scorer: Scorer,
    found: Survey,
    reuse: Reuse | None,
    *,
    window_rows: int,
    window_bytes: int,
    limit: int | None,
    parts: int | None,
    settings: Mapping[str, object],
) -> Plan:
    """The plan of a run."""
    engine = scorer.engine
    return Plan(
        signature=scorer.full_signature,
        inputs={
            **{s.file.relative: InputRecord(s.file.uri, s.info.identity) for s in found.usable},
            **{name: InputRecord(file.uri, None) for name, (file, _) in found.failed.items()},
        },
        budgets=Budgets(
            window_rows, window_bytes, engine.grid.token_budget, engine.grid.step, engine.threads, scorer.exact_bound
        ),
        provider=engine.device.provider,
        runtime=str(runtime().__version__),
        limit=limit,
        parts=parts,
        settings=normal(dict(settings)),  # so that it can be compared with one that was read
        reuse=reuse.sources.planned() if reuse is not None else (),
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
            f"{out} is being filled by part {' and '.join(others)} under another plan (it differs in "
            f"{', '.join(differing)}); give this part the same inputs and options, or wait for the others to end"
        )


def earlier_budgets(out: Path) -> Budgets:
    """The budgets that an unfinished or earlier run recorded here, so that a resume computes as it did."""
    plan = Plan.usable(OutputFolder.peek_plan(out))
    return plan.budgets if plan is not None else Budgets()


def earlier_bound(out: Path, scorer: Scorer) -> ExactBound | None:
    """The bound of ``--exact`` recorded here, if it is of this very model, on a device of this kind."""
    plan = Plan.usable(OutputFolder.peek_plan(out))
    if plan is None or plan.signature != scorer.full_signature or plan.provider != scorer.engine.device.provider:
        return None
    return plan.budgets.exact
