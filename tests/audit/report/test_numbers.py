"""Figures as they are shown."""

from __future__ import annotations

import math

import pytest

from scorer.audit.report import numbers


@pytest.mark.parametrize(("value", "shown"), [(0.0316, "3.2%"), (1, "100%"), (None, "–"), (math.nan, "–"), (True, "–")])
def test_percent(value: object, shown: str) -> None:
    assert numbers.percent(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.047, "+4.7"), (-0.047, "−4.7"), (0.0, "±0"), (None, "–")])
def test_points(value: float | None, shown: str) -> None:
    assert numbers.points(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.000"), (0.0004, "<0.001"), (0.5, "0.500"), (0.9997, ">0.999"), (1.0, "1.000"), (None, "–")],
)
def test_probability(value: float | None, shown: str) -> None:
    assert numbers.probability(value) == shown


def test_intervals_and_counts() -> None:
    assert numbers.span(0.029, 0.036, unit=False) == "2.9–3.6"
    assert numbers.span(0.029, 0.036) == "2.9–3.6%"
    assert numbers.span(0.0, 0.00001) == "0–<0.01%"
    assert numbers.span(None, 0.1) == ""
    assert numbers.point_span(-0.01, 0.02) == "−1.0 to +2.0"
    assert numbers.count(1234567) == "1,234,567"
    assert numbers.plural(1, "row").replace("\u00a0", " ") == "1 row"
    assert numbers.plural(0, "row").replace("\u00a0", " ") == "0 rows"
    assert numbers.sortable(0.1) == "0.1"
    assert numbers.sortable(None) == ""
