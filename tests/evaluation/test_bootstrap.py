"""Resampling against slow loops and scipy."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.evaluation.bootstrap import (
    WILCOX_RESAMPLES,
    cluster_samples,
    compare_correlations,
    figure_intervals,
    percentiles,
)
from scorer.evaluation.figures import collapse, confusion, macro_f1

RNG = np.random.default_rng(11)


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _by_input(n_inputs: int = 60, rows: int = 8) -> np.ndarray:
    """Counts by input where the rows of an input are mostly right together or wrong together."""
    hard = np.repeat(RNG.random(n_inputs) < 0.4, rows)
    gold = RNG.integers(0, 4, n_inputs * rows).astype(np.int8)
    predicted = np.where(RNG.random(len(gold)) < np.where(hard, 0.2, 0.9), gold, (gold + 1) % 4).astype(np.int8)
    return confusion(gold, predicted, 4, np.repeat(np.arange(n_inputs), rows), n_inputs)


def test_intervals_as_scipy_draws_inputs() -> None:
    """In the middle, Wilson's interval with the design effect is that of a bootstrap, for macro-F1 it is one."""
    stats = pytest.importorskip("scipy.stats")
    fine = _by_input()
    found = figure_intervals(fine, collapse(fine), 4000)["fine"]
    whole = fine.sum(axis=(1, 2))
    statistics = {
        "accuracy": (np.trace(fine[..., :4], axis1=1, axis2=2), lambda a, b, axis: a.sum(axis) / b.sum(axis)),
        "macro_f1": (np.arange(len(fine)), lambda a, b, axis: macro_f1(fine[a].sum(axis=-3))),
    }
    for name, (values, statistic) in statistics.items():
        drawn = stats.bootstrap(
            (values, whole), statistic, paired=True, vectorized=True, method="percentile", n_resamples=2000,
            rng=np.random.default_rng(0),
        ).confidence_interval  # fmt: skip
        assert found[name] == pytest.approx((drawn.low, drawn.high), abs=0.012)


def test_over_inputs_is_wider_than_over_rows() -> None:
    fine = _by_input()
    inputs = figure_intervals(fine, collapse(fine))["fine"]["accuracy"]
    apart = np.repeat(np.eye(20, dtype=np.int64), fine.sum(axis=0).ravel(), axis=0).reshape(-1, 4, 5)
    rows = figure_intervals(apart, collapse(apart))["fine"]["accuracy"]
    assert inputs is not None and rows is not None
    assert inputs[1] - inputs[0] > 1.5 * (rows[1] - rows[0])


def test_same_seed_same_interval_and_one_input_none() -> None:
    fine = _by_input(10)
    assert figure_intervals(fine, collapse(fine), 100) == figure_intervals(fine, collapse(fine), 100)
    assert set(figure_intervals(fine[:1], collapse(fine[:1]))["fine"].values()) == {None}


def test_percentiles_need_most_samples() -> None:
    assert percentiles(np.arange(1001.0)) == (25.0, 975.0)
    assert percentiles(np.array([1.0, np.nan])) is None
    assert percentiles(np.zeros(0)) is None


def test_samples_take_whole_inputs() -> None:
    inputs = np.array([5, 2, 5, 9, 2, 5])
    for rows in cluster_samples(inputs, 20):
        drawn = np.bincount(rows, minlength=6)
        for value in (2, 5, 9):
            assert len(set(drawn[inputs == value])) == 1


def _slowly(first: np.ndarray, second: np.ndarray, human: np.ndarray, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(599):
        rows = rng.integers(0, len(human), len(human))
        drawn.append(_pearson(first[rows], human[rows]) - _pearson(second[rows], human[rows]))
    return sorted(drawn)


@pytest.mark.parametrize(
    ("n", "low", "high"), [(30, 7, 593), (60, 8, 592), (100, 11, 588), (200, 14, 585), (300, 15, 584)]
)
def test_wilcox_bounds_for_pearson(n: int, low: int, high: int) -> None:
    human = RNG.normal(size=n)
    first, second = human + RNG.normal(size=n), human + 2 * RNG.normal(size=n)
    found = compare_correlations(first, second, human, _pearson, pearson=True, seed=4)
    drawn = _slowly(first, second, human, 4)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((drawn[low - 1], drawn[high - 1]))
    assert found.difference == pytest.approx(_pearson(first, human) - _pearson(second, human))
    assert found.n == n


def test_clear_and_absent_differences() -> None:
    human = RNG.normal(size=400)
    good, noise = human + 0.3 * RNG.normal(size=400), RNG.normal(size=400)
    better = compare_correlations(good, noise, human, _pearson)
    worse = compare_correlations(noise, good, human, _pearson)
    same = compare_correlations(good, good, human, _pearson)
    assert better is not None and worse is not None and same is not None
    assert (better.higher, worse.higher, same.higher) == ("first", "second", None)
    assert better.p == 2 / (WILCOX_RESAMPLES + 1)
    assert same.p == 1


def test_nothing_to_compare() -> None:
    constant, human = np.ones(50), RNG.normal(size=50)

    def statistic(x: np.ndarray, y: np.ndarray) -> float:
        return float("nan") if np.ptp(x) == 0 else _pearson(x, y)

    assert compare_correlations(constant, human, human, statistic) is None
    assert compare_correlations(human[:2], human[:2], human[:2], _pearson) is None
