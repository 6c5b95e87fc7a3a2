"""Where figures are drawn: in per cent across and in pixels down, from 0 to a round end of the scale.

The drawings are in ``templates/charts.html.jinja``.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..document import Rate

PLOT_HEIGHT = 200
PLOT_TOP = 14  # room for the label of the highest line
_WIDE = 0.2  # of an interval: such a rate is too uncertain to make a scale for


def across(share: float) -> str:
    """A position in per cent of the width, kept inside the picture."""
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def down(share: float, top: float) -> float:
    """A position in pixels from the top of a plot, kept inside it."""
    return round(PLOT_TOP + (PLOT_HEIGHT - PLOT_TOP) * (1 - min(max(share / top, 0.0), 1.0)), 2)


def nice_top(shares: Sequence[float | None]) -> float:
    """The least of 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1 that no share is above."""
    highest = max((share for share in shares if share is not None), default=0.0)
    return next((top for top in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if highest <= top), 1.0)


def scale(rates: Sequence[Rate]) -> float:
    """A round end of the scale for rates drawn beneath one another.

    Rates of few rows scatter, and a scale made for them would press all others together: where there are surer ones,
    the scale is theirs, and what lies beyond it is drawn at its end.
    """
    known = [rate for rate in rates if rate.value is not None]
    firm = [rate for rate in known if (rate.high or 0.0) - (rate.low or 0.0) < _WIDE] or known
    highest = max((rate.value or 0.0 for rate in firm), default=0.0)
    return nice_top([min(2 * highest, max((rate.high or 0.0 for rate in firm), default=0.0))])
