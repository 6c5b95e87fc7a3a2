"""Tables that read the same on screen, on paper and aloud: a caption, scoped headings, figures to the right.

The script turns the headings of a table of class ``sortable`` into buttons; without it the table is static.
``templates/tables.html.jinja`` marks them up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from . import numbers
from .views import Shown

_KEY = 60  # characters that texts are sorted by


@dataclass(frozen=True)
class Column:
    """A heading. ``number``: its cells are figures, sorted as such, the largest first. ``wide``: room for a drawing,
    ``prose``: for a sentence. ``note``: a line below the title."""

    title: str
    number: bool = False
    sortable: bool = True
    wide: bool = False
    prose: bool = False
    note: str = ""

    @property
    def classes(self) -> str:
        """Names of its class in the style sheet."""
        return " ".join(name for name in ("number", "wide", "prose") if getattr(self, name))

    @property
    def sorted_as(self) -> str | None:
        """What the script sorts it as; ``None``: it does not."""
        return ("number" if self.number else "text") if self.sortable else None


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and what it is sorted by where that is not its text."""

    shown: Shown
    sort: object = None
    by: str | None = None
    """``sort`` as the page holds it; set by :func:`table`."""


Row = list[Cell | Shown]


@dataclass(frozen=True)
class Table:
    """A table in a region that scrolls by itself and can be reached by keyboard; the first cell heads its row."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int
    sortable: bool


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Row],
    left_out: int = 0,
    sortable: bool = True,
) -> Table:
    """A table. ``left_out``: how many further rows the document holds, which the caption says."""
    heads = tuple(column if sortable else replace(column, sortable=False) for column in columns)
    body = tuple(tuple(_cell(cell, column) for cell, column in zip(row, heads, strict=True)) for row in rows)
    return Table(caption, heads, body, left_out, sortable and len(body) > 1)


def _cell(cell: Cell | Shown, column: Column) -> Cell:
    given = cell if isinstance(cell, Cell) else Cell(cell)
    by = numbers.sortable(given.sort) if column.number else given.sort
    return replace(given, by=None if by is None else str(by)[:_KEY])
