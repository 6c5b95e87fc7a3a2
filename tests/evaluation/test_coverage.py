"""Simulations: how often intervals hold the truth near 0 and 1, and how often a comparison finds what is not there."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.evaluation.bootstrap import compare_correlations, drawn_interval, ratio_interval

INPUTS, SYSTEMS = 98, 21


def coverage_of_accuracy(draws: int, spread: float) -> tuple[float, float]:
    """True accuracy .99, 98 inputs of 21 rows each: of the interval that is printed, and of percentiles alone.

    ``spread``: of an input's share of wrong rows (the parameters of its beta distribution times this are .01 and .99).
    """
    rng = np.random.default_rng(21)
    whole = np.full(INPUTS, SYSTEMS)
    inside = percentiles = 0
    for seed in range(draws):
        right = SYSTEMS - rng.binomial(SYSTEMS, rng.beta(0.01 / spread, 0.99 / spread, INPUTS))
        low, high = ratio_interval(right, whole, 200, seed) or (0, 0)
        inside += low <= 0.99 <= high
        low, high = drawn_interval(lambda weights: weights @ right / (weights @ whole), INPUTS, 200, seed) or (0, 0)  # noqa: B023
        percentiles += low <= 0.99 <= high
    return inside / draws, percentiles / draws


def test_an_accuracy_near_1_is_in_its_interval() -> None:
    assert coverage_of_accuracy(150, 0.001)[0] >= 0.89  # .95 less three standard errors
    one_row = [ratio_interval(np.array([1] * 97 + [0]), np.ones(98, np.int64), 200)]
    assert one_row[0] is not None and one_row[0][0] < 0.95, "one wrong row of 98 is compatible with an accuracy of .95"


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.001, 0.01, 0.05])
def test_an_accuracy_near_1_is_in_its_interval_in_1500_draws(spread: float) -> None:
    inside, percentiles = coverage_of_accuracy(1500, spread)
    assert inside >= 0.93 or (spread == 0.05 and inside > percentiles)


def size_of_comparison(draws: int) -> float:
    """Two metrics with the same true correlation; rows of one input share much of their values."""
    rng = np.random.default_rng(8)
    found = 0
    inputs = np.repeat(np.arange(40), 6)

    def noise() -> np.ndarray:
        return rng.normal(size=40)[inputs] + 0.5 * rng.normal(size=240)

    for seed in range(draws):
        human = noise()
        first, second = (human + noise() for _ in range(2))
        one = compare_correlations(
            first, second, human, lambda x, y: float(np.corrcoef(x, y)[0, 1]), inputs=inputs, pearson=True, seed=seed
        )
        assert one is not None
        found += one.p < 0.05
    return found / draws


def test_equal_metrics_rarely_differ() -> None:
    assert size_of_comparison(60) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


@pytest.mark.slow
def test_equal_metrics_rarely_differ_in_1500_draws() -> None:
    size = size_of_comparison(1500)
    assert size <= 0.07
