"""What a run records in ``_plan.json`` before it scores, and when two runs mean the same."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ..errors import DeviceError, OutputError
from ..scoring.plan import Budgets, Plan
from ..scoring.windows import FIRST_ROWS
from ..storage.canonical import normal
from ..storage.lease import part_named
from ..storage.location import Location
from .messages import Facts
from .options import RunOptions
from .survey import Survey


class OtherBudgetsError(Exception):
    """The parts that run compute with other budgets, and this one must do as they do."""

    def __init__(self, budgets: Budgets) -> None:
        super().__init__("other budgets")
        self.budgets = budgets


def plan_of(facts: Facts, found: Survey, options: RunOptions, earlier: Budgets, settings: Mapping[str, object]) -> Plan:
    """The plan of a run. ``earlier``: budgets of an earlier one."""
    return Plan(
        signature_line=facts.signature.line,
        signature_parts=facts.signature.parts,
        inputs=found.planned,
        budgets=replace(
            facts.budgets,
            window_rows=earlier.window_rows or options.window_rows,
            window_bytes=earlier.window_bytes or options.window_bytes,
            first_rows=FIRST_ROWS if earlier.first_rows is None else earlier.first_rows,
        ),
        device=facts.device,
        provider=facts.provider,
        runtime=facts.runtime,
        versions=dict(facts.versions),
        limit=options.limit,
        parts=options.part[1] if options.part is not None else None,
        settings=normal(dict(settings)),  # so that it can be compared with one that was read
        reuse=facts.reuse.planned if facts.reuse is not None else (),
        split_rows=options.split_rows,
    )


def other_hardware(one: Plan | Facts, other: Facts) -> str:
    """In what a worker differs that numbers depend on besides the signature, in words; empty if it does not."""
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in ("device", "provider", "runtime", "versions")}
    return "; ".join(f"{name}: {first} → {second}" for name, (first, second) in pairs.items() if first != second)


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


def common_plan(present: Plan | None, plan: Plan, others: list[str], out: Location) -> Plan:
    """The plan that is there. Parts that run together must mean the same; where a bundle or a template file lies may
    differ.

    Raises:
        OutputError: they differ, in what is said.
        OtherBudgetsError: they differ in budgets alone, which this part can take over.
    """
    names = sorted({"signature", *Plan.__struct_fields__} - {"schema", "settings", "signature_line", "signature_parts"})
    differing = [name for name in names if present is None or getattr(present, name) != getattr(plan, name)]
    if present is not None and not differing:
        return present
    if present is not None and differing == ["budgets"]:
        raise OtherBudgetsError(present.budgets)
    raise OutputError(
        f"{out} is being filled by {' and '.join(map(part_named, others)) or 'another part'} under another plan (it "
        f"differs in {', '.join(differing)}); give this part the same inputs and options, or wait for the others to end"
    )
