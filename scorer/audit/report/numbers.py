"""Figures as text: counts with separators, shares in percent, differences in points; null is a dash."""

from __future__ import annotations

from ...stats import percentages

MISSING = "–"
MINUS = "−"
_SPACE = "\u00a0"  # keeps a figure and its unit on one line


def count(value: float | None) -> str:
    """``12,345``."""
    return MISSING if value is None else f"{value:,.0f}".replace("-", MINUS)


def percent(value: float | None) -> str:
    """A share of 0 to 1 as ``3.2%``; see :func:`scorer.stats.percentages.percent`."""
    return MISSING if value is None else percentages.percent(value)


def span(low: float | None, high: float | None, unit: bool = True) -> str:
    """An interval of shares: ``2.9–3.6%``, or without the unit, next to a figure that has it."""
    if low is None or high is None:
        return ""
    text = f"{percentages.percent(low).removesuffix('%')}–{percentages.percent(high)}"
    return text if unit else text.removesuffix("%")


def points(value: float | None) -> str:
    """A difference of shares in percentage points with its sign: ``+4.7``."""
    return MISSING if value is None else percentages.points(value).replace("-", MINUS)


def point_span(low: float | None, high: float | None) -> str:
    """An interval of differences: ``+3.9 to +5.5``."""
    return "" if low is None or high is None else f"{points(low)} to {points(high)}"


def probability(value: float | None) -> str:
    """A model's probability, three digits; ``<0.001`` and ``>0.999`` at the ends."""
    return ">0.999" if value is not None and 0.9995 <= value < 1 else small(value)


def small(value: float | None) -> str:
    """A statistic without a unit: ``0.031``, ``<0.001``."""
    if value is None:
        return MISSING
    if 0 < abs(value) < 0.0005:
        return "<0.001"
    return f"{value:.3f}".replace("-", MINUS)


def plural(number: int, one: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count(number)}{_SPACE}{one if number == 1 else one + 's'}"


def sortable(value: float | None) -> str:
    """What the script sorts a cell by; nothing where there is no figure."""
    return "" if value is None else f"{value:.10g}"


FILTERS = (count, percent, span, points, point_span, probability, small, plural, sortable)
"""What templates can do with figures."""
