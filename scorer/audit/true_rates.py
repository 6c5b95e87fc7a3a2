"""True rates of an audited output, from a file of ``scorer rate --save``: in the document, and in words."""

from __future__ import annotations

from typing import TypedDict

from ..scoring.rates_file import RatesFile
from ..stats.percentages import percent


class TrueRate(TypedDict):
    """A rate of all rows (``group`` is null) or of a group, from ``labels`` of people: ``value`` with its 95 %
    interval; ``metric``: what the metric's own labels say."""

    rate: str
    group: str | None
    rows: int
    labels: int
    metric: float
    value: float
    low: float
    high: float


class TrueRates(TypedDict):
    """``source``: ``labels``, ``column`` or ``calibration`` (labels of an earlier run). ``by``: the groups' column."""

    source: str
    by: str | None
    rates: list[TrueRate]


def true_rates(found: RatesFile | None) -> TrueRates | None:
    """What the document says of a file; null without one."""
    if found is None:
        return None
    rates: list[TrueRate] = [
        {
            "rate": one.rate,
            "group": one.group,
            "rows": one.rows,
            "labels": one.labels,
            "metric": one.metric,
            "value": one.value,
            "low": one.low,
            "high": one.high,
        }
        for one in found.rates
    ]
    return TrueRates(source=found.source, by=found.by, rates=rates)


def notes(found: RatesFile) -> list[str]:
    """The rates of all rows, a sentence each."""
    source = "labels of an earlier run" if found.source == "calibration" else "labels"
    return [
        f"true {one.rate.removesuffix('_rate')} rate {percent(one.value)}, "
        f"95% interval {percent(one.low)} to {percent(one.high)}, "
        f"from {one.labels:,} {source} (the metric's own: {percent(one.metric)})"
        for one in found.rates
        if one.group is None
    ]
