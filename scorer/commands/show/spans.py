"""The report on spans, for people; the same object that ``--json`` prints."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from ...system.display import all_visible
from .evaluation import wide_console


def print_spans(report: dict[str, Any], console: Console | None = None) -> None:
    """Print recall by category, precision over flags, and what stands beside them."""
    console, report = console or wide_console(), all_visible(report)
    say = console.print
    say(f"{report['path']}: {report['texts']:,} texts against {report['gold']}")
    say(f"signature: {report['signature'] or 'no signature'}")
    if report["flagged_below"] is not None:
        say(f"flagged: sentences with P(entailment) below {report['flagged_below']:g}")
    say(f"note: {report['about']}")
    say("\nErrors found, by category of the gold (95 % intervals over texts)")
    say(_categories(report))
    say("\nFlags that meet an error, and errors that are flagged")
    say(_overview(report))
    if report["units"]:
        units = report["units"]
        say(
            f"\nSentence by sentence: {units['units']:,} sentences, {units['with_error']:,} with an error, "
            f"{units['flagged']:,} flagged; precision {_number(units['precision'])}, "
            f"recall {_number(units['recall'])}, F1 {_number(units['f1'])}"
        )
    say("\nErrors and flags a text, by system")
    say(_systems(report))
    if report["agreement"]:
        _agreement(console, report["agreement"])


def _categories(report: dict[str, Any]) -> Table:
    table = _table("category", "errors", "found", "recall", "95 % interval")
    lines = dict(report["categories"])
    for name, block in (("all", "all"), ("all but not_checkable", "without_not_checkable")):
        found = report[block]
        lines[name] = {
            "n": found["errors"],
            "found": found["found"],
            "recall": found["recall"],
            "interval": found["recall_interval"],
        }
    for name, line in lines.items():
        table.add_row(
            name, f"{line['n']:,}", f"{line['found']:,}", _number(line["recall"]), _interval(line.get("interval"))
        )
    return table


def _overview(report: dict[str, Any]) -> Table:
    table = _table("", "flags", "right", "precision", "95 % interval", "recall", "F1")
    parts = [("ours", report["all"]), ("ours, without not_checkable", report["without_not_checkable"])]
    if report["flag_everything"]:
        parts.append(("flag everything", report["flag_everything"]["all"]))
    for name, part in parts:
        table.add_row(
            name,
            f"{part['flags']:,}",
            f"{part['right']:,}",
            _number(part["precision"]),
            _interval(part["precision_interval"]),
            _number(part["recall"]),
            _number(part["f1"]),
        )
    published = report["published"]
    precision, recall = (" / ".join(f"{value:.3f}" for value in published[name]) for name in ("precision", "recall"))
    table.add_row(f"RG, {published['source']}, other texts", "", "", precision, "-", recall, "")
    return table


def _systems(report: dict[str, Any]) -> Table:
    names = list(report["categories"])
    table = _table("system", "texts", "errors", "checkable", *names, "flags", "recall", "precision")
    for line in report["by_system"]:
        table.add_row(
            line["system"] or "(unknown)",
            f"{line['texts']:,}",
            f"{line['errors_per_text']:.1f}",
            f"{line['errors_per_text_without_not_checkable']:.1f}",
            *(f"{line['categories_per_text'][name]:.1f}" for name in names),
            f"{line['flags_per_text']:.1f}",
            _number(line["recall"]),
            _number(line["precision"]),
        )
    return table


def _agreement(console: Console, found: dict[str, Any]) -> None:
    joined, kappa = found["majority"], found["fleiss_kappa"]
    console.print(f"\nAnnotators: {found['annotators']}, joined by majority")
    categories = ", ".join(f"{name} {count:,}" for name, count in joined["categories"].items())
    console.print(f"{joined['items']:,} items marked by anyone, {joined['errors']:,} errors: {categories}")
    for key, what in (
        ("typed_by_all", "items that all typed"),
        ("all_items", "all items, not marking being a label too"),
    ):
        console.print(f"Fleiss' kappa over {what}: {_number(kappa[key]['kappa'])} (n {kappa[key]['n']:,})")
    console.print(f"Fleiss' kappa of Thomson & Reiter (INLG 2020): {kappa['published']:.2f}")


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for position, header in enumerate(headers):
        table.add_column(header, justify="right" if position else "left", no_wrap=True)
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(pair: list[float] | None) -> str:
    return "-" if pair is None else f"{pair[0]:.3f} – {pair[1]:.3f}"
