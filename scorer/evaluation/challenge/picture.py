"""The result as SVG: a bar by kind for the changed texts, a mark for the unchanged ones."""

from __future__ import annotations

from xml.sax.saxutils import escape

from ...stats.intervals import Rate
from ...stats.percentages import percent
from ...system.display import visible
from .result import ChallengeResult, KindResult

_WIDTH, _LABELS, _BARS, _LINE, _TOP = 760, 170, 470, 22, 84
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px;fill:#59636e}"
    ".wrong{fill:#b35900}.pass{fill:#1a7f37}.line{stroke:#d1d9e0}.interval{stroke:#1f2328;stroke-width:1.5}"
    ".base{stroke:#0969da;stroke-width:3}"
)


def picture(result: ChallengeResult) -> str:
    """An SVG file of its own; nothing in it is loaded from elsewhere."""
    height = _TOP + _LINE * len(result.kinds) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="Challenge set: {_text(result.metric)}">',
        f"<style>{_STYLE}</style><rect width='{_WIDTH}' height='{height}' fill='#ffffff'/>",
        f'<text x="10" y="24" font-weight="600">{_text(result.metric)}: {result.score:.3f} balanced accuracy</text>',
        '<text x="10" y="44" class="small">orange: changed texts that are wrong, share flagged; green: changed texts '
        "that are right, share passed</text>",
        '<text x="10" y="60" class="small">blue mark: unchanged texts, share passed; black line: 95% interval</text>',
    ]
    bottom = _TOP + _LINE * len(result.kinds)
    for tenth in range(0, 11, 2):
        x = _at(tenth / 10)
        parts.append(f'<line class="line" x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{bottom}"/>')
        parts.append(f'<text class="small" x="{x}" y="{bottom + 16}" text-anchor="middle">{tenth * 10}%</text>')
    for number, kind in enumerate(result.kinds):
        parts += _bar(kind, _TOP + _LINE * number)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(kind: KindResult, y: int) -> list[str]:
    middle = y + 6
    shade = "pass" if kind.expected == "OK" else "wrong"
    base = _at(_value(kind.base))
    return [
        f'<text x="{_LABELS - 8}" y="{y + 11}" text-anchor="end">{_text(kind.kind)}</text>',
        f'<rect class="{shade}" x="{_LABELS}" y="{y}" width="{_at(_value(kind.right)) - _LABELS:.1f}" height="13"/>',
        f'<line class="interval" x1="{_at(kind.right["low"] or 0)}" x2="{_at(kind.right["high"] or 0)}" y1="{middle}" '
        f'y2="{middle}"/>',
        f'<line class="base" x1="{base}" x2="{base}" y1="{y - 3}" y2="{y + 16}"/>',
        f'<text class="small" x="{_LABELS + _BARS + 10}" y="{y + 11}">{percent(_value(kind.right))} / '
        f"{percent(_value(kind.base))}</text>",
    ]


def _at(share: float) -> float:
    return round(_LABELS + _BARS * share, 1)


def _value(one: Rate) -> float:
    return one["value"] or 0.0


def _text(value: str) -> str:
    return escape(visible(value))
