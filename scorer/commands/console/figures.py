"""How figures appear on a console: one form for a number, a share, an interval, counts by kind, and a table.

A value that is missing (``None``) is shown as :data:`MISSING` by every function here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from rich.table import Table

from ...stats import percentages

MISSING = "-"
INTERVAL = "95% interval"
"""The header of every column of intervals."""


def number(value: float | None, digits: int = 3) -> str:
    """A figure with a fixed number of decimals: ``0.864``."""
    return MISSING if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """A correlation or a difference, with its sign: ``+0.508``."""
    return MISSING if value is None else f"{value:+.{digits}f}"


def share(value: float | None) -> str:
    """A share from 0 to 1, in percent: ``12.3%``; see :func:`scorer.stats.percentages.percent`."""
    return MISSING if value is None else percentages.percent(value)


def points(value: float | None) -> str:
    """A difference of two shares, in percentage points with its sign: ``+1.2``."""
    return MISSING if value is None else percentages.points(value)


def interval(pair: Sequence[float | None] | None, form: Callable[[float | None], str] = number) -> str:
    """The two ends of an interval, each shown by ``form``: ``0.102 to 0.391``."""
    if pair is None or pair[0] is None or pair[1] is None:
        return MISSING
    return f"{form(pair[0])} to {form(pair[1])}"


def kinds(counts: Mapping[str, int], prefix: str = "") -> str:
    """Counts by kind, in the order given: ``null_text 3, too_long:omission 1``. ``prefix`` goes before each count."""
    return ", ".join(f"{kind} {prefix}{count:,}" for kind, count in counts.items())


def duration(seconds: float) -> str:
    """A time in the unit that suits it: ``80 s``, ``12 min``, ``3.4 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def table(*headers: str, left: int = 1, names: Collection[str] = ()) -> Table:
    """An empty table in the one style that all commands use.

    Args:
        headers: one per column; an empty string for a column without a header.
        left: columns from the left that hold names. They are aligned left and may wrap; all others hold figures,
            are aligned right and never wrap.
        names: headers of further columns that hold names.
    """
    made = Table(box=None, pad_edge=False)
    for position, header in enumerate(headers):
        is_name = position < left or header in names
        made.add_column(header, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold")
    return made
