"""What the workers of a joined run must have in common, and in which of it a worker differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from .. import __version__
from ..errors import OutputError
from ..scoring.plan import JoinTerms, Plan
from ..scoring.row_scorer import RowScorer
from ..scoring.signature import differences as signature_differences
from ..storage.canonical import changes, normal
from ..storage.objects.uri import Location

_HARDWARE = ("device", "runtime", "provider", "versions", "budgets")
"""Differences that ``--mixed-devices`` allows: labels mean the same, and numbers differ in their last digits."""


def join_terms(inputs: Sequence[str], form: str, scorer: RowScorer, versions: Mapping[str, str]) -> JoinTerms:
    """The terms of a run.

    Args:
        inputs, form: IN and ``--format`` as given.
        versions: of the packages that a score passes through.
    """
    device = scorer.origin.device
    given = tuple(one if "://" in one else str(Path(one).absolute()) for one in inputs)
    return JoinTerms(given, form, f"{device.kind} {device.name}".strip(), {**versions, "d2t-scorer": __version__})


def refuse_other_terms(
    present: Plan, mine: Plan, out: Location, *, mixed_devices: bool, say: Callable[[str], None]
) -> None:
    """A worker must mean the same as the plan that it joins; where the bundle or a template file lies may differ.

    Raises:
        OutputError: they differ, in what is said.
    """
    found = _differences(present, mine)
    if not found:
        return
    told = "; ".join(f"{name}: {what}" for name, what in found.items())
    if not found.keys() <= set(_HARDWARE):
        raise OutputError(
            f"{out} has the plan of another run, which is not finished (plan → this worker: {told}); give this worker "
            "the same inputs, options, bundle and version, or choose another --out"
        )
    if not mixed_devices:
        raise OutputError(
            f"{out} was planned on other hardware or versions (plan → this worker: {told}), so equal bytes are not "
            "certain; pass --mixed-devices to join all the same, or choose another --out"
        )
    say(f"joined with differences (plan → this worker: {told}); bytes may differ from those of other workers")


def differ_in_hardware_alone(present: Plan, mine: Plan) -> bool:
    """Whether two plans differ, and in nothing that is meant."""
    found = _differences(present, mine)
    return bool(found) and found.keys() <= set(_HARDWARE) and present.inputs == mine.inputs


def _differences(present: Plan, mine: Plan) -> dict[str, str]:
    """By name, what differs; the identities of the inputs are not compared."""
    found = {}
    if present.signature != mine.signature:
        found["signature"] = ", ".join(signature_differences(present.signature, mine.signature)) or "digests"
    theirs, own = _compared(present), _compared(mine)
    for name in sorted(theirs):
        if theirs[name] != own[name]:
            found[name] = ", ".join(changes({name: theirs[name]}, {name: own[name]}))
    return found


def _compared(plan: Plan) -> dict[str, object]:
    join = plan.join or JoinTerms((), "", "", {})
    windowless = replace(plan.budgets, window_rows=None, window_bytes=None)  # those of the plan are taken over
    found = {
        "inputs": list(join.inputs),
        "format": join.form,
        "device": join.device,
        "versions": dict(join.versions),
        "runtime": plan.runtime,
        "provider": plan.provider,
        "budgets": windowless.to_json(),
        "limit": plan.limit,
        "parts": plan.parts,
        "split_rows": plan.split_rows,
        "reuse": [one.to_json() for one in plan.reuse],
    }
    read_back: dict[str, object] = normal(found)
    return read_back
