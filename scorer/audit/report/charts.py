"""Charts as inline SVG, drawn in per cent across and pixels down.

Figures and classes go in and :class:`markupsafe.Markup` comes out; no text of the data is drawn here.
Without a ``viewBox`` nothing is scaled: a chart is as wide as its place, on a phone or on paper, and its letters stay
the size of the text around them. Colours come from classes, so that light, dark and print each have theirs. A chart
is a picture with a name; its figures are in the table next to it, which is what a screen reader reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from ..document import Rate

ROW_HEIGHT = 20
SPARK_HEIGHT = 34
PLOT_HEIGHT = 200
_TOP = 14  # room for the label of the highest line
_WIDE = 0.2  # of an interval: such a rate is too uncertain to make a scale for
LEAST = 1.0  # height of a column that is not empty


@dataclass(frozen=True)
class Plot:
    """A chart with its scales: ``upright`` and ``area`` are drawn, the labels of ``edges`` are spread below.

    ``name``: what a screen reader says of it. ``axes``: what is drawn upwards and across.
    """

    name: str
    upright: Markup
    area: Markup
    edges: tuple[str, ...]
    axes: tuple[str, str]


def across(share: float) -> str:
    """A position in per cent of the width, kept inside the picture."""
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def nice_top(value: float) -> float:
    """The least of 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1 that is not below ``value``."""
    return next((top for top in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if value <= top), 1.0)


def scale(rates: Sequence[Rate]) -> float:
    """A round end of the scale for rates drawn beneath one another.

    Rates of few rows scatter, and a scale made for them would press all others together: where there are surer ones,
    the scale is theirs, and what lies beyond it is drawn at its end.
    """
    known = [rate for rate in rates if rate.value is not None]
    firm = [rate for rate in known if (rate.high or 0.0) - (rate.low or 0.0) < _WIDE] or known
    highest = max((rate.high or 0.0 for rate in firm), default=0.0)
    return nice_top(max(min(highest, 2 * max((rate.value or 0.0 for rate in firm), default=0.0)), 0.01))


def interval(
    value: float | None, low: float | None, high: float | None, top: float, before: float | None = None, kind: str = ""
) -> Markup:
    """A share as a dot with its interval on a line from 0 to ``top``; ``before`` as a tick beneath.

    A dot beyond the scale stands at its end and is hollow.

    Decoration of a table cell that holds the figure itself, so it is hidden from screen readers.
    """
    middle = ROW_HEIGHT / 2
    parts = [_shape("line", x1="0", x2="100%", y1=middle, y2=middle, class_="rule")]
    if before is not None:
        x = across(before / top)
        parts.append(_shape("line", x1=x, x2=x, y1=3, y2=ROW_HEIGHT - 3, class_="before"))
    if value is not None:
        if low is not None and high is not None:
            ends = {"x1": across(low / top), "x2": across(high / top)}
            parts.append(_shape("line", **ends, y1=middle, y2=middle, class_=f"whisker {kind}".strip()))
        hollow = "hollow" if value > top else ""
        classes = " ".join(filter(None, ("dot", kind, hollow)))
        parts.append(_shape("circle", cx=across(value / top), cy=middle, r=4, class_=classes))
    return _shape("svg", *parts, class_="interval", width="100%", height=ROW_HEIGHT, aria_hidden="true")


def histogram(
    shares: Sequence[float], before: Sequence[float] | None, edges: tuple[str, ...], name: str, axes: tuple[str, str]
) -> Plot:
    """Shares per bin as columns, the baseline's as a line over them, from 0 to a round top.

    A bin that has rows is at least :data:`LEAST` high, so that it is seen next to a large one.

    Args:
        shares: *Shape:* (bins,), each 0 to 1. before: the same of the baseline, or ``None``.
        edges: labels spread evenly below the bins.
        axes: what is drawn upwards and across.
    """
    width = 1 / max(len(shares), 1)
    top = nice_top(max([*shares, *(before or ()), 0.01]))
    parts = _grid(top)
    for i, share in enumerate(shares):
        height = max(PLOT_HEIGHT - _down(share, top), LEAST if share > 0 else 0.0)
        parts.append(
            _shape(
                "rect",
                x=across((i + 0.06) * width),
                width=across(0.88 * width),
                y=round(PLOT_HEIGHT - height, 2),
                height=round(height, 2),
                class_="column",
            )
        )
    if before:
        for i, share in enumerate(before):
            y = _down(share, top)
            parts.append(_shape("line", x1=across(i * width), x2=across((i + 1) * width), y1=y, y2=y, class_="step"))
            if i:
                x = across(i * width)
                parts.append(_shape("line", x1=x, x2=x, y1=_down(before[i - 1], top), y2=y, class_="step"))
    return _plot(parts, top, edges, name, axes)


def trend(
    lines: Sequence[tuple[str, Sequence[float | None]]], edges: tuple[str, ...], name: str, axes: tuple[str, str]
) -> Plot:
    """One line per measure over the runs, from 0 to a round top; a run without a figure breaks the line.

    Args:
        lines: (class, shares), each *Shape:* (runs,), at least two.
        axes: what is drawn upwards and across.
    """
    known = [share for _, shares in lines for share in shares if share is not None]
    top = nice_top(max([*known, 0.01]))
    parts = _grid(top)
    for kind, shares in lines:
        last = None
        for i, share in enumerate(shares):
            if share is None:
                last = None
                continue
            here = (across(0.02 + 0.96 * i / max(len(shares) - 1, 1)), _down(share, top))
            if last is not None:
                parts.append(
                    _shape("line", x1=last[0], y1=last[1], x2=here[0], y2=here[1], class_=f"trend-line {kind}")
                )
            parts.append(_shape("circle", cx=here[0], cy=here[1], r=2.5, class_=f"dot {kind}"))
            last = here
    return _plot(parts, top, edges, name, axes)


def spark(shares: Sequence[float | None], top: float) -> Markup:
    """A line as small as a word, from 0 to ``top``, with a dot at its end; the figures stand in the next cells."""
    height = SPARK_HEIGHT - 4
    parts = [_shape("line", x1="0", x2="100%", y1=height, y2=height, class_="rule")]
    spots = [
        None
        if share is None
        else (across(0.98 * i / max(len(shares) - 1, 1)), round(height * (1 - min(share / top, 1)), 2))
        for i, share in enumerate(shares)
    ]
    for one, other in pairwise(spots):
        if one and other:
            parts.append(_shape("line", x1=one[0], y1=one[1], x2=other[0], y2=other[1], class_="trend-line"))
    if spots and spots[-1]:
        parts.append(_shape("circle", cx=spots[-1][0], cy=spots[-1][1], r=3, class_="dot"))
    return _shape("svg", *parts, class_="interval", width="100%", height=SPARK_HEIGHT, aria_hidden="true")


def _down(share: float, top: float) -> float:
    """A position in pixels from the top of a plot, kept inside it."""
    return round(_TOP + (PLOT_HEIGHT - _TOP) * (1 - min(max(share / top, 0.0), 1.0)), 2)


def _ticks(top: float) -> tuple[float, ...]:
    return tuple(top * quarter / 4 for quarter in range(5))


def _grid(top: float) -> list[Markup]:
    """The lines of the upright scale, and the scale itself."""
    lines = [_shape("line", x1="0", x2="100%", y1=y, y2=y, class_="grid") for y in (_down(t, top) for t in _ticks(top))]
    return [*lines, _shape("line", x1="0", x2="0", y1=_down(top, top), y2=PLOT_HEIGHT, class_="axis")]


def _plot(parts: Sequence[Markup], top: float, edges: tuple[str, ...], name: str, axes: tuple[str, str]) -> Plot:
    """The upright scale is in a column of its own, since text takes no per cent of a margin."""
    labels = [
        _shape("text", f"{100 * tick:g}%", x="100%", y=_down(tick, top) + 4, text_anchor="end") for tick in _ticks(top)
    ]
    upright = _shape("svg", *labels, class_="scale", width=52, height=PLOT_HEIGHT + 6)
    area = _shape("svg", *parts, class_="area", width="100%", height=PLOT_HEIGHT + 6)
    return Plot(name, upright, area, edges, axes)


def _shape(name: str, /, *children: Markup | str, **attributes: str | float | None) -> Markup:
    """An element of a drawing. ``class_`` is ``class``, other underscores are hyphens, ``None`` leaves one out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{''.join(map(escape, children))}</{name}>")
