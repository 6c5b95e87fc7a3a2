"""Tables that read the same on screen, on paper and aloud: a caption, scoped headings, figures to the right.

The script turns the headings of a table of class ``sortable`` into buttons; without it the table stands as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import numbers
from .markup import Child, Html, element, join

_KEY = 60  # characters that texts are sorted by


@dataclass(frozen=True)
class Column:
    """A heading. ``number``: its cells are figures, sorted as such, the largest first. ``wide``: room for a drawing,
    ``prose``: for a sentence."""

    title: str
    number: bool = False
    sortable: bool = True
    wide: bool = False
    prose: bool = False


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and what it is sorted by where that is not its text."""

    shown: Child
    sort: object = None


Row = list[Cell | Child]


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Row],
    left_out: int = 0,
    sortable: bool = True,
) -> Html:
    """A table in a region that scrolls by itself and can be reached by keyboard; the first cell heads its row.

    ``left_out``: how many further rows the document holds, which the caption says.
    """
    heads = [
        element(
            "th",
            column.title,
            scope="col",
            class_=_classes(column),
            data_sort=("number" if column.number else "text") if sortable and column.sortable else None,
        )
        for column in columns
    ]
    body = [
        element(
            "tr", join(_cell(cell, column, i == 0) for i, (cell, column) in enumerate(zip(row, columns, strict=True)))
        )
        for row in rows
    ]
    shown = f"{caption} {numbers.count(left_out)} more are not shown." if left_out else caption
    whole = element(
        "table",
        element("caption", shown),
        element("thead", element("tr", *heads)),
        element("tbody", *body),
        class_="sortable" if sortable and len(body) > 1 else None,
    )
    return element("div", whole, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _classes(column: Column) -> str | None:
    return " ".join(name for name in ("number", "wide", "prose") if getattr(column, name)) or None


def _cell(cell: Cell | Child, column: Column, first: bool) -> Html:
    shown, sort = (cell.shown, cell.sort) if isinstance(cell, Cell) else (cell, None)
    by = numbers.sortable(sort) if column.number else sort
    return element(
        "th" if first else "td",
        shown,
        scope="row" if first else None,
        class_=_classes(column),
        data_by=str(by)[:_KEY] if by is not None else None,
    )
