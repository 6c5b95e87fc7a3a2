"""The nights of the history: all rows as lines, each group as a small line in its row."""

from __future__ import annotations

from ..document import RATES, Document, Group, HistoryRow
from . import charts, numbers
from .labels import KINDS, MEASURES, count_cell, group_label, group_plain
from .limits import Limits, first
from .markup import Html, element, join
from .tables import Cell, Column, Row, table


def trend(document: Document, limits: Limits) -> Html | None:
    """Rates over the nights of the history, all rows; ``None`` until it has two of them."""
    nights = [night for night in document["history"] if not night["group"]]
    kept = nights[-limits.nights :]
    if len(kept) < 2:
        return None
    measures = [name for name in RATES if any(night["rates"].get(name) is not None for night in kept)]
    lines = [
        (KINDS.get(name, "rate"), [night["rates"].get(name) for night in kept])
        for name in measures
        if name != "empty_rate"
    ]
    days = [night["night"][:10] for night in kept]
    if len(set(days)) < len(days):  # more than one run in a day
        days = [night["night"][:16].replace("T", " ") for night in kept]
    edges = (days[0], days[len(days) // 2], days[-1]) if len(days) % 2 and len(days) > 2 else (days[0], days[-1])
    name = f"Rates of all rows over {numbers.plural(len(kept), 'night')}, {days[0]} to {days[-1]}"
    rows: list[Row] = [
        [
            Cell(day, night["night"][:40]),
            count_cell(night["rows"]),
            *(Cell(numbers.percent(night["rates"].get(measure)), night["rates"].get(measure)) for measure in measures),
            Cell(numbers.probability(night["mean_confidence"]), night["mean_confidence"]),
            night["status"][:10],
        ]
        for day, night in reversed(list(zip(days, kept, strict=True)))
    ]
    columns = [
        Column("Night"),
        Column("Rows", number=True),
        *(Column(MEASURES[measure], number=True) for measure in measures),
        Column("Mean confidence", number=True),
        Column("Result"),
    ]
    chart = element(
        "figure",
        element("figcaption", name),
        charts.legend(
            *((f"trend-line {KINDS.get(one, 'rate')}", MEASURES[one]) for one in measures if one != "empty_rate")
        ),
        charts.trend(lines, edges, name),
        element(
            "details",
            element("summary", "The figures of the chart"),
            table("All rows, night by night.", columns, rows, len(nights) - len(kept)),
        ),
    )
    return join(chart, _groups(document, limits))


def _groups(document: Document, limits: Limits) -> Html | None:
    """A table of the groups: how their not_OK rate went, on one scale, and its figures."""
    nights: dict[tuple[tuple[str, str | None], ...], list[HistoryRow]] = {}
    for night in document["history"]:
        if night["group"]:
            nights.setdefault(tuple(sorted(night["group"].items())), []).append(night)
    seen: list[tuple[Group, list[float | None]]] = [
        (dict(group), [night["rates"].get("not_ok_rate") for night in found[-limits.nights :]])
        for group, found in nights.items()
        if len(found) > 1
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
        Column(f"Not OK, 0 to {100 * top:g} %", sortable=False, wide=True),
        Column("Lowest", number=True),
        Column("Highest", number=True),
        Column("Latest", number=True),
    ]
    return table("Not OK by group over the nights.", columns, rows, rest)
