"""What a run records in ``_plan.json`` before it scores, and when two runs mean the same."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ..errors import DeviceError, OutputError
from ..scoring.plan import Budgets, Plan
from ..storage.canonical import normal
from ..storage.lease import part_named
from ..storage.objects.uri import Location
from .messages import Facts
from .survey import Survey


class OtherBudgetsError(Exception):
    """The parts that run compute with other budgets, and this one must do as they do."""

    def __init__(self, budgets: Budgets) -> None:
        super().__init__("other budgets")
        self.budgets = budgets


def plan_of(
    facts: Facts,
    found: Survey,
    *,
    window_rows: int,
    window_bytes: int,
    first_rows: tuple[int, ...],
    limit: int | None,
    parts: int | None,
    settings: Mapping[str, object],
    split_rows: int | None,
) -> Plan:
    """The plan of a run."""
    return Plan(
        signature_line=facts.signature.line,
        signature_parts=facts.signature.parts,
        inputs=found.planned,
        budgets=replace(facts.budgets, window_rows=window_rows, window_bytes=window_bytes, first_rows=first_rows),
        device=facts.device,
        provider=facts.provider,
        runtime=facts.origin.runtime,
        versions=dict(facts.versions),
        limit=limit,
        parts=parts,
        settings=normal(dict(settings)),  # so that it can be compared with one that was read
        reuse=facts.reuse.planned if facts.reuse is not None else (),
        split_rows=split_rows,
    )


def other_hardware(plan: Plan, facts: Facts) -> str:
    """In what a worker differs from the plan's that numbers depend on, in words; empty if they agree."""
    pairs = {
        "device": (plan.device, facts.device),
        "provider": (plan.provider, facts.provider),
        "runtime": (plan.runtime, facts.origin.runtime),
        "versions": (dict(plan.versions), dict(facts.versions)),
    }
    return "; ".join(f"{name}: {one} → {two}" for name, (one, two) in pairs.items() if one != two)


def refuse_other_hardware(plan: Plan, facts: Facts, out: Location) -> None:
    """Labels of one output are of one kind of device.

    Raises:
        DeviceError: this one differs from the plan's; says in what.
    """
    if plan.signature == facts.signature and (differs := other_hardware(plan, facts)):
        raise DeviceError(
            f"{out} has shards that were scored elsewhere ({differs}); go on there, pass --rescore to score all "
            "of them again here, or score into another --out with --reuse"
        )


def refuse_another_plan(present: Plan | None, plan: Plan, others: list[str], out: Location) -> None:
    """Parts that run together must mean the same; where a bundle or a template file lies may differ.

    Raises:
        OutputError: they differ, in what is said.
        OtherBudgetsError: they differ in budgets alone, which this part can take over.
    """
    names = sorted({"signature", *Plan.__struct_fields__} - {"schema", "settings", "signature_line", "signature_parts"})
    differing = [name for name in names if present is None or getattr(present, name) != getattr(plan, name)]
    if present is not None and differing == ["budgets"]:
        raise OtherBudgetsError(present.budgets)
    if differing:
        raise OutputError(
            f"{out} is being filled by {named_others(others)} under another plan (it differs in "
            f"{', '.join(differing)}); give this part the same inputs and options, or wait for the others to end"
        )


def named_others(others: list[str]) -> str:
    """The parts that run now, by the names of their locks, for a message."""
    return " and ".join(map(part_named, others)) or "another part"
