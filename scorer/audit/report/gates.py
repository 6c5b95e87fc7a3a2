"""The gates: the limits of each, the value found, and the result."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Gate
from . import numbers
from .labels import count_cell, group_label, group_plain, metric_name, tag
from .limits import Limits, clip, first
from .tables import Cell, Column, Row, Table, table
from .views import Text, WithNotes

_ORDER = {"fail": 0, "warn": 1, "pass": 2, "silent": 3}
_SHARES = frozenset({"not_ok_rate", "omission_rate", "hallucination_rate", "error_rate", "empty_rate", "backoff_rate"})


def gates(document: Document, limits: Limits) -> Table | None:
    """A table, failed gates first; ``None`` if no gates were given."""
    if not document["gates"]:
        return None
    ordered = sorted(document["gates"], key=lambda gate: _ORDER.get(gate["status"], 4))
    kept, rest = first(ordered, limits.gates)
    rows: list[Row] = [
        [
            Cell(tag(gate["status"]), str(_ORDER.get(gate["status"], 4))),
            WithNotes(clip(metric_name(gate["metric"]), limits.name), tuple(_notes(gate, limits))),
            Cell(group_label(gate["group"], limits), group_plain(gate["group"], limits)),
            Cell(_value(gate), gate["value"]),
            Cell(_threshold(gate, gate["warn"]), gate["warn"]),
            Cell(_threshold(gate, gate["fail"]), gate["fail"]),
            count_cell(gate["rows"]),
        ]
        for gate in kept
    ]
    columns = [
        Column("Result"),
        Column("Metric"),
        Column("Group"),
        Column("Value", number=True),
        Column("Warns if", number=True),
        Column("Fails if", number=True),
        Column("Rows", number=True),
    ]
    return table("Gates, failed ones first.", columns, rows, rest)


def _notes(gate: Gate, limits: Limits) -> Iterator[tuple[str | Text, ...]]:
    """What the value measures, and why a gate is silent or has no value."""
    if gate["against"]:
        yield (f"increase since the {'reference' if gate['against'] == 'reference' else 'baseline'}",)
    if gate["reason"] is not None:
        what = "silent: it " if gate["status"] == "silent" else "no value: "
        yield (what, clip(gate["reason"], limits.text))


def _figure(gate: Gate, value: float | None) -> str:
    if value is None:
        return numbers.MISSING
    if gate["metric"] == "label_flips":
        return numbers.count(value)
    if gate["metric"] not in _SHARES:
        return numbers.small(value)
    return f"{numbers.points(value)}\u00a0points" if gate["against"] else numbers.percent(value)


def _value(gate: Gate) -> WithNotes:
    """The value, below it its interval."""
    interval = ""
    if gate["metric"] in _SHARES and gate["reason"] is None:
        interval = (numbers.point_span if gate["against"] else numbers.span)(gate["low"], gate["high"])
    return WithNotes(_figure(gate, gate["value"]), ((interval,),) if interval else ())


def _threshold(gate: Gate, value: float | None) -> str:
    if value is None:
        return numbers.MISSING
    return f"{'<' if gate['rings'] == 'below' else '>'}\u00a0{_figure(gate, value)}"
