"""The estimate and interval of a rate from labels and a metric, against scipy, ppi-python and exact counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, t

from scorer.stats.post_stratified import (
    ClassShare,
    Design,
    class_shares,
    estimate,
    interval,
    t_quantile,
    times_to_halve,
)


def simple(labels: list[int], predicted: list[int], rows: int, share: float) -> list[ClassShare]:
    """The classes of a simple random sample; ``share`` of all rows is predicted 1."""
    truth, said = np.array(labels, float), np.array(predicted) == 1
    design = Design(np.zeros(len(labels), np.int64), np.array([len(labels)]), np.array([rows]))
    return class_shares([1 - share, share], truth, said, np.ones(len(labels), bool), design, [0.5, 0.5])


def test_one_class_has_the_quantiles_of_its_jeffreys_posterior() -> None:
    for value, size in ((0.0, 32), (0.1, 50), (0.5, 7), (0.9, 200), (1.0, 18)):
        ones = value * size
        low, high = beta.ppf([0.025, 0.975], ones + 0.5, size - ones + 0.5)
        found = interval([ClassShare(1.0, value, size, round(size))])
        # The interval also contains the estimate, which a tail of the posterior leaves out at 0 and at 1.
        assert found == pytest.approx((min(low, value), max(high, value)), abs=1e-3)


def test_two_classes_are_combined_by_mover() -> None:
    """Zou & Donner (2008): squared distances to the limits are added."""
    values, sizes, weights = np.array([1 / 41, 17 / 18]), np.array([41, 18]), np.array([0.7, 0.3])
    low, high = (beta.ppf(q, values * sizes + 0.5, (1 - values) * sizes + 0.5) for q in (0.025, 0.975))
    rate = float((weights * values).sum())
    expected = (
        rate - math.sqrt(((weights * (values - low)) ** 2).sum()),
        rate + math.sqrt(((weights * (high - values)) ** 2).sum()),
    )
    found = interval([ClassShare(0.7, 1 / 41, 41, 41), ClassShare(0.3, 17 / 18, 18, 18)])
    assert found == pytest.approx(expected, abs=1e-4)


def test_the_quantile_of_t_is_scipys() -> None:
    for degrees in (1, 2, 3, 5, 10, 30, 200):
        assert t_quantile(degrees) == pytest.approx(t.ppf(0.975, degrees), abs=0.03)


def test_the_estimate_is_that_of_ppi_at_its_best_weight() -> None:
    """ppi_mean_pointestimate of ppi-python 0.2.3: lam * mean(Yhat_unlabeled) + mean(Y - lam * Yhat)."""
    labels, predicted = [1, 0, 0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 1, 0, 0]
    weight = 2 / 3 - 1 / 5  # slope of the labels on the predictions, the control variate's coefficient
    expected = weight * 0.3 + np.mean(np.array(labels) - weight * np.array(predicted))
    assert estimate(simple(labels, predicted, 10_000, 0.3)) == pytest.approx(expected, abs=1e-12)


def test_a_census_has_no_interval() -> None:
    classes = simple([1, 0, 0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 1, 0, 0], 8, 3 / 8)
    assert [one.size for one in classes] == [math.inf, math.inf]
    assert interval(classes) == pytest.approx((3 / 8, 3 / 8))
    assert times_to_halve(classes) == math.inf


def test_a_class_without_labels_may_have_any_share() -> None:
    design = Design(np.zeros(8, np.int64), np.array([8]), np.array([8]))
    known, found = class_shares([0.8, 0.2], np.zeros(8), np.zeros(8, bool), np.ones(8, bool), design, [0.1, 0.9])
    assert (found.value, found.size, found.labels, found.predicted) == (0.9, 0.0, 0, True)
    assert interval([known, found]) == pytest.approx((0.0, 0.2))


@pytest.mark.parametrize("wrong", [0.0, 0.05, 0.3])
def test_intervals_contain_the_rate_as_often_as_they_say(wrong: float) -> None:
    rng = np.random.default_rng(11)
    rows, labels, inside = 5000, 60, 0
    predicted = rng.random(rows) < 0.4
    truth = predicted ^ (rng.random(rows) < wrong)
    for _ in range(200):
        few = rng.choice(rows, labels, replace=False)
        said = predicted[few].astype(int).tolist()
        low, high = interval(simple(truth[few].astype(int).tolist(), said, rows, float(predicted.mean())))
        inside += low <= truth.mean() <= high
    assert inside >= 0.905 * 200  # .95 less three standard errors
    if wrong == 0.3:
        assert inside <= 0.99 * 200
