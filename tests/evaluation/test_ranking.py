"""Ranking figures against sklearn, and their intervals against samples drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from scorer.evaluation.calibration import ranking
from scorer.evaluation.label_figures import drawn_rows

RNG = np.random.default_rng(5)


def test_by_counting_pairs() -> None:
    confidence, wrong = np.array([0.1, 0.4, 0.35, 0.8, np.nan]), np.array([True, True, False, False, True])
    # Of four pairs (wrong, right) the wrong row has the lower confidence in three.
    found = ranking(confidence, wrong, np.arange(5), 0)
    assert (found["n"], found["roc_auc"]) == (4, pytest.approx(3 / 4))
    assert "interval" not in found
    assert ranking(confidence, wrong | True, np.arange(5))["roc_auc"] is None


def test_with_ties_as_sklearn() -> None:
    for _ in range(20):
        confidence, wrong = RNG.integers(0, 7, 60) / 6, RNG.random(60) < 0.3
        found = ranking(confidence, wrong, np.arange(60), 0)
        assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(wrong, -confidence), abs=1e-12)


def test_intervals_draw_inputs() -> None:
    inputs = np.repeat(np.arange(40), 5)
    hard = RNG.random(40)[inputs]
    wrong = RNG.random(200) < hard
    confidence = np.round(1 - hard + RNG.normal(0, 0.4, 200), 1)
    found = ranking(confidence, wrong, inputs, 3000)
    drawn = [ranking(confidence[rows], wrong[rows], inputs[rows], 0) for rows in drawn_rows(inputs, 1500, 9)]
    low, high = np.percentile([one["roc_auc"] for one in drawn], (2.5, 97.5))
    assert found["interval"] == pytest.approx([low, high], abs=0.02)
