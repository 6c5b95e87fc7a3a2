"""``scorer compare``: which system of an output is better, by the metric's labels or by a few of people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..evaluation import CompareOptions
from ..system.arguments import option
from .console import INTERVAL, WHOLE, interval, kinds, number, print_result, say, share, table
from .options import JSON, ScoredArgument, local, written

if TYPE_CHECKING:
    from rich.console import Console

    from ..evaluation.comparison import Comparison


def compare_command(
    out: ScoredArgument,
    options: CompareOptions,
    labels: tuple[Path, ...] = option(
        "Completed file of `scorer sample` for OUT: compares the true rates. Repeatable.", "F.csv", (), parser=local
    ),
    tables: tuple[Path, ...] = option(
        "Write the rates as a table: F.md, F.csv or F.tex. Repeatable.", "F", (), name="--table", parser=written
    ),
    figure: Path | None = option("Write the rates as a figure.", "F.svg", None, parser=written),
    as_json: bool = JSON,
) -> None:
    """Compare all pairs of systems, over the inputs that both have a text for.

    Differences have 95% intervals and McNemar's exact test, corrected for the number of pairs (Holm). With human labels
    of a sample they are those of the true rates; the metric's own rates may favour a system.
    """
    from ..evaluation.comparison import compare
    from ..evaluation.comparison_files import as_svg, table_writer
    from ..storage.user_files import write_user_file

    writers = [(path, table_writer(path.name)) for path in tables]
    comparison = compare(out, " ".join(map(str, out)), labels, options, lambda text: say(f"note: {text}"))
    for path, write in writers:
        write_user_file(path, write(comparison).encode(), "--table")
    if figure is not None:
        write_user_file(figure, as_svg(comparison).encode(), "--figure")
    print_result(comparison, as_json, print_comparison, least_width=WHOLE)


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print the answer, the rates of each system, then the differences of all pairs."""
    from ..evaluation.comparison_files import TITLES, cell, columns_of

    console.print(comparison.headline)
    console.print(f"signature: {comparison.signature or 'no signature'}")
    if comparison.excluded:
        console.print(f"left out: texts with a note: {kinds(comparison.excluded)}")
    console.print()
    columns = columns_of(comparison)
    rates = table(comparison.by, "texts", "labels", *(column.title for column in columns))
    for system in comparison.systems:
        cells = [cell(comparison, system, column).text("*") for column in columns]
        rates.add_row(system.system, f"{system.rows:,}", f"{system.labels:,}", *cells)
    console.print(rates)
    console.print("*: different from the first system (p < .05, corrected for the number of pairs)\n")
    basis = "true rates" if comparison.labels else "the metric's rates"
    figures = ("pairs", "difference", INTERVAL, "p", "p corrected")
    differences = table("differences of " + basis, "", "rate", *figures, left=3)
    for pair in comparison.pairs:
        shown = pair.true if comparison.labels else pair.rates
        corrected = pair.true_p if comparison.labels else pair.p
        for name, estimate in shown.items():
            ends = interval((estimate.low, estimate.high), points)
            figures = (
                f"{pair.pairs:,}",
                points(estimate.difference),
                ends,
                number(estimate.p),
                number(corrected[name]),
            )
            differences.add_row(pair.first, pair.second, TITLES[name], *figures)
    console.print(differences)
    for line in comparison.agreement:
        descriptions = {"fine": "FINE labels that are right", "rough": "ROUGH labels that are right"}
        text = descriptions.get(line.name, f"of rows that the metric calls {line.name}, right")
        console.print(f"{text}: {share(line.value)} ({interval((line.low, line.high), share)}), {line.labels:,} labels")
    if comparison.next:
        console.print("\nFor the true rates, label a sample, then compare again:")
        for command in comparison.next:
            console.print(command)


def points(value: float | None) -> str:
    """A difference of shares, in points of a hundred: ``+1.2``."""
    return "-" if value is None else f"{100 * value:+.1f}"
