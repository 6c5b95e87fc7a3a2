"""The differences that a gate against the baseline can detect: the table of docs/audit.md, as Markdown.

::

    python -m benchmarks.gate_power
"""

from __future__ import annotations

from scorer.audit.power import Rows, detectable, rings

BEFORE = 0.10
ROWS = (50, 100, 120, 200, 500, 1000, 5000)
THRESHOLDS = (0.02, 0.05, 0.08, 0.10)


def lines() -> list[str]:
    """The table, line by line."""
    heads = [f"{100 * t:.0f} points" for t in THRESHOLDS]
    found = [f"| rows | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for rows in ROWS:
        cells = []
        for threshold in THRESHOLDS:
            new = Rows.all_new(rows)
            least, by_chance = detectable(new, threshold, BEFORE), rings(new, threshold, BEFORE)
            seldom = "< 0.1 %" if by_chance < 0.0005 else f"{100 * by_chance:.1f} %"
            cells.append("-" if least is None else f"+{100 * least:.1f} ({seldom})")
        found.append(f"| {rows:,} | {' | '.join(cells)} |")
    return found


if __name__ == "__main__":
    print("\n".join(lines()))
