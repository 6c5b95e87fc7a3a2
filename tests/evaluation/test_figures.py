"""Figures by hand, by scikit-learn, and at the edges."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from scorer.evaluation.figures import collapse, confusion, confusion_table, measure, trivial
from scorer.metric.verdict import FINE

OK, OM, HAL, BOTH, ERROR = 0, 1, 2, 3, -1


def _codes(*values: int) -> np.ndarray:
    return np.array(values, np.int8)


def test_ten_rows_by_hand() -> None:
    gold = _codes(OK, OK, OK, OK, OM, OM, HAL, HAL, BOTH, BOTH)
    predicted = _codes(OK, OK, OM, BOTH, OM, OK, HAL, OM, BOTH, HAL)
    fine = confusion(gold, predicted, 4)
    figures = measure(fine, collapse(fine))
    # not_OK: 5 of 6 found, 2 of 4 OK rows flagged.
    assert figures["rough"]["accuracy"] == pytest.approx(7 / 10)
    assert figures["rough"]["precision"] == pytest.approx(5 / 7)
    assert figures["rough"]["recall"] == pytest.approx(5 / 6)
    assert figures["rough"]["f1"] == pytest.approx(10 / 13)
    assert figures["fine"]["accuracy"] == pytest.approx(5 / 10)
    # F1 of OK 4/7, omission 2/5, hallucination 2/4, both 2/4.
    assert figures["fine"]["macro_f1"] == pytest.approx((4 / 7 + 2 / 5 + 1 / 2 + 1 / 2) / 4)
    # Omission side: gold in 4 rows, named in 5 (two of them right, plus OK→om, OK→both, hal→om).
    assert figures["omission"]["precision"] == pytest.approx(2 / 5)
    assert figures["omission"]["recall"] == pytest.approx(2 / 4)
    # Hallucination side: gold in 4 rows; named in 4: OK→both wrongly, hal→hal, both→both, both→hal rightly.
    assert figures["hallucination"]["precision"] == pytest.approx(3 / 4)
    assert figures["hallucination"]["recall"] == pytest.approx(3 / 4)


def test_an_error_is_not_ok_and_wrong_and_names_no_side() -> None:
    fine = confusion(_codes(OK, OM), _codes(ERROR, ERROR), 4)
    figures = measure(fine, collapse(fine))
    assert figures["rough"]["accuracy"] == pytest.approx(1 / 2)
    assert figures["rough"]["precision"] == pytest.approx(1 / 2)
    assert figures["rough"]["recall"] == pytest.approx(1)
    assert figures["fine"]["accuracy"] == 0
    assert np.isnan(figures["omission"]["precision"]), "no row was said to omit anything"
    assert figures["omission"]["recall"] == 0
    assert confusion_table(fine)["OK"] == {**dict.fromkeys(FINE, 0), "error": 1}


def test_rows_without_gold_do_not_count() -> None:
    assert confusion(_codes(-1, OK), _codes(OK, OK), 4).sum() == 1


def test_undefined_figures_are_nan() -> None:
    nothing = confusion(_codes(), _codes(), 4)
    for block in measure(nothing, collapse(nothing)).values():
        assert all(np.isnan(value) for value in block.values())


def test_counts_by_group_add_up() -> None:
    rng = np.random.default_rng(0)
    gold, predicted = rng.integers(-1, 4, (2, 500)).astype(np.int8)
    groups = rng.integers(0, 7, 500)
    stacked = confusion(gold, predicted, 4, groups, 7)
    assert stacked.shape == (7, 4, 5)
    assert (stacked.sum(axis=0) == confusion(gold, predicted, 4)).all()
    assert (stacked[3] == confusion(gold[groups == 3], predicted[groups == 3], 4)).all()
    each = measure(stacked, collapse(stacked))["rough"]["f1"]
    assert each[3] == pytest.approx(measure(stacked[3], collapse(stacked[3]))["rough"]["f1"])


@pytest.mark.parametrize("seed", range(5))
def test_as_scikit_learn_says(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    n = 400
    gold = rng.integers(0, 4 if seed else 2, n).astype(np.int8)  # seed 0: labels that never occur
    predicted = np.where(rng.random(n) < 0.5, gold, rng.integers(0, 4, n)).astype(np.int8)
    fine = confusion(gold, predicted, 4)
    ours = measure(fine, collapse(fine))
    assert (fine[:, :4] == metrics.confusion_matrix(gold, predicted, labels=range(4))).all()
    assert ours["fine"]["accuracy"] == pytest.approx(metrics.accuracy_score(gold, predicted))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of labels that are only predicted
        assert ours["fine"]["macro_f1"] == pytest.approx(metrics.f1_score(gold, predicted, average="macro"))
    sides = {"rough": (1, 2, 3), "omission": (OM, BOTH), "hallucination": (HAL, BOTH)}
    for block, labels in sides.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = metrics.precision_recall_fscore_support(
                np.isin(gold, labels), np.isin(predicted, labels), average="binary", zero_division=np.nan
            )
        for name, value in zip(("precision", "recall", "f1"), expected, strict=False):
            assert ours[block][name] == pytest.approx(value, nan_ok=True), (block, name)


def test_trivial_baselines_of_the_whole_e2e_gold() -> None:
    """Label counts of all 13,230 primary outputs, added up from the table of the data's description."""
    counts = np.zeros((4, 5), np.int64)
    counts[:, 0] = (8625, 3943, 208, 454)
    found = trivial(counts, collapse(counts))
    assert round(found["always OK"]["rough"]["accuracy"], 2) == 0.65
    assert found["always OK"]["rough"]["precision"] is None
    perfect = found["omissions perfect, no hallucination"]
    assert round(perfect["fine"]["accuracy"], 2) == 0.95
    assert perfect["omission"]["f1"] == 1
    assert perfect["hallucination"]["f1"] == 0
    assert perfect["rough"]["n"] == 13230
