"""The gates: what each demands, what it found, and how that went."""

from __future__ import annotations

from ..document import Document, Gate
from . import numbers
from .labels import count_cell, group_label, group_plain, metric_name, tag
from .limits import Limits, clip, first
from .markup import Html, element, join
from .tables import Cell, Column, Row, table

_ORDER = {"fail": 0, "warn": 1, "pass": 2, "silent": 3}
_SHARES = frozenset({"not_ok_rate", "omission_rate", "hallucination_rate", "error_rate", "empty_rate", "backoff_rate"})


def gates(document: Document, limits: Limits) -> Html:
    """A table, the failed ones first."""
    if not document["gates"]:
        return element("p", "No gate was given. `--gates gates.toml` sets what must hold.", class_="say")
    ordered = sorted(document["gates"], key=lambda gate: _ORDER.get(gate["status"], 4))
    kept, rest = first(ordered, limits.gates)
    rows: list[Row] = [
        [
            Cell(tag(gate["status"]), str(_ORDER.get(gate["status"], 4))),
            join(clip(metric_name(gate["metric"]), limits.name), _against(gate), _reason(gate, limits)),
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
        Column("Of"),
        Column("Value", number=True),
        Column("Warns", number=True),
        Column("Fails", number=True),
        Column("Rows", number=True),
    ]
    return table("Gates, the failed ones first.", columns, rows, rest)


def _against(gate: Gate) -> Html | None:
    return element("span", "increase since the baseline", class_="beside") if gate["against"] else None


def _reason(gate: Gate, limits: Limits) -> Html | None:
    """Why a gate is silent, or has no figure."""
    if gate["reason"] is None:
        return None
    what = "silent: it " if gate["status"] == "silent" else "no figure: "
    return element("span", what, clip(gate["reason"], limits.text), class_="beside")


def _figure(gate: Gate, value: float | None) -> str:
    if value is None:
        return numbers.MISSING
    if gate["metric"] == "label_flips":
        return numbers.count(value)
    if gate["metric"] not in _SHARES:
        return numbers.small(value)
    return f"{numbers.points(value)}\u00a0points" if gate["against"] else numbers.percent(value)


def _value(gate: Gate) -> Html:
    """The value, below it its interval."""
    beside = ""
    if gate["metric"] in _SHARES and gate["reason"] is None:
        beside = (numbers.point_span if gate["against"] else numbers.span)(gate["low"], gate["high"])
    return join(_figure(gate, gate["value"]), element("span", beside, class_="beside") if beside else None)


def _threshold(gate: Gate, value: float | None) -> str:
    if value is None:
        return numbers.MISSING
    return f"{'<' if gate['rings'] == 'below' else '>'}\u00a0{_figure(gate, value)}"
