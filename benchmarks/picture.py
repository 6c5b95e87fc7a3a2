"""Draw bars in SVG: one panel per group, fastest first, ours in colour, with a line from slowest to fastest round."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

_WIDTH, _LEFT, _RIGHT, _BAR, _GAP, _HEAD = 920, 390, 90, 18, 7, 52
_COLOURS = {"ours": "#0b6e4f", "bare": "#b9c7c0", "peer": "#8795a8"}


def draw(groups: Sequence[dict[str, Any]], caption: str) -> str:
    """An SVG of summarised groups (see :func:`benchmarks.results.summarise`); readable on light and dark pages."""
    parts: list[str] = []
    y = 16.0
    for group in groups:
        panel, y = _panel(group, y)
        parts += panel
    parts.append(_text(16, y + 8, caption, 11, "#666"))
    height = y + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {_WIDTH} {height:.0f}" font-family="system-ui, sans-serif" role="img">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _panel(group: dict[str, Any], top: float) -> tuple[list[str], float]:
    done = sorted((s for s in group["settings"] if "median" in s), key=lambda s: -s["median"])
    parts = [_text(16, top + 14, group["title"], 14, "#111", weight="600")]
    parts.append(_text(16, top + 32, f"{group['unit']} a second, median of the rounds; more is better", 11, "#666"))
    longest = max((s["highest"] for s in done), default=1.0)
    scale = (_WIDTH - _LEFT - _RIGHT) / longest
    y = top + _HEAD - 8
    for s in done:
        kind = "ours" if s["ours"] else "bare" if s["bare"] else "peer"
        middle = y + _BAR / 2
        weight = "600" if s["ours"] else "400"
        parts.append(_text(_LEFT - 8, middle + 4, s["label"].replace("`", ""), 12, "#111", "end", weight))
        parts.append(
            f'<rect x="{_LEFT}" y="{y:.1f}" width="{s["median"] * scale:.1f}" height="{_BAR}" rx="2" '
            f'fill="{_COLOURS[kind]}"><title>{escape(s["label"])}: {s["median"]:g}</title></rect>'
        )
        low, high = _LEFT + s["lowest"] * scale, _LEFT + s["highest"] * scale
        line = f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle:.1f}" y2="{middle:.1f}"'
        parts.append(f'{line} stroke="#222" stroke-width="1.5"/>')
        value = f"{s['median']:,.0f}" if s["median"] >= 100 else f"{s['median']:.1f}"
        parts.append(_text(high + 7, middle + 4, value, 12, "#111", weight=weight))
        y += _BAR + _GAP
    return parts, y + 18


def _text(x: float, y: float, text: str, size: int, colour: str, anchor: str = "start", weight: str = "400") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )
