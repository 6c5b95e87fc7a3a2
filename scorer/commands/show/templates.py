"""The reports of `scorer templates`, from the objects that ``--json`` prints."""

from __future__ import annotations

from rich.console import Console

from ...system.display import all_visible
from ...templating.document import CheckReport, ExtractionReport, WithoutSlotLine
from .console import make_console
from .figures import share

LINES = 20
"""Findings of one kind that are shown; the JSON has all."""


def print_extracted(report: ExtractionReport, console: Console | None = None) -> None:
    """Print the coverage, and why references gave no template."""
    console, report = console or make_console(), all_visible(report)
    predicates, references = report["predicates"], report["references"]
    console.print(f"{report['out']}: {predicates['covered']:,} templates of {predicates['all']:,} predicates")
    console.print(f"{report['candidates_file']}: {report['candidates']:,} candidates")
    console.print(
        f"predicates with a usable reference: {predicates['usable']:,}, of which {predicates['usable_covered']:,} have "
        f"a template ({share(predicates['share'])})"
    )
    console.print(
        f"references: {references['all']:,}, {references['used']:,} gave a template ({share(references['share'])})"
    )
    for reason, n in references["rejected"].items():
        console.print(f"  {reason}: {n:,}")
    _listed(console, "predicates without a template", predicates["missing"])


def print_check(report: CheckReport, console: Console | None = None) -> None:
    """Print the findings; in each kind, those with the most facts come first."""
    console, report = console or make_console(), all_visible(report)
    facts = report["facts"]
    console.print(
        f"{facts['all']:,} facts in {report['rows']['in']:,} rows; {facts['backoff']:,} by backoff "
        f"({share(facts['share'])})"
    )
    for kind, n in report["rows"]["errors"].items():
        console.print(f"rows with an error, {kind}: {n:,}")
    _listed(
        console,
        "predicates without a template",
        [f"{line['predicate']}: {line['facts']:,} facts ({share(line['share'])})" for line in report["missing"]],
    )
    _listed(
        console,
        "objects missing from a per-object map",
        [
            f"{line['predicate']} = {line['object']}: {line['facts']:,} facts ({share(line['share'])})"
            for line in report["missing_values"]
        ],
    )
    _listed(
        console,
        "templates without a slot",
        [
            f"{_name(line)} lacks {' and '.join(f'<{slot}>' for slot in line['slots'])}: {line['template']}"
            for line in report["without_slot"]
        ],
    )
    if report["unused"]:
        console.print(f"predicates of the file that do not occur in the data: {len(report['unused']):,}")


def _listed(console: Console, title: str, lines: list[str]) -> None:
    if lines:
        console.print(f"{title}: {len(lines):,}")
        for line in lines[:LINES]:
            console.print(f"  {line}")
        if len(lines) > LINES:
            console.print(f"  and {len(lines) - LINES:,} more; --json has them all")


def _name(line: WithoutSlotLine) -> str:
    return f"{line['predicate']} = {line['object']}" if "object" in line else line["predicate"]
