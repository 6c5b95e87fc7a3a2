"""The tables of a report on error spans, from the object that ``--json`` prints."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.table import Table

from ...evaluation.span_report import AgreementBlock, GroupLine, SpanFigures, SpanReport, UnitFigures
from ...evaluation.spans import AGAINST_DATA
from ...system.display import all_visible
from .evaluation import wide_console
from .figures import INTERVAL, MISSING, interval, number, table


def print_spans(report: SpanReport, console: Console | None = None) -> None:
    """Print recall by category, precision over flags, and the figures to compare them with.

    ``console``: by default a wide one on stdout.
    """
    console, report = console or wide_console(), all_visible(report)
    say = console.print
    say(f"{report['path']}: {report['texts']:,} texts against {report['gold']}")
    say(f"signature: {report['signature'] or 'no signature'}")
    if report["flagged_below"] is not None:
        say(f"flagged: sentences with P(entailment) below {report['flagged_below']:g}")
    say(f"note: {report['about']}")
    say("\nErrors found, by category of the gold (95% intervals over inputs)")
    say(_categories(report))
    say("\nWays of flagging these texts: flags that meet an error, and errors that are flagged")
    say(_rivals(report, "spans"))
    if report["units"]:
        say("\nSentence by sentence: flagged sentences, and sentences with an error")
        say(_rivals(report, "sentences"))
    say("\nText by text: texts with a flag, and texts with an error")
    say(_rivals(report, "by_text"))
    for name, lines in report["by"].items():
        say(f"\nBy {name}")
        say(_groups(lines))
    if report["agreement"]:
        _agreement(console, report["agreement"])


def _categories(report: SpanReport) -> Table:
    made = table("category", "errors", "found", "recall", INTERVAL)
    lines = dict(report["categories"])
    totals = (("all", report["all"]), ("all but not_checkable", report["without_not_checkable"]))
    for name, found in totals:
        lines[name] = {
            "n": found["errors"],
            "found": found["found"],
            "recall": found["recall"],
            "interval": found["interval"]["recall"],
        }
    for name, line in lines.items():
        made.add_row(
            name, f"{line['n']:,}", f"{line['found']:,}", number(line["recall"]), interval(line.get("interval"))
        )
    return made


def _rivals(report: SpanReport, level: Literal["spans", "sentences", "by_text"]) -> Table:
    made = table("", "texts", "flags", "right", "precision", INTERVAL, "recall", INTERVAL, "F1", INTERVAL)
    for line in report["rivals"]:
        found = line[level]
        if found is not None:
            made.add_row(
                line["name"], f"{line['texts']:,}", f"{found['flags']:,}", f"{found['right']:,}", *_shares(found)
            )
    if level != "spans" or report["about"] == AGAINST_DATA:  # the published figures are of spans, on other texts
        return made
    checkable = report["without_not_checkable"]
    made.add_row("this output, without not_checkable", f"{report['texts']:,}", f"{checkable['flags']:,}",
                 f"{checkable['right']:,}", *_shares(checkable))  # fmt: skip
    published = report["published"]
    precision, recall = (
        " / ".join(number(value) for value in values) for values in (published["precision"], published["recall"])
    )
    made.add_row(f"RG, {published['source']}, other texts", "", "", "", precision, MISSING, recall, MISSING, "", "")
    return made


def _shares(found: SpanFigures | UnitFigures) -> list[str]:
    ends = found["interval"]
    return [number(found["precision"]), interval(ends["precision"]), number(found["recall"]), interval(ends["recall"]),
            number(found["f1"]), interval(ends["f1"])]  # fmt: skip


def _groups(lines: list[GroupLine]) -> Table:
    made = table("", "texts", "errors", "flags", "precision", INTERVAL, "recall", INTERVAL, "F1", INTERVAL,
                 "F1 of flag everything")  # fmt: skip
    for line in lines:
        found, everything = line["all"], line["flag_everything"]
        made.add_row(line["value"], f"{line['texts']:,}", f"{found['errors']:,}", f"{found['flags']:,}",
                     *_shares(found), number(everything["f1"]) if everything else MISSING)  # fmt: skip
    return made


def _agreement(console: Console, found: AgreementBlock) -> None:
    joined, kappa = found["majority"], found["fleiss_kappa"]
    console.print(f"\nAnnotators: {found['annotators']}, joined by majority")
    categories = ", ".join(f"{name} {count:,}" for name, count in joined["categories"].items())
    console.print(f"{joined['items']:,} items marked by anyone, {joined['errors']:,} errors: {categories}")
    for one, what in (
        (kappa["typed_by_all"], "items to which all gave a category"),
        (kappa["all_items"], "all items, with 'not marked' as a label"),
    ):
        console.print(
            f"Fleiss' kappa over {what}: {number(one['kappa'])} ({interval(one['interval'])}; n {one['n']:,})"
        )
    console.print(f"Fleiss' kappa of Thomson & Reiter (INLG 2020): {number(kappa['published'], 2)}")
