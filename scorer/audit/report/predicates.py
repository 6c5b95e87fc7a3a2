"""Which predicates are omitted, and by which templates: where a bad template shows."""

from __future__ import annotations

from ..document import Document
from . import numbers
from .labels import all_rows, count_cell, rate_cell, top_of
from .limits import Limits, clip, first
from .markup import Html, element, join
from .tables import Cell, Column, Row, table


def predicates(document: Document, limits: Limits) -> Html | None:
    """Predicates by omission rate, suspects marked; the templates behind them."""
    whole = all_rows(document)
    if whole is None or not (whole["predicates"] or document["template_figures"]):
        return None
    kept, rest = first(whole["predicates"], limits.predicates)
    top = top_of([one["omission"] for one in kept])
    rows: list[Row] = [
        [
            Cell(
                join(clip(one["predicate"], limits.name), " ", _suspect(one["suspect"])),
                one["predicate"][: limits.name],
            ),
            count_cell(one["omission"]["n"]),
            rate_cell(one["omission"], top, one["before"], "omission"),
            Cell(numbers.percent(one["before"]), one["before"]),
            Cell(numbers.percent(one["backoff"]), one["backoff"]),
        ]
        for one in kept
    ]
    columns = [
        Column("Predicate"),
        Column("Facts checked", number=True),
        Column("Omitted", number=True, wide=True),
        Column("In the baseline", number=True),
        Column("Without template", number=True),
    ]
    return join(
        element(
            "p",
            "A predicate whose template reads wrongly looks as if every system left its facts out. "
            "Before blaming the systems, read the template.",
            class_="say",
        ),
        table("Predicates by omission rate.", columns, rows, rest + whole["predicates_left_out"]) if rows else None,
        _templates(document, limits),
    )


def _suspect(suspect: bool) -> Html | None:
    return element("span", "template suspect", class_="tag warn") if suspect else None


def _templates(document: Document, limits: Limits) -> Html | None:
    kept, rest = first(document["template_figures"], limits.predicates // 2)
    if not kept:
        return None
    top = top_of([one["omission"] for one in kept])
    rows: list[Row] = [
        [
            Cell(
                join(
                    clip(one["template"], limits.name),
                    " ",
                    _suspect(one["suspect"]),
                    element(
                        "span",
                        clip(one["predicate"], limits.name),
                        join(" = ", clip(one["object"], limits.name)) if one["object"] is not None else None,
                        " (backoff)" if one["backoff"] else None,
                        class_="beside",
                    ),
                ),
                one["template"][: limits.name],
            ),
            count_cell(one["omission"]["n"]),
            rate_cell(one["omission"], top, kind="omission"),
        ]
        for one in kept
    ]
    columns = [Column("Template"), Column("Facts checked", number=True), Column("Omitted", number=True, wide=True)]
    return element(
        "details",
        element("summary", "By template"),
        table("Templates by omission rate.", columns, rows, rest),
    )
