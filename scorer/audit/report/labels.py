"""What several sections show in the same way: groups, rates with their intervals, statuses, changes."""

from __future__ import annotations

from typing import Final

from ..document import Document, Group, GroupFigures, Rate, RateChange
from . import charts, numbers
from .limits import Limits, clip, clip_plain
from .tables import Cell, Column
from .views import Difference, GroupHead, GroupInLine, RateShown, Styled, Tag, Text

MEASURES: Final = {
    "not_ok_rate": "Not OK",
    "omission_rate": "Omission",
    "hallucination_rate": "Hallucination",
    "error_rate": "Errors",
    "empty_rate": "Empty texts",
    "unsupported_numbers_rate": "Unsupported numbers",
}
OTHER_METRICS: Final = {
    "backoff_rate": "Backoff",
    "mean_confidence": "Mean confidence",
    "label_flips": "Label flips",
    "psi_confidence": "Drift of confidence (PSI)",
}
KINDS: Final = {"omission_rate": "omission", "hallucination_rate": "hallucination", "error_rate": "error"}
WIDE: Final = 0.2  # of an interval: such a rate is too uncertain to make a scale for
STATUSES: Final = {"pass": "passed", "warn": "warning", "fail": "failed", "silent": "silent", "partial": "partial"}
_COLOURS: Final = {"partial": "warn"}


def metric_name(metric: str) -> str:
    """A metric in words; one that this version does not know as it is."""
    return MEASURES.get(metric) or OTHER_METRICS.get(metric) or metric


def all_rows(document: Document) -> GroupFigures | None:
    """The figures of all rows, which come first."""
    return document["groups"][0] if document["groups"] else None


def group_plain(group: Group, limits: Limits) -> str:
    """``system = tgen, category = null`` as plain text."""
    if not group:
        return "all rows"
    shown = list(group.items())[: limits.few]
    return ", ".join(
        f"{clip_plain(name, limits.name)} = {'null' if value is None else clip_plain(value, limits.name)}"
        for name, value in shown
    )


def group_label(group: Group, limits: Limits, columns: bool = True) -> GroupHead:
    """A group as the head of its row: the values, and below them the ``columns`` that they are of."""
    shown = list(group.items())[: limits.few]
    values = tuple(_value(value, limits) for _, value in shown)
    names = clip(" · ".join(name for name, _ in shown), limits.name) if columns and shown else None
    return GroupHead(values, names)


def group_inline(group: Group, limits: Limits) -> GroupInLine:
    """A group within a sentence."""
    shown = list(group.items())[: limits.few]
    return GroupInLine(tuple((clip(name, limits.name), _value(value, limits)) for name, value in shown))


def _value(value: str | None, limits: Limits) -> Text | None:
    return None if value is None else clip(value, limits.name)


def rate_cell(rate: Rate | None, top: float, before: float | None = None, kind: str = "") -> Cell:
    """A rate, its interval, and both drawn on a line from 0 to ``top``."""
    if rate is None or rate["value"] is None:
        return Cell(Styled(numbers.MISSING, "quiet"), None)
    drawing = charts.interval(rate["value"], rate["low"], rate["high"], top, before, kind)
    interval = numbers.span(rate["low"], rate["high"], unit=False)
    return Cell(RateShown(numbers.percent(rate["value"]), interval, drawing), rate["value"])


def drawn_column(title: str, top: float) -> Column:
    """The heading of a column of rates that are drawn from 0 to ``top``: it names both ends of the scale."""
    return Column(title, number=True, wide=True, note=f"line: 0 to {100 * top:g}%")


def count_cell(value: int | None) -> Cell:
    """A count."""
    return Cell(numbers.count(value), value)


def top_of(rates: list[Rate | None]) -> float:
    """A round end of the scale for rates drawn beneath one another.

    Rates of few rows scatter, and a scale made for them would press all others together: where there are surer ones,
    the scale is theirs, and what lies beyond it is drawn at its end.
    """
    known = [rate for rate in rates if rate is not None and rate["value"] is not None]
    firm = [rate for rate in known if (rate["high"] or 0.0) - (rate["low"] or 0.0) < WIDE] or known
    values = [rate["value"] or 0.0 for rate in firm]
    highs = [rate["high"] or 0.0 for rate in firm]
    return charts.nice_top(max(min(max(highs, default=0.0), 2 * max(values, default=0.0)), 0.01))


def tag(status: str) -> Tag:
    """A status as a word in its colour."""
    colour = _COLOURS.get(status, status) if status in STATUSES else "silent"
    return Tag(STATUSES.get(status, status[:40]), colour)


def difference(change: RateChange) -> Difference | str:
    """``+4.7 points (+3.9 to +5.5)``, coloured where it is significant; rates here are all better when lower."""
    value = change["difference"]
    if value is None:
        return numbers.MISSING
    style = ("up" if value > 0 else "down") if change["significant"] else "quiet"
    return Difference(f"{numbers.points(value)}\u00a0points", numbers.point_span(change["low"], change["high"]), style)
