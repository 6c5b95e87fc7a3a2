"""A comparison of systems as a table for a paper (Markdown, CSV, LaTeX) and as a figure (SVG)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from ..errors import UsageError
from ..system.numbers import percent
from .comparison import Comparison, joined
from .systems import CONTRADICTED, LEVEL, ComparedSystem
from .true_rates import RATES

TITLES = {
    RATES[0]: "not OK",
    RATES[1]: "omission",
    CONTRADICTED: "contradicted",
    RATES[2]: "hallucination",
}
"""The errors that each rate counts, in the order in which rates are shown."""
MARK = "*"


class Cell(NamedTuple):
    """A rate of a system, from 0 to 1."""

    value: float | None
    """The rate; ``None`` where there is none."""
    low: float | None
    """Lower limit of its 95 % interval."""
    high: float | None
    """Upper limit of its 95 % interval."""
    is_different: bool = False
    """Whether it differs significantly from the first system's."""

    def text(self, mark: str) -> str:
        """``12.5% [6.9, 21.5]*``"""
        if self.value is None or self.low is None or self.high is None:
            return "–"
        interval = f"{percent(self.value)} [{100 * self.low:.1f}, {100 * self.high:.1f}]"
        return interval + (mark if self.is_different else "")


class Column(NamedTuple):
    """A column of the table."""

    title: str
    """Heading."""
    rate: str
    """Name of the rate."""
    is_true: bool
    """Whether the rate is estimated from human labels."""


def columns_of(comparison: Comparison) -> list[Column]:
    """The rates that a comparison has: the true ones first."""
    names = [name for name in TITLES if any(name in system.rates for system in comparison.systems)]
    true = [name for name in names if any(name in system.true for system in comparison.systems)]
    suffix = " (metric)" if true else ""
    return [Column(f"{TITLES[name]} (true)", name, True) for name in true] + [
        Column(TITLES[name] + suffix, name, False) for name in names
    ]


def cell(comparison: Comparison, system: ComparedSystem, column: Column) -> Cell:
    """A rate of a system, marked where Holm's p-value against the best system is below :data:`.systems.LEVEL`."""
    pair = next(
        (pair for pair in comparison.pairs if {pair.first, pair.second} == {_best(comparison), system.system}), None
    )
    p = {} if pair is None else pair.true_p if column.is_true else pair.p
    rate = system.true.get(column.rate) if column.is_true else system.rates.get(column.rate)
    if rate is None:
        return Cell(None, None, None)
    return Cell(rate.value, rate.low, rate.high, p.get(column.rate, 1.0) < LEVEL)


def _best(comparison: Comparison) -> str:
    return comparison.systems[0].system


def _caption(comparison: Comparison) -> str:
    source = f"; true rates are estimated from {comparison.labels:,} human labels" if comparison.labels else ""
    source += f"; without texts noted as {joined([*comparison.excluded])}" if comparison.excluded else ""
    test = "" if comparison.labels else "McNemar's exact test, "
    return (
        f"Share of texts with each kind of error, with 95% intervals{source}. {MARK}: different from "
        f"{_best(comparison)} ({test}over common inputs, Holm-corrected, p < {LEVEL})."
    )


def as_markdown(comparison: Comparison) -> str:
    """A table of GitHub's Markdown, and its caption."""
    columns = columns_of(comparison)
    lines = [["system", "texts", *(column.title for column in columns)], ["---", "--:", *["--:"] * len(columns)]]
    for system in comparison.systems:
        cells = [cell(comparison, system, column).text(r"\*") for column in columns]
        lines.append([_escape_markdown(system.system), f"{system.rows:,}", *cells])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{_escape_markdown(_caption(comparison))}\n"


def as_csv(comparison: Comparison) -> str:
    """A line for each system: of each rate the value, both limits, and whether it differs from the first system."""
    columns = columns_of(comparison)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    parts = ("", " low", " high", " differs from the best")
    writer.writerow(["system", "texts", *(column.title + part for column in columns for part in parts)])
    for system in comparison.systems:
        values = [value for column in columns for value in cell(comparison, system, column)]
        writer.writerow([system.system, system.rows, *("" if value is None else value for value in values)])
    return out.getvalue()


