"""What gates against the baseline find: the formula against simulation, and the page's table against the formula."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gate_power import lines
from scorer.audit.power import Rows, detectable, rings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit.md"
NIGHTS = 400_000


@pytest.mark.parametrize("rows", [50, 120, 1000])
@pytest.mark.parametrize("threshold", [0.02, 0.05, 0.08])
@pytest.mark.parametrize("difference", [0.0, 0.06, 0.117])
def test_simulated_runs_alert_as_often(rows: int, threshold: float, difference: float) -> None:
    made = np.random.default_rng(1)
    before, after = made.binomial(rows, 0.1, NIGHTS), made.binomial(rows, 0.1 + difference, NIGHTS)
    seen = float((after - before > rows * threshold + 1e-9).mean())
    assert rings(Rows.all_new(rows), threshold, 0.1, difference) == pytest.approx(seen, abs=5 * 0.5 / math.sqrt(NIGHTS))


@pytest.mark.parametrize(("rows", "threshold"), [(100, 0.05), (120, 0.08), (500, 0.02), (5000, 0.02)])
def test_the_formula_of_the_page_comes_close(rows: int, threshold: float) -> None:
    found = detectable(Rows.all_new(rows), threshold, 0.1)
    assert found is not None
    assert rings(Rows.all_new(rows), threshold, 0.1, found) == pytest.approx(0.8, abs=1e-6)
    p, q = 0.1, 0.1 + found
    formula = threshold + 0.84 * math.sqrt((p * (1 - p) + q * (1 - q)) / rows)
    assert formula == pytest.approx(found, abs=1.0 / rows)  # a share moves in steps of one row


def test_the_table_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "\n".join(lines()) in text
    assert "+11.8 (2.0 %)" in lines()[4]  # of which page and README speak
