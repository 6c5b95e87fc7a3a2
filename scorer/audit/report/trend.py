"""The runs of the history: lines for all rows, and one small line per group in a table."""

from __future__ import annotations

from dataclasses import dataclass

from ..document import RATES, Document, Group
from . import charts, numbers
from .figures import Chart
from .labels import KINDS, MEASURES, count_cell, group_label, group_plain
from .limits import Limits, first
from .tables import Cell, Column, Row, Table, table


@dataclass(frozen=True)
class Trend:
    """A chart of all rows, and a table of the groups if there are any."""

    chart: Chart
    groups: Table | None


def trend(document: Document, limits: Limits) -> Trend | None:
    """Rates of all rows over the runs of the history; ``None`` until it has two runs."""
    runs = [run for run in document["history"] if not run["group"]]
    kept = runs[-limits.runs :]
    if len(kept) < 2:
        return None
    measures = [name for name in RATES if any(run["rates"].get(name) is not None for run in kept)]
    lines = [
        (KINDS.get(name, "rate"), [run["rates"].get(name) for run in kept]) for name in measures if name != "empty_rate"
    ]
    days = [run["night"][:10] for run in kept]
    if len(set(days)) < len(days):  # several runs on one day
        days = [run["night"][:16].replace("T", " ") for run in kept]
    edges = (days[0], days[len(days) // 2], days[-1]) if len(days) % 2 and len(days) > 2 else (days[0], days[-1])
    name = f"Rates of all rows over {numbers.plural(len(kept), 'run')}, {days[0]} to {days[-1]}"
    rows: list[Row] = [
        [
            Cell(day, run["night"][:40]),
            count_cell(run["rows"]),
            *(Cell(numbers.percent(run["rates"].get(measure)), run["rates"].get(measure)) for measure in measures),
            Cell(numbers.probability(run["mean_confidence"]), run["mean_confidence"]),
            run["status"][:10],
        ]
        for day, run in reversed(list(zip(days, kept, strict=True)))
    ]
    columns = [
        Column("Run"),
        Column("Rows", number=True),
        *(Column(MEASURES[measure], number=True) for measure in measures),
        Column("Mean confidence", number=True),
        Column("Result"),
    ]
    legend = tuple((f"trend-line {KINDS.get(one, 'rate')}", MEASURES[one]) for one in measures if one != "empty_rate")
    figures = table("All rows, run by run.", columns, rows, len(runs) - len(kept))
    return Trend(
        Chart(name, legend, charts.trend(lines, edges, name, ("Share of rows", "Run")), figures),
        _groups(document, limits),
    )


def _groups(document: Document, limits: Limits) -> Table | None:
    """A table of the groups: their not_OK rate over the runs, drawn on one scale, and its figures."""
    by_group: dict[tuple[tuple[str, str | None], ...], list[float | None]] = {}
    for row in document["history"]:
        if row["group"]:
            by_group.setdefault(tuple(sorted(row["group"].items())), []).append(row["rates"].get("not_ok_rate"))
    seen: list[tuple[Group, list[float | None]]] = [
        (dict(group), rates[-limits.runs :]) for group, rates in by_group.items() if len(rates) > 1
    ]
    kept, rest = first(seen, limits.entries)
    if not kept:
        return None
    top = charts.nice_top(max((rate for _, rates in kept for rate in rates if rate is not None), default=0.0))
    rows: list[Row] = []
    for group, rates in kept:
        known = [rate for rate in rates if rate is not None]
        figures = (min(known), max(known), rates[-1]) if known else (None, None, None)
        rows.append(
            [
                Cell(group_label(group, limits), group_plain(group, limits)),
                charts.spark(rates, top),
                *(Cell(numbers.percent(figure), figure) for figure in figures),
            ]
        )
    columns = [
        Column("Group"),
        Column("Not OK", sortable=False, wide=True, note=f"line: 0 to {100 * top:g}%"),
        Column("Lowest", number=True),
        Column("Highest", number=True),
        Column("Latest", number=True),
    ]
    return table("Not OK by group over the runs.", columns, rows, rest)
