"""What a run records in ``_plan.json`` before it scores, and when two runs mean the same."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..inference.cache import Use
from ..inference.devices import PADDED
from ..inference.exact import ExactBound
from ..inference.sessions import runtime
from ..scoring.reuse import Reuse
from ..scoring.scorer import Scorer
from ..scoring.signature import Signature
from ..storage import OutputFolder
from ..storage.canonical import normal
from ..system.formats import PLAN_SCHEMA as SCHEMA
from .survey import Survey

_PART_OF = {"signature_parts": "signature"}


class OtherBudgetsError(Exception):
    """The parts that run compute with other budgets, and this one must do as they do."""

    def __init__(self, budgets: dict[str, Any]) -> None:
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
    settings: dict[str, Any],
) -> dict[str, Any]:
    """The content of ``_plan.json``: all that the output's bytes depend on, and how to ask again."""
    engine = scorer.engine
    plan = {
        "schema": SCHEMA,
        "signature": scorer.signature,
        "signature_parts": scorer.full_signature.parts,
        "inputs": {
            **{s.file.relative: {"uri": s.file.uri, "identity": s.info.identity} for s in found.usable},
            **{name: {"uri": file.uri, "identity": {}} for name, (file, _) in found.failed.items()},
        },
        "budgets": {
            "window_rows": window_rows,
            "window_bytes": window_bytes,
            "batch_tokens": engine.grid.token_budget,
            "length_step": engine.grid.step,
            "threads": engine.threads,
            **_way(engine.use),
            **({"exact": asdict(scorer.exact_bound)} if scorer.exact_bound is not None else {}),
        },
        "provider": engine.device.provider,
        "runtime": str(runtime().__version__),
        "limit": limit,
        "parts": parts,
        "settings": settings,
        "reuse": reuse.sources.planned() if reuse is not None else [],
    }
    read_back: dict[str, Any] = normal(plan)  # so that it can be compared with one that was read
    return read_back


def _way(use: Use) -> dict[str, str]:
    """Layout and attention, where the device has a choice of them."""
    chosen = use.device.row.layouts != (PADDED,)
    return {"layout": use.layout, "attention": use.attention} if chosen else {}


def refuse_another_plan(present: dict[str, Any], plan: dict[str, Any], others: list[str], out: Path) -> None:
    """Parts that run together must mean the same; where a bundle or a template file lies may differ.

    Raises:
        OutputError: they differ, in what is said.
        OtherBudgetsError: they differ in budgets alone, which this part can take over.
    """
    same = {key for key in plan if plan[key] == present.get(key)} | {"settings"}
    differing = sorted({_PART_OF.get(key, key) for key in plan.keys() - same})
    budgets = present.get("budgets")
    if differing == ["budgets"] and isinstance(budgets, dict):
        raise OtherBudgetsError(budgets)
    if differing:
        raise OutputError(
            f"{out} is being filled by part {' and '.join(others)} under another plan (it differs in "
            f"{', '.join(differing)}); give this part the same inputs and options, or wait for the others to end"
        )


def earlier_budgets(out: Path) -> dict[str, Any]:
    """The budgets that an unfinished or earlier run recorded here, so that a resume computes as it did."""
    return _budgets(OutputFolder.peek_plan(out) or {})


def earlier_bound(out: Path, scorer: Scorer) -> ExactBound | None:
    """The bound of ``--exact`` recorded here, if it is of this very model, on a device of this kind."""
    plan = OutputFolder.peek_plan(out) or {}
    same = Signature.of_plan(plan) == scorer.full_signature
    if not same or plan.get("provider") != scorer.engine.device.provider:
        return None
    return ExactBound.read(_budgets(plan).get("exact"))


def _budgets(plan: dict[str, Any]) -> dict[str, Any]:
    budgets = plan.get("budgets")
    return budgets if isinstance(budgets, dict) else {}
