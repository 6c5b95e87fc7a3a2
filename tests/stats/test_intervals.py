"""Intervals against published tables and scipy; design effects against the ratio of variances that they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scorer.stats.intervals import (
    ClusterSums,
    Pairs,
    Rate,
    combined,
    correlation,
    interval_of_difference,
    rate,
    wilson,
)


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


def sums(n: list[int], x: list[int]) -> ClusterSums:
    rows, hits = np.array(n), np.array(x)
    moments = (len(n), rows.sum(), hits.sum(), (rows * rows).sum(), (rows * hits).sum(), (hits * hits).sum())
    return ClusterSums(*map(int, moments))


def test_the_design_effect_is_rao_and_scotts_ratio_of_variances() -> None:
    n, x = [4, 6] * 6, [4, 1, 3, 2, 0, 5, 1, 1, 4, 6, 0, 2]
    p = sum(x) / sum(n)
    clustered = 12 / 11 * sum((hits - p * rows) ** 2 for rows, hits in zip(n, x, strict=True)) / sum(n) ** 2
    found = sums(n, x)
    assert found.effect(correlation(found) or 0.0) == pytest.approx(clustered / (p * (1 - p) / sum(n)))
    # Differences of pairs: twenty inputs of two pairs each got worse, got better, or did not change.
    n, x = [2] * 20, [2, -2, 0, 0] * 5
    assert sums(n, x).effect(correlation(sums(n, x), 20) or 0.0) == pytest.approx(2, rel=0.06)
    assert correlation(sums([1] * 40, [1, -1, 0, 0] * 10), 20) == 0


def test_a_design_effect_that_cannot_be_estimated() -> None:
    assert correlation(sums([3] * 9, [0, 1, 2] * 3)) is None  # few inputs
    assert correlation(sums([3] * 50, [0] * 50)) is None  # no hit
    assert correlation(sums([2] * 20, [2] * 20), 40) is None  # all pairs got worse: nothing varies
    assert correlation(ClusterSums()) is None
