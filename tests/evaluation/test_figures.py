from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from scorer.evaluation.label_figures import collapse, confusion, intervals, macro_f1, measure, percentiles, trivial

OM, HAL, BOTH = 1, 2, 3
RNG = np.random.default_rng(11)


def test_an_error_names_no_side() -> None:
    fine = confusion(np.array([0, OM], np.int8), np.array([-1, -1], np.int8), 4)
    figures = measure(fine, collapse(fine))
    assert np.isnan(figures["omission"]["precision"]), "no row was said to omit anything"
    assert figures["omission"]["recall"] == 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore:.*is ill-defined")
def test_as_scikit_learn_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 400
    gold = rng.integers(0, 4 if seed else 2, n).astype(np.int8)  # seed 0: labels that never occur
    predicted = np.where(rng.random(n) < 0.5, gold, rng.integers(0, 4, n)).astype(np.int8)
    fine = confusion(gold, predicted, 4)
    ours = measure(fine, collapse(fine))
    assert (fine[:, :4] == metrics.confusion_matrix(gold, predicted, labels=range(4))).all()
    assert ours["fine"]["accuracy"] == pytest.approx(metrics.accuracy_score(gold, predicted))
    assert ours["fine"]["macro_f1"] == pytest.approx(metrics.f1_score(gold, predicted, average="macro"))
    sides = {"rough": (1, 2, 3), "omission": (OM, BOTH), "hallucination": (HAL, BOTH)}
    for block, labels in sides.items():
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
    assert (perfect["omission"]["f1"], perfect["hallucination"]["f1"], perfect["rough"]["n"]) == (1, 0, 13230)


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
