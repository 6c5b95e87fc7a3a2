"""Intervals against published tables and against scipy."""

from __future__ import annotations

import pytest
from scipy import stats

from scorer.stats.intervals import Pairs, Rate, combined, interval_of_difference, rate, wilson


def test_wilson_is_that_of_scipy() -> None:
    for n in (1, 2, 7, 19, 200, 347, 1_000_000):
        for count in {0, 1, n // 3, n - 1, n}:
            theirs = stats.binomtest(count, n).proportion_ci(method="wilson")
            assert wilson(count, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert rate(0, 0) == Rate(count=0, n=0, value=None, low=None, high=None)
    assert wilson(0, 5)[0] == 0.0
    assert wilson(5, 5)[1] == 1.0


@pytest.mark.parametrize(
    ("a", "n", "b", "m", "low", "high"),
    # Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10.
    [
        (56, 70, 48, 80, 0.0524, 0.3339),
        (9, 10, 3, 10, 0.1705, 0.8090),
        (6, 7, 2, 7, 0.0582, 0.8062),
        (5, 56, 0, 29, -0.0381, 0.1926),
        (0, 10, 0, 20, -0.1611, 0.2775),
        (10, 10, 0, 10, 0.6075, 1.0),
    ],
)
def test_difference_of_the_literature(a: int, n: int, b: int, m: int, low: float, high: float) -> None:
    assert interval_of_difference(rate(a, n), rate(b, m)) == pytest.approx((low, high), abs=5e-5)


def test_a_difference_in_which_nothing_is_uncertain_is_a_point() -> None:
    assert combined(0.25, [(0.0, rate(3, 10)), (1.0, rate(0, 0))]) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17, 2635-2650, method 10.
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((20, 12, 2, 16), 0.0562, 0.3292),
        # Bentur et al. (2009), in Fagerland, Lydersen & Laake, Statistics in Medicine 33, 2850-2875 (2014).
        ((1, 1, 7, 12), -0.507, -0.026),
    ],
)
def test_difference_within_pairs_of_the_literature(cells: tuple[int, int, int, int], low: float, high: float) -> None:
    pairs = Pairs(*cells)
    found = combined((pairs.gained - pairs.lost) / pairs.n, [], pairs)
    assert found == pytest.approx((low, high), abs=5e-4)
