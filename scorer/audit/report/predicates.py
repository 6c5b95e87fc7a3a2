"""Omission by predicate and by template, which shows templates that are wrong."""

from __future__ import annotations

from dataclasses import dataclass

from ..document import Document, TemplateFigures
from . import numbers
from .labels import all_rows, count_cell, drawn_column, rate_cell, top_of
from .limits import Limits, clip, first
from .tables import Cell, Column, Row, Table, table
from .views import Suspect, Text


@dataclass(frozen=True)
class Predicates:
    """Tables; ``None`` if there is nothing to show."""

    predicates: Table | None
    templates: Table | None


def predicates(document: Document, limits: Limits) -> Predicates | None:
    """Predicates by omission rate, suspects marked; the templates behind them."""
    whole = all_rows(document)
    if whole is None or not (whole["predicates"] or document["template_figures"]):
        return None
    kept, rest = first(whole["predicates"], limits.predicates)
    top = top_of([one["omission"] for one in kept])
    rows: list[Row] = [
        [
            Cell(Suspect(clip(one["predicate"], limits.name), one["suspect"]), one["predicate"][: limits.name]),
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
        drawn_column("Omitted", top),
        Column("In the baseline", number=True),
        Column("Without template", number=True),
    ]
    left_out = rest + whole["predicates_left_out"]
    return Predicates(
        table("Predicates by omission rate.", columns, rows, left_out) if rows else None, _templates(document, limits)
    )


def _templates(document: Document, limits: Limits) -> Table | None:
    kept, rest = first(document["template_figures"], limits.predicates // 2)
    if not kept:
        return None
    top = top_of([one["omission"] for one in kept])
    rows: list[Row] = [
        [
            Cell(
                Suspect(clip(one["template"], limits.name), one["suspect"], (_of(one, limits),)),
                one["template"][: limits.name],
            ),
            count_cell(one["omission"]["n"]),
            rate_cell(one["omission"], top, kind="omission"),
        ]
        for one in kept
    ]
    columns = [Column("Template"), Column("Facts checked", number=True), drawn_column("Omitted", top)]
    return table("Templates by omission rate.", columns, rows, rest)


def _of(one: TemplateFigures, limits: Limits) -> tuple[str | Text, ...]:
    """What a template is of: the predicate, the object that it is for, and whether it is the backoff."""
    parts: list[str | Text] = [clip(one["predicate"], limits.name)]
    if one["object"] is not None:
        parts += [" = ", clip(one["object"], limits.name)]
    if one["backoff"]:
        parts.append(" (backoff)")
    return tuple(parts)
