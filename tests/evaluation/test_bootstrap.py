"""Intervals by resampling, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scorer.evaluation.bootstrap import percentiles
from scorer.evaluation.figures import collapse, confusion, intervals, macro_f1

RNG = np.random.default_rng(11)


def _by_input(n_inputs: int = 60, rows: int = 8) -> np.ndarray:
    """Counts by input where the rows of an input are mostly right together or wrong together."""
    hard = np.repeat(RNG.random(n_inputs) < 0.4, rows)
    gold = RNG.integers(0, 4, n_inputs * rows).astype(np.int8)
    predicted = np.where(RNG.random(len(gold)) < np.where(hard, 0.2, 0.9), gold, (gold + 1) % 4).astype(np.int8)
    return confusion(gold, predicted, 4, np.repeat(np.arange(n_inputs), rows), n_inputs)


def test_intervals_as_scipy_draws_inputs() -> None:
    """In the middle, Wilson's interval with the design effect is that of a bootstrap, for macro-F1 it is one."""
    fine = _by_input()
    found = intervals(fine, collapse(fine), 4000)["fine"]
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


def test_one_input_has_no_interval() -> None:
    fine = _by_input(1)
    assert set(intervals(fine, collapse(fine))["fine"].values()) == {None}


def test_percentiles_need_most_samples() -> None:
    assert percentiles(np.arange(1001.0)) == [25.0, 975.0]
    assert percentiles(np.array([1.0, np.nan])) is None
    assert percentiles(np.zeros(0)) is None
