"""``scorer sample`` draws rows to label by hand; ``scorer rate`` makes true rates of the labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import OutputError
from ..system.arguments import option
from .console import INTERVAL, WHOLE, interval, print_line, print_result, say, share, table
from .options import JSON, PARTIAL, ScoredArgument, local, written

if TYPE_CHECKING:
    from rich.console import Console

    from ..evaluation.true_rates import RateReport

_NAMES = {"not_ok_rate": "not_OK", "omission_rate": "omission", "hallucination_rate": "hallucination"}


def sample_command(
    out: ScoredArgument,
    file: Path = option(
        "CSV file to write, or F.html: a page for a browser that saves it. Exits 2 if it exists, unless --force.",
        "F.csv",
        parser=written,
    ),
    rows: int = option("Number of rows to label.", "N", 200, min=10),
    by: str | None = option("Column to spread the rows over. Default: system, if it exists.", "COLUMN", None),
    seed: int = option("Seed of the random draw.", "N", 0, min=0),
    force: bool = option("Replace the file, and the labels in it.", default=False),
    allow_partial: bool = PARTIAL,
) -> None:
    """Draw rows to label by hand, for `scorer rate`.

    Rows are drawn at random from each label of the metric, at least ten of each. F.csv has the facts, the text, and a
    column `label` for OK, omission, hallucination, omission+hallucination or not_OK. It has neither the metric's label
    nor the system, which could influence people. A page, F.html, shows facts and text side by side.
    """
    from ..evaluation.sampling import draw_rows, read_labels, write_items
    from ..storage.user_files import write_user_file

    if file.is_file() and not force:
        raise OutputError(f"--file {file} exists, and may hold labels; name another file, or pass --force")
    name = " ".join(map(str, out))
    scored = read_labels(out, name, (by or "system",), allow_partial)
    column = by or ("system" if scored.scored.has("system") else None)
    drawn = draw_rows(scored, rows, seed, column)
    sheet = file.with_suffix(".csv") if file.suffix.lower() in (".html", ".htm") else None
    content, notes = write_items(scored, drawn, sheet.name if sheet else None)
    for note in notes:
        say(f"note: {note}")
    write_user_file(file, content, "--file")
    print_line(str(file))
    for code, label in scored.classes.items():
        say(f"{label}: {int((scored.fine[drawn] == code).sum()):,} of {int((scored.fine == code).sum()):,} rows")
    fill_in = f"open {file} in a browser, label, save {sheet.name}" if sheet else "fill in the column label"
    say(f"{fill_in}, then: scorer rate {name} --labels {sheet or file}")


def rate_command(
    out: ScoredArgument,
    labels: tuple[Path, ...] = option("Completed file of `scorer sample` for OUT. Repeatable.", "F.csv", parser=local),
    by: str | None = option("Column to group by, for example system.", "COLUMN", None),
    allow_partial: bool = PARTIAL,
    as_json: bool = JSON,
) -> None:
    """Estimate the true rates from a few human labels.

    A few human labels show how often the metric is wrong. Together with its labels of all rows they give the true rates
    with 95% intervals, often as narrow as those of many more random labels without the metric.
    """
    from ..evaluation.true_rates import rate

    name = " ".join(map(str, out))
    report = rate(out, name, labels, by, lambda text: say(f"note: {text}"), allow_partial)
    print_result(report, as_json, print_rates, least_width=WHOLE)


def print_rates(console: Console, report: RateReport) -> None:
    """Print the rates of all rows, then the rates of groups."""
    console.print(f"{report.path}: {report.rows:,} rows, {report.labels:,} of them labelled")
    console.print(f"signature: {report.signature or 'no signature'}\n")
    figures = ("true", INTERVAL, "metric's own", "rows", "labels", "random labels for as much")
    rates = table(report.by or "", "rate", *figures, left=2)
    for line in report.rates:
        group = "all rows" if line.group is None else line.group
        values = (share(line.value), interval((line.low, line.high), share), share(line.metric))
        counts = (f"{line.rows:,}", f"{line.labels:,}", f"{line.random_labels:,}")
        rates.add_row(group, _NAMES[line.rate], *values, *counts)
    console.print(rates)
    for line in report.rates:
        if line.group is None and not line.low <= line.metric <= line.high:
            metric_rate = f"the metric's own {_NAMES[line.rate]} rate, {share(line.metric)}"
            console.print(f"note: {metric_rate}, is outside the interval")
