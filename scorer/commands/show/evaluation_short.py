"""The short form of an evaluation: one table of figures, the correlations, what was asked for, and a legend."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from ...evaluation.label_report import CorrelationLine, LabelReport, ends, figure
from ...system.display import all_visible
from .calibration import print_calibration
from .evaluation import overview, print_against, wide_console
from .figures import INTERVAL, interval, number, signed, table
from .metrics import print_ceilings, print_metrics

FIGURES = (
    ("ROUGH accuracy", "rough", "accuracy"),
    ("not_OK precision", "rough", "precision"),
    ("not_OK recall", "rough", "recall"),
    ("not_OK F1", "rough", "f1"),
    ("FINE accuracy", "fine", "accuracy"),
    ("FINE macro-F1", "fine", "macro_f1"),
    ("omission F1", "omission", "f1"),
    ("hallucination F1", "hallucination", "f1"),
)
"""Name, block and key of each figure of the table."""
_LEGEND = (
    ("not_OK", "rows with an omission, a hallucination or both; the positive class"),
    ("FINE", "the four labels; macro-F1 is the mean F1 of the labels that occur"),
    ("omission, hallucination", "that error against all other rows, whatever the other side says"),
    (INTERVAL, "bootstrap over inputs (--resamples)"),
)
_LEGEND_RATINGS = (("Spearman", "rank correlation of the metric with the rating, by sentence and by system mean"),)


def print_short(report: LabelReport, by: Sequence[str] = (), console: Console | None = None) -> None:
    """Print the figures of a report that most people need.

    Args:
        by: columns that the user asked to group by.
        console: by default a wide one on stdout.
    """
    console, report = console or wide_console(), all_visible(report)
    say = console.print
    say(f"{report['path']}: {report['rows']:,} rows, {report['errors']['n']:,} with errors")
    say(f"signature: {report['signature'] or 'no signature'}")
    if report["rough"]["n"]:
        _labels(console, report)
        for column in all_visible(list(by)):
            if column in report["by"]:
                say(f"\nBy {column}")
                say(overview({str(line["value"]): line for line in report["by"][column]}))
    if report["correlations"]:
        _correlations(console, report["correlations"])
    if "metrics" in report:
        print_metrics(console, report["metrics"])
    if "calibration" in report:
        print_calibration(console, report["calibration"])
    print_ceilings(console, report)
    if "against" in report:
        print_against(console, report["against"])
    say("")
    legend = (_LEGEND if report["rough"]["n"] else ()) + (_LEGEND_RATINGS if report["correlations"] else ())
    for name, meaning in legend:
        say(f"{name}: {meaning}")
    say("--full: confusion matrices, groups, shares of labels, trivial predictions, all correlations and comparisons")


def _labels(console: Console, report: LabelReport) -> None:
    gold = report["gold"]["fine"] or report["gold"]["rough"]
    console.print(f"\nAgainst {gold}, {report['rough']['n']:,} rows of {report['inputs']:,} inputs")
    made = table("figure", "value", INTERVAL)
    for name, block, key in FIGURES:
        value = figure(report, block, key)
        if value is not None:
            made.add_row(name, number(value), interval(ends(report, block, key)))
    console.print(made)


def _correlations(console: Console, lines: Sequence[CorrelationLine]) -> None:
    console.print("\nCorrelation with human ratings")
    made = table("metric", "rating", "level", "Spearman", INTERVAL, "n", left=3)
    for line in lines:
        found = line.get("interval", {}).get("spearman")
        cells = (signed(line["spearman"]), interval(found, signed), f"{line['n']:,}")
        made.add_row(line["metric"], line["human"], line["level"], *cells)
    console.print(made)
