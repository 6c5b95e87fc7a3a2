from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from scorer.evaluation.figures import collapse, confusion, measure, trivial

OM, HAL, BOTH = 1, 2, 3


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
