"""``scorer evaluate``: compare scores with gold labels and human ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evaluation import EvaluateOptions
from ..system.arguments import option
from ..system.terminal import visible
from .console import INTERVAL, MISSING, WHOLE, interval, number, print_result, say, share, signed, table, with_interval
from .options import JSON, ScoredArgument, location, written_parquet

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..evaluation.against import AgainstBlock
    from ..evaluation.calibration import CalibrationBlock
    from ..evaluation.correlation import Kind
    from ..evaluation.label_figures import Confusion
    from ..evaluation.omission_kinds import KindFigures
    from ..evaluation.ratings import CorrelationLine, MetricLine
    from ..evaluation.report import LabelReport
    from ..stats.intervals import Rate


def evaluate_command(
    out: ScoredArgument,
    options: EvaluateOptions,
    against: Any = option(
        "Output of the same rows by another metric: compare their accuracies and correlations.",
        "OUT2",
        None,
        parser=location,
    ),
    disagreements: Path | None = option(
        "Write the rows whose label is not the gold's, with all columns.", "F.parquet", None, parser=written_parquet
    ),
    full: bool = option("Print all tables; --json always has them.", default=False),
    as_json: bool = JSON,
) -> None:
    """Compare scores with gold labels and human ratings.

    Report accuracy, precision, recall, F1 and correlations with 95% intervals; not_OK is the positive class, and rows
    with an error are not_OK. Correlations need the extra `stats`.
    """
    from ..evaluation.report import disagreements as find_disagreements
    from ..evaluation.report import evaluate
    from ..storage.user_files import parquet_target

    options = replace(options, against=against)
    report = evaluate(out, options, lambda message: say(f"note: {message}"))
    if disagreements is not None:
        import pyarrow.parquet as pq

        rows = find_disagreements(out, options)
        pq.write_table(rows, parquet_target(disagreements, "--disagreements"))
        say(f"{disagreements}: {len(rows):,} rows whose label is not that of the gold")
    print_result(report, as_json, partial(print_report, by=options.by, full=full), least_width=WHOLE)


KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
_SHARES = (("precision", "precision"), ("recall", "recall"), ("F1", "f1"))
FIGURES = (
    ("ROUGH accuracy", "rough", "accuracy"),
    *((f"not_OK {title}", "rough", key) for title, key in _SHARES),
    ("FINE accuracy", "fine", "accuracy"),
    ("FINE macro-F1", "fine", "macro_f1"),
    *((f"{side} {title}", side, key) for side in ("omission", "hallucination") for title, key in _SHARES),
)
"""Name, block and key of each figure of the table."""
_LEGEND = (
    ("not_OK", "rows with an omission, a hallucination or both; the positive class"),
    ("FINE", "the four labels; macro-F1 is the mean F1 of the labels that occur"),
    ("omission, hallucination", "that error against all other rows, whatever the other side says"),
    (INTERVAL, "over inputs: Wilson's with the design effect, otherwise a bootstrap"),
)
_LEGEND_RATINGS = (("Spearman", "rank correlation of the metric with the rating, by sentence and by system mean"),)
_OVERVIEW = (
    *[("fine", name) for name in ("accuracy", "macro_f1")],
    *[("rough", name) for name in ("accuracy", "recall", "precision", "f1")],
    *[(side, "f1") for side in ("omission", "hallucination")],
)


def print_report(console: Console, report: LabelReport, by: Sequence[str] = (), *, full: bool = False) -> None:
    """Print a report: the figures that most people need, or every table that has rows.

    Args:
        by: columns that the user asked to group by; ``full`` prints all groups.
    """
    show = console.print
    show(f"{report['path']}: {report['rows']:,} rows, {report['errors']['n']:,} with errors")
    show(f"signature: {report['signature'] or 'no signature'}")
    if report["rough"]["n"]:
        _figures(console, report)
        if full:
            _details(console, report)
        for column in report["by"] if full else map(visible, by):
            if column in report["by"]:
                show(f"\nBy {column}")
                show(_overview({str(line["value"]): line for line in report["by"][column]}))
    if "omissions" in report:
        _print_omissions(console, report["omissions"])
    if report["correlations"]:
        show("\nCorrelations with human ratings" + " (95% intervals over inputs)" * bool(report["resamples"]))
        show(_correlations(report["correlations"], KINDS if full else ("spearman",)))
    if "metrics" in report:
        show("\nSpearman of all metrics (95% intervals); n: rows / inputs / systems")
        show(_metrics(report["metrics"]))
    if "calibration" in report:
        _print_calibration(console, report["calibration"])
    if "against" in report:
        _print_against(console, report["against"])
    if full:
        return
    show("")
    legend = (_LEGEND if report["rough"]["n"] else ()) + (_LEGEND_RATINGS if report["correlations"] else ())
    for name, meaning in legend:
        show(f"{name}: {meaning}")
    show("--full: confusion matrices, groups, trivial predictions, all correlations")


def _figures(console: Console, report: Any) -> None:
    gold = report["gold"]["fine"] or report["gold"]["rough"]
    console.print(f"\nAgainst {gold}, {report['rough']['n']:,} rows of {report['inputs']:,} inputs")
    figures = table("figure", "value", INTERVAL)
    for name, block, key in FIGURES:
        value = report[block][key]
        if value is not None:
            figures.add_row(name, number(value), interval(_ends(report, block, key)))
    console.print(figures)


def _details(console: Console, report: LabelReport) -> None:
    show = console.print
    for labels in ("ROUGH", "FINE"):
        matrix = report["rough" if labels == "ROUGH" else "fine"].get("confusion")
        if matrix:
            show(f"\nConfusion, {labels}: gold down, predicted across")
            show(_confusion(matrix))
    parts: dict[str, Any] = {f"trivial: {name}": figures for name, figures in report["strawmen"].items()}
    if "without_suspect" in report:
        parts["without suspect gold"] = report["without_suspect"]
    show("\nAlongside")
    show(_overview({"ours": report} | parts))
    if report.get("ranking"):
        ranking = report["ranking"]
        area = with_interval(ranking["roc_auc"], ranking.get("interval"))
        show(f"low confidence as a predictor of not_OK: ROC AUC {area}, n {ranking['n']:,}")


def _overview(parts: Mapping[str, Any]) -> Table:
    """A line of the main figures for each part, and below it their intervals where there are some."""
    overview = table("", "n", "Af", "macro-F1", "Ar", "R", "P", "F1", "om F1", "hal F1")
    for name, part in parts.items():
        values = [part[block][key] for block, key in _OVERVIEW]
        overview.add_row(name, f"{part['rough']['n']:,}", *map(number, values))
        between = [_ends(part, block, key) for block, key in _OVERVIEW]
        if any(between):
            overview.add_row("  " + INTERVAL, "", *map(interval, between))
    return overview


def _ends(part: Mapping[str, Any], block: str, key: str) -> Any:
    return part[block].get("interval", {}).get(key)


def _confusion(matrix: Confusion) -> Table:
    predicted = list(next(iter(matrix.values())))
    confusion = table("", *predicted, "all")
    for gold, line in matrix.items():
        confusion.add_row(gold, *(f"{n:,}" for n in line.values()), f"{sum(line.values()):,}")
    return confusion


def _correlations(lines: list[CorrelationLine], kinds: Sequence[Kind]) -> Table:
    correlations = table("metric", "human", "level", *kinds, "n", left=3)
    for line in lines:
        ends = line.get("interval", {})
        shown = (with_interval(line[kind], ends.get(kind), signed) for kind in kinds)
        correlations.add_row(line["metric"], line["human"], line["level"], *shown, f"{line['n']:,}")
    return correlations


def _metrics(lines: Sequence[MetricLine]) -> Table:
    """The metrics by rating: metrics without references come first."""
    metrics = table("human", "metric", "references", "pooled", "with empty", "within inputs", "by system", "n", left=3)
    for line in sorted(lines, key=lambda line: (line["human"], line["references"] is not False)):
        estimates = (line["pooled"], line["pooled_with_empty"], line["within"], line["system"])
        shown = (with_interval(estimate["value"], estimate["interval"], signed) for estimate in estimates)
        sees = {False: "no", True: "yes", None: MISSING}[line["references"]]
        sizes = " / ".join(f"{estimate['n']:,}" for estimate in (line["pooled"], line["within"], line["system"]))
        metrics.add_row(line["human"], line["metric"], sees, *shown, sizes)
    return metrics


_RIGHT = {
    "rough": "ROUGH labels that are right",
    "fine": "FINE labels that are right",
    "omission": "omissions that are right",
    "hallucination": "hallucinations that are right",
}


def _print_against(console: Console, block: AgainstBlock) -> None:
    """Print the differences between two metrics on the same rows."""
    console.print(
        f"\nCompared with {block['path']}, {block['rows']:,} rows (differences of the first minus the second)"
    )
    console.print(f"signature: {block['signature'] or 'no signature'}")
    differences = table("figure", "first", "second", "difference", INTERVAL, "p (McNemar)")
    for name, comparison in block["accuracy"].items():
        ends = interval((comparison.low, comparison.high), signed)
        values = (
            number(comparison.first.value),
            number(comparison.second.value),
            signed(comparison.difference),
            ends,
            number(comparison.p),
        )
        differences.add_row(_RIGHT[name], *values)
    for line in block["correlations"]:
        ends = interval(line["interval"], signed)
        values = (signed(line["first"]), signed(line["second"]), signed(line["difference"]), ends, MISSING)
        differences.add_row(f"{line['kind']} of the confidence with {line['human']}, {line['n']:,} rows", *values)
    console.print(differences)


def _print_omissions(console: Console, kinds: Mapping[str, KindFigures]) -> None:
    gold = " and ".join(figures["gold"] for figures in kinds.values())
    console.print(f"\nOmitted facts by kind, by row, against {gold}")
    rates = table("", "gold rows", "precision", INTERVAL, "recall", INTERVAL)
    for kind, figures in kinds.items():
        cells = [
            text for rate in (figures["precision"], figures["recall"]) for text in (number(rate.value), _span(rate))
        ]
        rates.add_row(kind.replace("_", " "), f"{figures['rows']:,}", *cells)
    console.print(rates)


def _span(rate: Rate) -> str:
    return interval([rate.low, rate.high])


def _print_calibration(console: Console, block: CalibrationBlock) -> None:
    """Print how often rows of each confidence are OK, before and after isotonic regression."""
    console.print(f"\nThe confidence as the probability of OK, {block['n']:,} rows of {block['inputs']:,} inputs")
    bins = table("confidence", "n", "mean", "OK by the gold", INTERVAL, "calibrated")
    for line in block["lines"]:
        bins.add_row(
            interval((line["low"], line["high"]), lambda end: number(end, 1)),
            f"{line['n']:,}",
            number(line["confidence"]),
            share(line["ok"]),
            interval(line["interval"], share),
            number(line["calibrated"]),
        )
    console.print(bins)
    errors = table("", "as it is", INTERVAL, "calibrated", INTERVAL)
    figures: Any = block
    for title, name in (("expected calibration error", "error"), ("Brier score", "brier")):
        pairs = [(figures[key], block["interval"].get(key)) for key in (name, f"calibrated_{name}")]
        errors.add_row(title, *(text for value, ends in pairs for text in (number(value), interval(ends))))
    console.print(errors)
    console.print("calibrated: isotonic regression on other inputs, in five folds")