def as_latex(comparison: Comparison) -> str:
    """A table of LaTeX with the rules of booktabs, for ``\\input``."""
    columns = columns_of(comparison)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{lr{'r' * len(columns)}}}",
        r"\toprule",
        " & ".join(["system", "texts", *(_escape_latex(column.title) for column in columns)]) + r" \\",
        r"\midrule",
    ]
    for system in comparison.systems:
        cells = [_escape_latex(cell(comparison, system, column).text("@")).replace("@", "$^{*}$") for column in columns]
        lines.append(" & ".join([_escape_latex(system.system), f"{system.rows:,}", *cells]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_escape_latex(_caption(comparison))}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
}


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in " ".join(text.split()))


def _escape_markdown(text: str) -> str:
    return "".join("\\" + char if char in "\\`*_{}[]<>|#" else char for char in " ".join(text.split()))


TABLES: dict[str, Callable[[Comparison], str]] = {".md": as_markdown, ".csv": as_csv, ".tex": as_latex}
"""How a table is written, by the ending of its file."""


def table_writer(name: str) -> Callable[[Comparison], str]:
    """How a table of this name is written; a :class:`.UsageError` for another ending."""
    for ending, write in TABLES.items():
        if name.lower().endswith(ending):
            return write
    raise UsageError(f"--table {name}: name a file that ends in {', '.join(TABLES)}")


_LEFT, _PANEL, _GAP, _LINE, _TOP = 150, 180, 44, 26, 46
_STYLE = """
text{font:13px system-ui,sans-serif;fill:#222}.quiet{fill:#666;font-size:11px}
.rule{stroke:#ccc}.bar{stroke:#2a5db0;stroke-width:2}.dot{fill:#2a5db0}
.other .bar{stroke:#b3261e}.other .dot{fill:#b3261e}
@media(prefers-color-scheme:dark){text{fill:#ddd}.quiet{fill:#999}.rule{stroke:#444}
.bar{stroke:#8ab4f8}.dot{fill:#8ab4f8}.other .bar{stroke:#f28b82}.other .dot{fill:#f28b82}}
"""


def as_svg(comparison: Comparison) -> str:
    """A figure of its own: a panel for each rate, in it a dot and the 95 % interval of each system.

    Systems that differ significantly from the best one have another colour. True rates, if there are any.
    """
    columns = [column for column in columns_of(comparison) if column.is_true or not comparison.labels]
    width = _LEFT + len(columns) * (_PANEL + _GAP)
    height = _TOP + _LINE * len(comparison.systems) + 30
    body = [_text(8, _TOP + _LINE * (row + 0.5) + 4, _short(system.system))
            for row, system in enumerate(comparison.systems)]  # fmt: skip
    for position, column in enumerate(columns):
        cells = [cell(comparison, system, column) for system in comparison.systems]
        body += _panel(_LEFT + position * (_PANEL + _GAP), column.title, cells)
    title = escape(comparison.headline)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{title}</title><style>{_STYLE}</style>{"".join(body)}</svg>\n'
    )


def _panel(left_margin: float, title: str, cells: Sequence[Cell]) -> list[str]:
    """One rate of all systems, from 0 to the smallest tenth that holds every interval."""
    top = min(1.0, max([0.1, *(-(-(cell.high or 0.0) * 10 // 1) / 10 for cell in cells)]))
    bottom = _TOP + _LINE * len(cells)

    def across(value: float) -> float:
        return round(left_margin + _PANEL * value / top, 1)

    parts = [_text(left_margin, 22, title)]
    for tick in (0.0, top / 2, top):
        parts.append(f'<line class="rule" x1="{across(tick)}" x2="{across(tick)}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(_text(across(tick), bottom + 18, f"{100 * tick:g}%", "quiet", "middle"))
    for row, cell in enumerate(cells):
        if cell.value is None or cell.low is None or cell.high is None:
            continue
        y = _TOP + _LINE * (row + 0.5)
        parts.append(
            f'<g class="{"other" if cell.is_different else "best"}"><title>{escape(cell.text(MARK))}</title>'
            f'<line class="bar" x1="{across(cell.low)}" x2="{across(cell.high)}" y1="{y}" y2="{y}"/>'
            f'<circle class="dot" cx="{across(cell.value)}" cy="{y}" r="4"/></g>'
        )
    return parts


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{style}" text-anchor="{anchor}">{escape(text)}</text>'


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"
