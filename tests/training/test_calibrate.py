"""The one number set at the end."""

from __future__ import annotations

import numpy as np
import pytest

from training.general.calibrate import best_bias, calibration_error, margin, probability


def test_a_margin_is_the_log_odds_of_entailment() -> None:
    logits = np.array([[0.3, -1.0, 2.0], [4.0, 1.0, 0.0]])
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert probability(margin(logits)) == pytest.approx(p[:, 2])


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_the_bias_is_where_the_log_loss_is_least(prior: float) -> None:
    rng = np.random.default_rng(0)
    true = rng.random(2000) < 0.5
    margins = np.where(true, 1.0, -1.0) + rng.normal(size=2000) - 1.5
    found = best_bias(margins, true, prior)
    weight = np.where(true, prior / true.mean(), (1 - prior) / (1 - true.mean()))

    def loss(bias: float) -> float:
        p = probability(margins + bias)
        return float(-(weight * np.log(np.where(true, p, 1 - p))).mean())

    tried = np.arange(-3, 6, 0.01)
    assert found == pytest.approx(tried[np.argmin([loss(b) for b in tried])], abs=0.011)


def test_calibration_error_by_hand() -> None:
    p = np.array([0.05, 0.05, 0.95, 0.95])
    true = np.array([False, True, True, True])
    assert calibration_error(p, true) == pytest.approx(0.5 * 0.45 + 0.5 * 0.05)
    assert calibration_error(np.array([1.0]), np.array([True])) == 0
