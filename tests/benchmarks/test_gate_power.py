"""What gates against the baseline find: the formula against simulation, and the page's table against the formula."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gate_power import lines
from scorer.audit.power import Rows, rings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit.md"
NIGHTS = 100_000


@pytest.mark.parametrize(("rows", "threshold"), [(50, 0.08), (120, 0.05), (1000, 0.02)])
@pytest.mark.parametrize("difference", [0.0, 0.06, 0.117])
def test_simulated_runs_alert_as_often(rows: int, threshold: float, difference: float) -> None:
    made = np.random.default_rng(1)
    before, after = made.binomial(rows, 0.1, NIGHTS), made.binomial(rows, 0.1 + difference, NIGHTS)
    seen = float((after - before > rows * threshold + 1e-9).mean())
    assert rings(Rows.all_new(rows), threshold, 0.1, difference) == pytest.approx(seen, abs=5 * 0.5 / math.sqrt(NIGHTS))


def test_the_table_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "\n".join(lines()) in text
    assert "+11.8 (2.0 %)" in lines()[4]  # of which page and README speak
