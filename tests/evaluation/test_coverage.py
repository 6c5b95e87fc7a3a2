"""Simulations: how often intervals hold the truth near 0 and 1, and how often a comparison finds what is not there."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.evaluation.bootstrap import drawn_interval
from scorer.evaluation.correlation import compare
from scorer.stats.design_effect import share_interval

INPUTS = 98
CASES = [(1, 0.001), (21, 0.001), (21, 0.01), (21, 0.05)]
"""Rows of an input, and how far inputs differ: their accuracy has the beta distribution of .99 and .01 over this."""


def coverage_of_accuracy(draws: int, rows: int, spread: float) -> tuple[float, float]:
    """True accuracy .99, 98 inputs: coverage of the interval that is printed, and of percentiles."""
    rng = np.random.default_rng(21)
    whole = np.full(INPUTS, rows)
    inside = percentiles = 0
    for seed in range(draws):
        right = rng.binomial(rows, rng.beta(0.99 / spread, 0.01 / spread, INPUTS))
        low, high = share_interval(right, whole) or (0, 0)
        inside += low <= 0.99 <= high
        shares = right / whole
        drawn = drawn_interval(lambda times, shares=shares: times @ shares / INPUTS, INPUTS, 200, seed)
        low, high = drawn or (0, 0)
        percentiles += low <= 0.99 <= high
    return inside / draws, percentiles / draws


@pytest.mark.parametrize(("rows", "spread"), CASES)
def test_an_accuracy_near_1_is_in_its_interval(rows: int, spread: float) -> None:
    inside, percentiles = coverage_of_accuracy(150, rows, spread)
    assert inside >= 0.89  # .95 less three standard errors
    if rows == 1:
        assert percentiles < 0.75


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "spread"), CASES)
def test_an_accuracy_near_1_is_in_its_interval_in_1500_draws(rows: int, spread: float) -> None:
    # One row an input: with three wrong rows of 98 the interval ends below .99, so that the exact coverage is .924.
    assert coverage_of_accuracy(1500, rows, spread)[0] >= (0.91 if rows == 1 else 0.93)


def size_of_comparison(draws: int) -> float:
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
    return found / draws


def test_equal_metrics_rarely_differ() -> None:
    assert size_of_comparison(60) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


@pytest.mark.slow
def test_equal_metrics_rarely_differ_in_500_draws() -> None:
    assert size_of_comparison(500) <= 0.08
