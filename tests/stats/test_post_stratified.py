"""The estimate and interval of a rate from labels and a metric, against scipy, ppi-python and exact counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from scorer.stats.post_stratified import LabelledClass, effective_labels, estimate, random_labels

MANY = 10**9


def of(rows: int, labels: int, count: int, assumed: float = 0.0) -> LabelledClass:
    return LabelledClass(label="x", rows=rows, labels=labels, count=count, assumed=assumed)


@pytest.mark.parametrize(("count", "labels"), [(0, 32), (3, 30), (7, 14), (18, 18)])
def test_a_class_has_wilsons_interval_and_the_exact_one_at_its_ends(count: int, labels: int) -> None:
    method = "exact" if count in (0, labels) else "wilson"
    expected = binomtest(count, labels).proportion_ci(method=method)
    assert of(MANY, labels, count).limits == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_classes_are_combined_by_mover() -> None:
    """Zou & Donner (2008): squared distances to the limits are added."""
    ok, bad = of(7 * MANY, 41, 1), of(3 * MANY, 18, 17)
    value = 0.7 / 41 + 0.3 * 17 / 18
    (low, high), (low2, high2) = ok.limits, bad.limits
    below = math.hypot(0.7 * (1 / 41 - low), 0.3 * (17 / 18 - low2))
    above = math.hypot(0.7 * (high - 1 / 41), 0.3 * (high2 - 17 / 18))
    assert estimate([ok, bad]) == pytest.approx((value, value - below, value + above))


def test_the_estimate_is_that_of_ppi_at_its_best_weight() -> None:
    """ppi_mean_pointestimate of ppi-python 0.2.3: lam * mean(Yhat_unlabeled) + mean(Y - lam * Yhat)."""
    labels, predicted = np.array([1, 0, 0, 1, 1, 0, 0, 0]), np.array([1, 0, 0, 0, 1, 1, 0, 0])
    weight = 2 / 3 - 1 / 5  # slope of the labels on the predictions, the control variate's coefficient
    expected = weight * 0.3 + np.mean(labels - weight * predicted)
    assert estimate([of(7_000, 5, 1), of(3_000, 3, 2)])[0] == pytest.approx(expected, abs=1e-12)


def test_a_census_has_no_interval_and_a_class_without_labels_may_have_any_share() -> None:
    assert estimate([of(5, 5, 1), of(3, 3, 2)]) == pytest.approx((3 / 8,) * 3)
    assert estimate([of(8, 8, 0), of(2, 0, 0, 0.9)]) == pytest.approx((0.18, 0.0, 0.2))
    assert effective_labels(10, 10) == math.inf
    assert random_labels(0.2, 0.0, 50) == 50


@pytest.mark.parametrize("wrong", [0.0, 0.02, 0.05, 0.3])
def test_intervals_contain_the_rate_as_often_as_they_say(wrong: float) -> None:
    rng = np.random.default_rng(11)
    inside = 0
    sizes, drawn = (3_000, 1_800, 200), (36, 20, 10)
    truth = [rng.random(size) < share for size, share in zip(sizes, (wrong, 1 - wrong, 1 - wrong), strict=True)]
    right = float(np.concatenate(truth).mean())
    for _ in range(300):
        counts = [int(rng.choice(one, n, replace=False).sum()) for one, n in zip(truth, drawn, strict=True)]
        classes = [of(size, n, count) for size, n, count in zip(sizes, drawn, counts, strict=True)]
        value, low, high = estimate(classes)
        assert low <= value <= high
        inside += low <= right <= high
    assert inside >= 0.915 * 300  # .95 less three standard errors
    if wrong == 0.3:
        assert inside <= 0.99 * 300
