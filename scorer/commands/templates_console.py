"""The reports of `scorer templates`, from the structs that ``--json`` prints."""

from __future__ import annotations

from rich.console import Console

from ..templating.check import CheckReport, TemplateUse
from ..templating.extract import ExtractionReport
from .console import share

LINES = 20
"""Findings of one kind that are shown; the JSON has all."""


def print_extracted(console: Console, report: ExtractionReport) -> None:
    """Print what was found, and why references gave no template."""
    made = report.predicates - len(report.missing)
    console.print(f"{report.out}: {made:,} templates of {report.predicates:,} predicates")
    console.print(f"{report.candidates_file}: {report.candidates:,} candidates")
    used = share(report.used / report.references)
    console.print(f"references: {report.references:,}, {report.used:,} gave a template ({used})")
    for reason, n in report.rejected.items():
        console.print(f"  {reason}: {n:,}")
    _listed(console, "predicates without a template", report.missing)


def print_check(console: Console, report: CheckReport) -> None:
    """Print the findings; in each kind, those with the most facts come first."""

    def part(facts: int) -> str:
        return f"{facts:,} facts ({share(facts / report.facts)})"

    by_backoff = f"{report.backoff:,} by backoff ({share(report.backoff / report.facts if report.facts else 0.0)})"
    console.print(f"{report.facts:,} facts in {report.rows:,} rows; {by_backoff}")
    for kind, n in report.errors.items():
        console.print(f"rows with an error, {kind}: {n:,}")
    whole = [one for one in report.missing if one.object is None]
    values = [one for one in report.missing if one.object is not None]
    for title, found in (("predicates without a template", whole), ("objects missing from a per-object map", values)):
        _listed(console, title, [f"{_name(one)}: {part(one.facts)}" for one in found])
    lacking = [
        f"{_name(one)} lacks {' and '.join(f'<{slot}>' for slot in one.slots)}: {one.template}"
        for one in report.without_slot
    ]
    _listed(console, "templates without a slot", lacking)
    if report.unused:
        console.print(f"predicates of the file that do not occur in the data: {len(report.unused):,}")


def _listed(console: Console, title: str, lines: list[str]) -> None:
    if lines:
        console.print(f"{title}: {len(lines):,}")
        for line in lines[:LINES]:
            console.print(f"  {line}")
        if len(lines) > LINES:
            console.print(f"  and {len(lines) - LINES:,} more; --json has them all")


def _name(one: TemplateUse) -> str:
    return one.predicate if one.object is None else f"{one.predicate} = {one.object}"
