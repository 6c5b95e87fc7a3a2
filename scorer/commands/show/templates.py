"""The two reports for people, from the same data as the JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from ...system.display import all_visible
from .console import make_console

LINES = 20
"""Findings of one kind that are shown; the JSON has all."""


def print_extracted(report: dict[str, Any], console: Console | None = None) -> None:
    """Coverage, and why references gave nothing."""
    console, report = console or make_console(), all_visible(report)
    predicates, references = report["predicates"], report["references"]
    console.print(f"{report['out']}: {predicates['covered']:,} templates of {predicates['all']:,} predicates")
    console.print(f"{report['candidates_file']}: {report['candidates']:,} candidates")
    console.print(
        f"predicates with a usable reference: {predicates['usable']:,}, of which {predicates['usable_covered']:,} have "
        f"a template ({_percent(predicates['share'])})"
    )
    console.print(
        f"references: {references['all']:,}, {references['used']:,} gave a template ({_percent(references['share'])})"
    )
    for reason, n in references["rejected"].items():
        console.print(f"  {reason}: {n:,}")
    _listed(console, "predicates without a template", predicates["missing"])


def print_check(report: dict[str, Any], console: Console | None = None) -> None:
    """Findings, the weightiest first in each kind."""
    console, report = console or make_console(), all_visible(report)
    facts = report["facts"]
    console.print(
        f"{facts['all']:,} facts in {report['rows']['in']:,} rows; {facts['backoff']:,} by backoff "
        f"({_percent(facts['share'])})"
    )
    for kind, n in report["rows"]["errors"].items():
        console.print(f"rows with an error, {kind}: {n:,}")
    _listed(
        console,
        "predicates without a template",
        [f"{line['predicate']}: {line['facts']:,} facts ({_percent(line['share'])})" for line in report["missing"]],
    )
    _listed(
        console,
        "objects that a map lacks",
        [
            f"{line['predicate']} = {line['object']}: {line['facts']:,} facts ({_percent(line['share'])})"
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
        console.print(f"predicates of the file that the data does not have: {len(report['unused']):,}")
    evidence = report["evidence"]
    if evidence is None:
        return
    console.print(
        f"evidence: {evidence['facts']:,} checked facts in {evidence['rows']:,} rows, "
        f"{_percent(evidence['rate'])} of them fail ({evidence['from']}: {evidence['signature']})"
    )
    if not report["failing"]:
        console.print("no template fails far more often than the others")
    for line in report["failing"][:LINES]:
        low, high = line["interval"]
        console.print(
            f"{_name(line)} fails {_percent(line['rate'])} of {line['facts']:,} facts (95 %: {_percent(low)} to "
            f"{_percent(high)}; others {_percent(line['others_rate'])}), mean entailment {line['mean_entailment']:.3f}"
        )
        console.print(f"  {line['template']}")
        for example in line["examples"]:
            console.print(f"  {example['entailment']:.3f}  {example['fact']}  ←  {example['text'][:200]}")
    _rest(console, report["failing"])


def _listed(console: Console, title: str, lines: list[str]) -> None:
    if lines:
        console.print(f"{title}: {len(lines):,}")
        for line in lines[:LINES]:
            console.print(f"  {line}")
        _rest(console, lines)


def _rest(console: Console, lines: list[Any]) -> None:
    if len(lines) > LINES:
        console.print(f"  and {len(lines) - LINES:,} more; --json has them all")


def _name(line: dict[str, Any]) -> str:
    return f"{line['predicate']} = {line['object']}" if "object" in line else str(line["predicate"])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
