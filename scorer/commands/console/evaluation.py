"""The tables of an evaluation report, from the object that ``--json`` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from ...evaluation.correlation import KINDS
from ...evaluation.label_report import (
    Blocks,
    ComparisonLine,
    Confusion,
    CorrelationLine,
    Kind,
    LabelReport,
    ends,
    figure,
)
from ...system.display import all_visible
from .console import make_console
from .figures import INTERVAL, MISSING, interval, number, signed, table
from .metrics import print_calibration, print_metrics

FIGURES = (
    ("ROUGH accuracy", "rough", "accuracy"),
    ("not_OK precision", "rough", "precision"),
    ("not_OK recall", "rough", "recall"),
    ("not_OK F1", "rough", "f1"),
    ("FINE accuracy", "fine", "accuracy"),
    ("FINE macro-F1", "fine", "macro_f1"),
    ("omission precision", "omission", "precision"),
    ("omission recall", "omission", "recall"),
    ("omission F1", "omission", "f1"),
    ("hallucination precision", "hallucination", "precision"),
    ("hallucination recall", "hallucination", "recall"),
    ("hallucination F1", "hallucination", "f1"),
)
"""Name, block and key of each figure of the table."""
_LEGEND = (
    ("not_OK", "rows with an omission, a hallucination or both; the positive class"),
    ("FINE", "the four labels; macro-F1 is the mean F1 of the labels that occur"),
    ("omission, hallucination", "that error against all other rows, whatever the other side says"),
    (INTERVAL, "over inputs: Wilson's with the design effect, otherwise a bootstrap"),
)
_LEGEND_RATINGS = (("Spearman", "rank correlation of the metric with the rating, by sentence and by system mean"),)
WIDTH = 150
_OVERVIEW = (
    *[("fine", name) for name in ("accuracy", "macro_f1")],
    *[("rough", name) for name in ("accuracy", "recall", "precision", "f1")],
    *[(side, "f1") for side in ("omission", "hallucination")],
)
_SHORT = {"OK": "OK", "omission": "om", "hallucination": "hal", "omission+hallucination": "om+hal", "not_OK": "not_OK"}


def print_report(
    report: LabelReport, by: Sequence[str] = (), *, full: bool = False, console: Console | None = None
) -> None:
    """Print a report: the figures that most people need, or every table that has rows.

    Args:
        by: columns that the user asked to group by; ``full`` prints all groups.
        console: by default a wide one on stdout.
    """
    console, report = console or wide_console(), all_visible(report)
    say = console.print
    say(f"{report['path']}: {report['rows']:,} rows, {report['errors']['n']:,} with errors")
    say(f"signature: {report['signature'] or 'no signature'}")
    if report["rough"]["n"]:
        _figures(console, report)
        if full:
            _details(console, report)
        for column in report["by"] if full else all_visible(list(by)):
            if column in report["by"]:
                say(f"\nBy {column}")
                say(overview({str(line["value"]): line for line in report["by"][column]}))
    if report["correlations"]:
        say("\nCorrelations with human ratings" + " (95% intervals over inputs)" * bool(report["resamples"]))
        say(_correlations(report["correlations"], KINDS if full else ("spearman",)))
    if full and report["comparisons"]:
        say("\nIs one correlation higher? Percentile bootstrap over inputs (Wilcox 2009); p corrected (Holm)")
        say(_comparisons(report["comparisons"]))
    if "metrics" in report:
        print_metrics(console, report["metrics"])
    if "calibration" in report:
        print_calibration(console, report["calibration"])
    if full:
        return
    say("")
    legend = (_LEGEND if report["rough"]["n"] else ()) + (_LEGEND_RATINGS if report["correlations"] else ())
    for name, meaning in legend:
        say(f"{name}: {meaning}")
    say("--full: confusion matrices, groups, trivial predictions, all correlations and comparisons")


def _figures(console: Console, report: LabelReport) -> None:
    gold = report["gold"]["fine"] or report["gold"]["rough"]
    console.print(f"\nAgainst {gold}, {report['rough']['n']:,} rows of {report['inputs']:,} inputs")
    made = table("figure", "value", INTERVAL)
    for name, block, key in FIGURES:
        value = figure(report, block, key)
        if value is not None:
            made.add_row(name, number(value), interval(ends(report, block, key)))
    console.print(made)


def _details(console: Console, report: LabelReport) -> None:
    say = console.print
    for labels in ("ROUGH", "FINE"):
        matrix = report["rough" if labels == "ROUGH" else "fine"].get("confusion")
        if matrix:
            say(f"\nConfusion, {labels}: gold down, predicted across")
            say(_confusion(matrix))
    parts: dict[str, Blocks] = {f"trivial: {name}": figures for name, figures in report["strawmen"].items()}
    if "suspect" in report:
        parts["without suspect gold"] = report["without_suspect"]
    say("\nAlongside")
    say(overview({"ours": report} | parts))
    if report.get("ranking"):
        ranking = report["ranking"]
        say(
            f"low confidence as a predictor of not_OK: ROC AUC {number(ranking['roc_auc'])} "
            f"({interval(ranking.get('interval'))}; n {ranking['n']:,})"
        )


def overview(parts: Mapping[str, Blocks]) -> Table:
    """A line of the main figures for each part, and below it their intervals where there are some."""
    made = table("", "n", "Af", "macro-F1", "Ar", "R", "P", "F1", "om F1", "hal F1")
    for name, part in parts.items():
        values = [figure(part, block, key) for block, key in _OVERVIEW]
        made.add_row(name, f"{part['rough']['n']:,}", *map(number, values))
        between = [ends(part, block, key) for block, key in _OVERVIEW]
        if any(between):
            made.add_row("  " + INTERVAL, "", *map(interval, between))
    return made


def _confusion(matrix: Confusion) -> Table:
    predicted = list(next(iter(matrix.values())))
    made = table("", *(_SHORT.get(name, name) for name in predicted), "all")
    for gold, line in matrix.items():
        made.add_row(_SHORT[gold], *(f"{n:,}" for n in line.values()), f"{sum(line.values()):,}")
    return made


def _correlations(lines: list[CorrelationLine], kinds: Sequence[Kind]) -> Table:
    made = table("metric", "human", "level", *kinds, "n", left=3)
    for line in lines:
        shown = []
        for kind in kinds:
            found = line.get("interval", {}).get(kind)
            shown.append(signed(line[kind]) + (f" ({interval(found, signed)})" if found else ""))
        made.add_row(line["metric"], line["human"], line["level"], *shown, f"{line['n']:,}")
    return made


def _comparisons(lines: list[ComparisonLine]) -> Table:
    made = table("first", "second", "level", "", "difference", INTERVAL, "p", "higher", "n", left=4)
    for line in lines:
        for kind in KINDS:
            found = line[kind]
            if found is None:
                made.add_row(line["first"], line["second"], line["level"], kind, *[MISSING] * 5)
                continue
            higher = line[found["higher"]] if found["higher"] else "neither"
            made.add_row(line["first"], line["second"], line["level"], kind, signed(found["difference"]),
                          interval((found["low"], found["high"]), signed),
                          number(found["p"]), higher, f"{found['n']:,}")  # fmt: skip
    return made


def wide_console() -> Console:
    """A console on which no figure is cut off: a narrow terminal wraps lines, a pipe gets them whole."""
    return make_console(least_width=WIDTH)
