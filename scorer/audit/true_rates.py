"""True rates of an audited output, from a file of ``scorer rate --save``: in the document, and in words."""

from __future__ import annotations

import msgspec

from ..scoring.rates_file import RatesFile
from ..stats.percentages import percent
from .shown_rows import Part


class TrueRate(Part):
    """A rate of all rows (``group`` is null) or of a group, from human ``labels``: ``value`` with its 95 %
    interval; ``metric``: what the metric's own labels say."""

    rate: str
    group: str | None
    rows: int
    labels: int
    metric: float
    value: float
    low: float
    high: float


class TrueRates(Part):
    """``source``: ``labels``, ``column`` or ``calibration`` (labels of an earlier run). ``by``: the groups' column."""

    source: str
    by: str | None
    rates: list[TrueRate]


def true_rates(found: RatesFile | None) -> TrueRates | None:
    """What the document says of a file; null without one."""
    return msgspec.convert(found, TrueRates | None, from_attributes=True)


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
