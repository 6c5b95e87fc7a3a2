"""Simulations: how often intervals hold the truth near 0 and 1, and how often a comparison finds what is not there."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.evaluation.bootstrap import drawn_interval
from scorer.evaluation.correlation import compare
from scorer.stats.design_effect import share_interval
from tests.sweeps import sampled

INPUTS = 98
# One row an input: with three wrong rows of 98 the interval ends below .99, so that the exact coverage is .924.
CASES = [
    (rows, spread, draws, least)
    for rows, spread, exact in ((1, 0.001, 0.91), (21, 0.001, 0.93), (21, 0.01, 0.93), (21, 0.05, 0.93))
    for draws, least in ((150, 0.89), (1500, exact))  # .95 less three standard errors
]
"""Rows of an input, and how far inputs differ: their accuracy has the beta distribution of .99 and .01 over this."""


@pytest.mark.parametrize(("rows", "spread", "draws", "least"), sampled(CASES, 2))
def test_an_accuracy_near_1_is_in_its_interval(rows: int, spread: float, draws: int, least: float) -> None:
    """True accuracy .99, 98 inputs. Percentiles of the bootstrap would hold it less often than Wilson's interval."""
    rng = np.random.default_rng(21)
    whole = np.full(INPUTS, rows)
    inside = percentiles = 0
    for seed in range(draws):
        right = rng.binomial(rows, rng.beta(0.99 / spread, 0.01 / spread, INPUTS))
        low, high = share_interval(right, whole) or (0, 0)
        inside += low <= 0.99 <= high
        shares = right / whole
        low, high = drawn_interval(lambda times, shares=shares: times @ shares / INPUTS, INPUTS, 200, seed) or (0, 0)
        percentiles += low <= 0.99 <= high
    assert inside / draws >= least
    if rows == 1:
        assert percentiles / draws < 0.75


@pytest.mark.parametrize(("draws", "most"), sampled([(60, 0.135), (500, 0.08)], 2))
def test_equal_metrics_rarely_differ(draws: int, most: float) -> None:
    """Two metrics with the same true correlation; rows of one input share much of their values."""
    rng = np.random.default_rng(8)
    found = 0
    inputs = np.repeat(np.arange(40), 6)

    def noise() -> np.ndarray:
        return rng.normal(size=40)[inputs] + 0.5 * rng.normal(size=240)

    for _ in range(draws):
        human = noise()
        first, second = (human + noise() for _ in range(2))
        one = compare(first, second, human, inputs, ("pearson",))["pearson"]
        assert one is not None
        found += one["p"] < 0.05
    assert found / draws <= most  # .05 and three standard errors
