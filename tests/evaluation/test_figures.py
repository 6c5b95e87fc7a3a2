"""Figures of labels and their intervals, against scikit-learn, scipy and the published E2E gold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from scorer.evaluation.label_figures import Counts, Labels, confusion, intervals, macro_f1, measure, percentiles
from scorer.scoring.output_columns import rough_of

RNG = np.random.default_rng(11)


def counts(gold: np.ndarray, predicted: np.ndarray, *groups: object) -> tuple[Counts, Counts]:
    """Confusion counts of FINE and of ROUGH labels."""
    return confusion(gold, predicted, 4, *groups), confusion(rough_of(gold), rough_of(predicted), 2, *groups)


def test_an_error_names_no_side() -> None:
    figures = measure(*counts(np.array([0, 1], np.int8), np.array([-1, -1], np.int8)))
    assert np.isnan(figures["omission"]["precision"]), "no row was said to omit anything"
    assert figures["omission"]["recall"] == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore:.*is ill-defined")
def test_as_scikit_learn_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 4 if seed else 2, 400).astype(np.int8)  # seed 0: labels that never occur
    predicted = np.where(rng.random(400) < 0.5, gold, rng.integers(0, 4, 400)).astype(np.int8)
    fine, rough = counts(gold, predicted)
    ours = measure(fine, rough)
    assert (fine[:, :4] == metrics.confusion_matrix(gold, predicted, labels=range(4))).all()
    assert ours["fine"]["accuracy"] == pytest.approx(metrics.accuracy_score(gold, predicted))
    assert ours["fine"]["macro_f1"] == pytest.approx(metrics.f1_score(gold, predicted, average="macro"))
    for block, labels in {"rough": (1, 2, 3), "omission": (1, 3), "hallucination": (2, 3)}.items():
        expected = metrics.precision_recall_fscore_support(
            np.isin(gold, labels), np.isin(predicted, labels), average="binary", zero_division=np.nan
        )
        for name, value in zip(("precision", "recall", "f1"), expected, strict=False):
            assert ours[block][name] == pytest.approx(value, nan_ok=True), (block, name)


def test_trivial_baselines_of_the_whole_e2e_gold() -> None:
    """Label counts of all 13,230 primary outputs, added up from the table of the data's description."""
    gold = np.repeat(np.arange(4), (8625, 3943, 208, 454)).astype(np.int8)
    found = Labels(gold, rough_of(gold), gold, rough_of(gold), np.arange(len(gold))).trivial()
    assert round(found["always OK"]["rough"]["accuracy"], 2) == 0.65
    assert found["always OK"]["rough"]["precision"] is None
    perfect = found["omissions perfect, no hallucination"]
    assert round(perfect["fine"]["accuracy"], 2) == 0.95
    assert (perfect["omission"]["f1"], perfect["hallucination"]["f1"], perfect["rough"]["n"]) == (1, 0, 13230)


def by_input(n_inputs: int, rows: int = 8) -> tuple[Counts, Counts]:
    """Counts by input where the rows of an input are mostly right together or wrong together."""
    hard = np.repeat(RNG.random(n_inputs) < 0.4, rows)
    gold = RNG.integers(0, 4, n_inputs * rows).astype(np.int8)
    predicted = np.where(RNG.random(len(gold)) < np.where(hard, 0.2, 0.9), gold, (gold + 1) % 4).astype(np.int8)
    return counts(gold, predicted, np.repeat(np.arange(n_inputs), rows), n_inputs)


def test_intervals_as_scipy_draws_inputs() -> None:
    """In the middle, Wilson's interval with the design effect is that of a bootstrap, for macro-F1 it is one."""
    fine, rough = by_input(60)
    found = intervals(fine, rough, 4000)["fine"]
    statistics = {
        "accuracy": (np.trace(fine[..., :4], axis1=1, axis2=2), lambda a, b, axis: a.sum(axis) / b.sum(axis)),
        "macro_f1": (np.arange(len(fine)), lambda a, b, axis: macro_f1(fine[a].sum(axis=-3))),
    }
    for name, (values, statistic) in statistics.items():
        drawn = stats.bootstrap(
            (values, fine.sum(axis=(1, 2))), statistic, paired=True, vectorized=True, method="percentile",
            n_resamples=2000, rng=np.random.default_rng(0),
        ).confidence_interval  # fmt: skip
        assert found[name] == pytest.approx((drawn.low, drawn.high), abs=0.012)
    assert set(intervals(*by_input(1))["fine"].values()) == {None}


def test_percentiles_need_most_samples() -> None:
    assert percentiles(np.arange(1001.0)) == [25.0, 975.0]
    assert percentiles(np.array([1.0, np.nan])) is None
    assert percentiles(np.zeros(0)) is None
