"""Figures as text: counts with separators, shares in percent, differences in points."""

from __future__ import annotations

import math

from ...stats import percentages

MISSING = "–"
_MINUS = "−"
_SPACE = "\u00a0"  # keeps a figure and its unit on one line


def _known(value: object) -> float | None:
    """A finite number, or ``None``: the document may hold nulls, and a mean over no rows is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def count(value: object) -> str:
    """``12,345``."""
    number = _known(value)
    return MISSING if number is None else f"{number:,.0f}".replace("-", _MINUS)


def percent(value: object) -> str:
    """A share of 0 to 1 as ``3.2%``; see :func:`scorer.stats.percentages.percent`."""
    number = _known(value)
    return MISSING if number is None else percentages.percent(number)


def span(low: object, high: object, unit: bool = True) -> str:
    """An interval of shares: ``2.9–3.6%``, or without the unit, next to a figure that has it."""
    first, last = _known(low), _known(high)
    if first is None or last is None:
        return ""
    text = f"{percentages.percent(first).removesuffix('%')}–{percentages.percent(last)}"
    return text if unit else text.removesuffix("%")


def points(value: object) -> str:
    """A difference of shares in percentage points with its sign: ``+4.7``."""
    number = _known(value)
    return MISSING if number is None else percentages.points(number).replace("-", _MINUS)


def point_span(low: object, high: object) -> str:
    """An interval of differences: ``+3.9 to +5.5``."""
    if _known(low) is None or _known(high) is None:
        return ""
    return f"{points(low)} to {points(high)}"


def probability(value: object) -> str:
    """A model's probability, three digits; ``<0.001`` and ``>0.999`` at the ends."""
    number = _known(value)
    if number is None:
        return MISSING
    if 0 < number < 0.0005:
        return "<0.001"
    if 0.9995 <= number < 1:
        return ">0.999"
    return f"{number:.3f}"


def small(value: object) -> str:
    """A statistic without a unit: ``0.031``, ``<0.001``."""
    number = _known(value)
    if number is None:
        return MISSING
    if 0 < abs(number) < 0.0005:
        return "<0.001"
    return f"{number:.3f}".replace("-", _MINUS)


def plural(number: int, one: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count(number)}{_SPACE}{one if number == 1 else one + 's'}"


def sortable(value: object) -> str:
    """What the script sorts a cell by; nothing where there is no figure."""
    number = _known(value)
    return "" if number is None else f"{number:.10g}"


FILTERS = (count, percent, span, points, point_span, probability, small, plural, sortable)
"""What templates can do with figures."""
