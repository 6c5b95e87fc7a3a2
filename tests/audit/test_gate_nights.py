"""False alarms, power and coverage of gates in simulated nights (:mod:`benchmarks.gate_nights`)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.gate_nights import CASES, GROUPS, ROWS, Nights, counts, promised, run, simulate
from scorer.audit.comparison import rate_change
from scorer.audit.power import NIGHTS, Rows, Spread, detectable_fall, index_exceeds, mean_falls
from scorer.audit.significance import stability_index

BY_NAME = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


FEW_AND_MANY = [(5, 15), *(pytest.param(groups, 60, marks=pytest.mark.slow) for groups in GROUPS[1:])]


@BY_NAME
@pytest.mark.parametrize(("groups", "months"), FEW_AND_MANY)
def test_false_alarms_are_within_the_promise(case: Nights, groups: int, months: int) -> None:
    """But for what chance does to so few months."""
    found = run(case, groups, months)
    nights = months * NIGHTS
    for seen, said, n in (
        (found.night, found.night_promised, nights),
        (found.month, found.month_promised, months),
        (found.added_night, 0.01, nights),
        (found.added_month, 1 - 0.99**NIGHTS, months),
    ):
        assert seen <= said + 3.5 * math.sqrt(max(said * (1 - said), 1 / n) / n)
    intervals = months * groups
    assert abs(found.covered - 0.95) <= 0.02 + 3.5 * math.sqrt(0.95 * 0.05 / intervals) or found.covered > 0.95


@BY_NAME
def test_a_rise_is_found_as_often_as_promised(case: Nights) -> None:
    """Twelve points more among what changes: once in each of 200 months of three groups."""
    random = np.random.default_rng(11)
    limit, rise, seen, said, covered = 0.05, 0.12, [], [], []
    for _ in range(200):
        night = next(simulate(case, 3, 1, random, rise))
        rises = (night.now.sum(axis=1) - night.before.sum(axis=1)) / ROWS
        seen += (rises > limit + 1e-9).tolist()
        said += promised(case, night, limit, rise)
        true = rise * night.changed.mean()
        changes = [rate_change(one) for one in counts(case, night)]
        covered += [one.low is not None and one.low <= true <= (one.high or 0) for one in changes]
    # The promise is made from the share of wrong rows and the correlation that one night happens to have.
    assert np.mean(seen) == pytest.approx(np.mean(said), abs=0.06)
    assert np.mean(covered) >= 0.91


@pytest.mark.parametrize(("rows", "kept"), [(120, 0.0), (600, 0.0), (600, 0.9)])
def test_confidences_move_by_chance_as_often_as_promised(rows: int, kept: float) -> None:
    """Skewed confidences of runs without a change: their mean, against a limit and a baseline, and the index."""
    random, nights = np.random.default_rng(5), 2_000
    before, fresh = (random.beta(8, 0.4, (nights, rows)) for _ in range(2))
    new = round(rows * (1 - kept))
    now = np.concatenate([fresh[:, :new], before[:, new:]], axis=1)
    spread = Spread.of(np.histogram(before, 20, (0, 1))[0].tolist())
    falls = {
        Rows(rows, new, new): (before - now).mean(axis=1),
        Rows(rows, rows, 0): 8 / 8.4 - now.mean(axis=1),
    }
    for of, fall in falls.items():
        for chance in (0.05, 0.01):
            limit = float(np.quantile(fall, 1 - chance))
            # The histogram says how much confidences differ at most.
            assert chance * 0.9 <= mean_falls(of, limit, spread) <= 4 * chance
            assert 0.78 <= np.mean(fall + detectable_fall(of, limit, spread) > limit) <= 0.9
    if rows >= 500:
        found = np.array([stability_index(*pair) for pair in zip(before[:1000], now[:1000], strict=True)])
        for chance in (0.2, 0.05):
            limit = float(np.quantile(found, 1 - chance))
            assert index_exceeds(Rows(rows, new, new), limit) == pytest.approx(chance, rel=0.35)
