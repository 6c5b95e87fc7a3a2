"""True rates, from labels of people and the metric's label of every row (:mod:`scorer.evaluation.rates`)."""

from __future__ import annotations

from dataclasses import dataclass

from ..document import Document, Rate
from ..true_rates import TrueRate
from . import numbers
from .labels import KINDS, MEASURES, count_cell, drawn_column, rate_cell, top_of
from .limits import Limits, clip, first
from .tables import Cell, Column, Row, Table, table

_SOURCES = {
    "labels": "labels of people on a sample of this run",
    "column": "the labels in a column of the data",
    "calibration": "labels of an earlier run, if the metric is right as often in this one",
}


@dataclass(frozen=True)
class TrueRatesShown:
    """``source``: where the labels are from, in words. A table for each rate."""

    source: str
    tables: tuple[Table, ...]


def true_rates(document: Document, limits: Limits) -> TrueRatesShown | None:
    """A table for each rate: all rows first, then the groups."""
    found = document["true_rates"]
    if found is None:
        return None
    title = found["by"] or "Group"
    names = [name for name in MEASURES if any(one["rate"] == name for one in found["rates"])]
    tables = tuple(
        _table(name, title[: limits.name], [one for one in found["rates"] if one["rate"] == name], limits)
        for name in names
    )
    if not tables:
        return None
    return TrueRatesShown(_SOURCES.get(found["source"], found["source"][:40]), tables)


def _table(name: str, title: str, rates: list[TrueRate], limits: Limits) -> Table:
    kept, rest = first(rates, limits.groups)
    shown = [_rate(one) for one in kept]
    top = top_of(list(shown))
    rows: list[Row] = []
    for one, rate in zip(kept, shown, strict=True):
        group = "All rows" if one["group"] is None else clip(one["group"], limits.name)
        rows.append(
            [
                Cell(group, one["group"] or ""),
                count_cell(one["rows"]),
                count_cell(one["labels"]),
                Cell(numbers.percent(one["metric"]), one["metric"]),
                rate_cell(rate, top, one["metric"], KINDS.get(name, "")),
            ]
        )
    columns = [
        Column(title),
        Column("Rows", number=True),
        Column("Labels", number=True),
        Column("By the metric", number=True),
        drawn_column("True rate", top),
    ]
    return table(f"{MEASURES[name]}: the true rate.", columns, rows, rest)


def _rate(one: TrueRate) -> Rate:
    count = round(one["value"] * one["rows"])
    return {"count": count, "n": one["rows"], "value": one["value"], "low": one["low"], "high": one["high"]}
