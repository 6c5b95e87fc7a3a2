from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from scorer.stats.design_effect import ClusterSums, correlation


def sums(n: npt.NDArray[np.int64], x: npt.NDArray[np.int64]) -> ClusterSums:
    return ClusterSums(*(int(one) for one in (len(n), n.sum(), x.sum(), (n * n).sum(), (n * x).sum(), (x * x).sum())))


def test_it_is_rao_and_scotts_ratio_of_variances() -> None:
    n, x = np.array([4, 6] * 6), np.array([4, 1, 3, 2, 0, 5, 1, 1, 4, 6, 0, 2])
    p = x.sum() / n.sum()
    clustered = 12 / 11 * ((x - p * n) ** 2).sum() / n.sum() ** 2
    found = sums(n, x)
    assert found.effect(correlation(found) or 0.0) == pytest.approx(clustered / (p * (1 - p) / n.sum()))


def test_where_nothing_can_be_estimated() -> None:
    assert correlation(sums(np.full(9, 3), np.arange(9) % 4)) is None  # few inputs
    assert correlation(sums(np.full(50, 3), np.zeros(50, np.int64))) is None  # no hit
    assert correlation(ClusterSums()) is None


def test_differences_of_pairs() -> None:
    """Twenty inputs of two pairs: both got worse, both got better, or nothing changed."""
    n, x = np.full(20, 2), np.repeat([2, -2, 0, 0], 5)
    found = sums(n, x)
    assert found.effect(correlation(found, 20) or 0.0) == pytest.approx(2, rel=0.06)
    apart = sums(np.ones(40, np.int64), np.repeat([1, -1, 0, 0], 10))
    assert correlation(apart, 20) == 0
    assert correlation(sums(n, n), 40) is None  # all got worse: nothing varies
