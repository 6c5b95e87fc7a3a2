"""Reliability and ranking of confidences, against sklearn and against confidences whose meaning is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

from scorer.errors import UsageError
from scorer.evaluation import EvaluateOptions
from scorer.evaluation.calibration import FOLDS, calibration, calibration_error, cross_fitted, error_interval, ranking
from scorer.evaluation.report import evaluate
from tests.evaluation.scored import save, scored

RNG = np.random.default_rng(3)
CONFIDENCE = RNG.random(4000)
INPUTS = np.repeat(np.arange(1000), 4)


def test_a_probability_has_hardly_an_error_and_its_square_is_corrected() -> None:
    right = RNG.random(4000) < CONFIDENCE
    honest, low = (calibration(CONFIDENCE**power, right, INPUTS, 0) for power in (1, 3))
    assert honest["error"] < 0.03
    assert low["error"] == pytest.approx(0.25, abs=0.03), "the integral of x - x³"
    assert low["calibrated_error"] < 0.04
    assert low["calibrated_brier"] < low["brier"] - 0.05
    assert low["calibrated_brier"] == pytest.approx(honest["calibrated_brier"], abs=0.002), "only the order counts"


def test_intervals_of_the_errors_as_scipy_draws_inputs() -> None:
    confidence, owners = CONFIDENCE[:600] ** 3, np.repeat(np.arange(100), 6)
    right = RNG.random(600) < CONFIDENCE[:600]
    found = calibration(confidence, right, owners, 4000)
    of_input = np.arange(600).reshape(100, 6)

    def drawn_interval(statistic: Callable[[np.ndarray], float]) -> tuple[float, float]:
        ends = stats.bootstrap(
            (np.arange(100),), lambda inputs: statistic(of_input[inputs.astype(int)].ravel()), vectorized=False,
            method="percentile", n_resamples=600, rng=np.random.default_rng(0),
        ).confidence_interval  # fmt: skip
        return ends.low, ends.high

    error = drawn_interval(lambda rows: calibration_error(confidence[rows], right[rows].astype(float)) or 0.0)
    brier = drawn_interval(lambda rows: float(np.mean((confidence[rows] - right[rows]) ** 2)))
    assert found["interval"]["error"] == pytest.approx((2 * found["error"] - error[1], error[1]), abs=0.01)
    assert found["interval"]["brier"] == pytest.approx(brier, abs=0.005)
    assert found["interval"]["calibrated_error"][0] == 0.0
    assert set(calibration(confidence, right, owners, 0)["interval"].values()) == {None}


def test_the_interval_of_an_error_by_chance_alone_begins_at_0() -> None:
    rng = np.random.default_rng(5)
    for confidence in rng.random((8, 400)) ** 0.5:
        right = (rng.random(400) < confidence).astype(float)
        low, high = error_interval(confidence, right, np.repeat(np.arange(100), 4), 300) or (1.0, 0.0)
        assert low == 0.0 < high


def test_each_fold_is_the_regression_of_sklearn_on_the_other_folds() -> None:
    confidence = CONFIDENCE.round(2)
    truth = (RNG.random(4000) < confidence).astype(float)
    found = cross_fitted(confidence, truth, INPUTS)
    assert found is not None
    folds = (np.random.default_rng(20201215).permutation(1000) % FOLDS)[INPUTS]
    for fold in range(FOLDS):
        held = folds == fold
        model = IsotonicRegression(out_of_bounds="clip").fit(confidence[~held], truth[~held])
        assert found[held] == pytest.approx(model.predict(confidence[held]), abs=1e-9)
    assert cross_fitted(confidence[: FOLDS - 1], truth[: FOLDS - 1], np.arange(FOLDS - 1)) is None


def test_a_report_has_the_reliability_if_asked_and_needs_gold(tmp_path: Path) -> None:
    labels = ["OK", "omission", "OK", "omission", "OK", None]
    out = save(scored(labels, gold_rough=["OK", "not_OK", "not_OK", "OK", "OK", "OK"]), tmp_path / "x.parquet")
    report = evaluate(out, EvaluateOptions(resamples=0, calibration=True))
    assert report["calibration"]["n"] == 5, "the row with an error has no confidence"
    assert [(line["n"], line["ok"]) for line in report["calibration"]["lines"]] == [(2, 0.5), (3, 2 / 3)]
    assert "calibration" not in evaluate(out, EvaluateOptions(resamples=0))
    assert calibration_error(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0.0, "the bounds are in a bin"
    bare = scored(labels, human_semantics=pa.array([1.0, 2, 3, 1, 2, 3]))
    with pytest.raises(UsageError, match="--gold-rough"):
        evaluate(save(bare, tmp_path / "y.parquet"), EvaluateOptions(resamples=0, calibration=True))


def test_ranking_by_counting_pairs_and_as_sklearn() -> None:
    confidence, wrong = np.array([0.1, 0.4, 0.35, 0.8, np.nan]), np.array([True, True, False, False, True])
    # Of four pairs (wrong, right) the wrong row has the lower confidence in three.
    found = ranking(confidence, wrong, np.arange(5), 0)
    assert (found["n"], found["roc_auc"]) == (4, pytest.approx(3 / 4))
    assert "interval" not in found
    assert ranking(confidence, wrong | True, np.arange(5))["roc_auc"] is None
    for _ in range(20):
        confidence, wrong = RNG.integers(0, 7, 60) / 6, RNG.random(60) < 0.3  # with ties
        found = ranking(confidence, wrong, np.arange(60), 0)
        assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(wrong, -confidence), abs=1e-12)
