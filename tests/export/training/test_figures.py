"""Figures of the card, against values worked out by hand or by another way."""

from __future__ import annotations

import numpy as np
import pytest

from export.training.general.figures import (
    difference,
    label_figures,
    within_inputs,
)


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def test_the_interval_is_over_inputs() -> None:
    rng = np.random.default_rng(0)
    inputs = np.repeat(np.arange(40), 5)
    human = rng.normal(size=200)
    good, bad = human + 0.3 * rng.normal(size=200), rng.normal(size=200)
    more, low, high = difference(good, bad, human, inputs, pearson)
    assert more == pytest.approx(pearson(good, human) - pearson(bad, human))
    assert 0 < low < more < high
    same, low, high = difference(good, good, human, inputs, pearson)
    assert (same, low, high) == (0, 0, 0)
    # Copies of a row within its input are no new evidence: the interval stays as wide.
    one = difference(good[::5], bad[::5], human[::5], inputs[::5], pearson)
    many = difference(*(np.repeat(x[::5], 5) for x in (good, bad, human)), inputs, pearson)
    assert many[2] - many[1] == pytest.approx(one[2] - one[1], rel=1e-6)


def test_within_inputs_forgets_what_inputs_differ_in() -> None:
    inputs = np.repeat([0, 1], 3)
    human = np.array([1.0, 2.0, 3.0, 11.0, 12.0, 13.0])
    assert within_inputs(human[::-1] * 1.0, human, inputs, pearson) == pytest.approx(-1)


def test_figures_of_a_hand_made_table() -> None:
    gold = ["OK", "OK", "omission", "hallucination", "omission+hallucination"]
    found = ["OK", "omission", "omission", "OK", "hallucination"]
    result = label_figures(gold, found)
    assert (result["fine"], result["rough"]) == (pytest.approx(2 / 5), pytest.approx(3 / 5))
    assert [result["omission"][key] for key in ("precision", "recall", "f1")] == [0.5, 0.5, 0.5]
    assert result["hallucination"]["precision"] == 1.0 and result["hallucination"]["recall"] == 0.5
    # F1: OK 1/2, omission 2/3, the other two 0.
    assert result["macro_f1"] == pytest.approx((1 / 2 + 2 / 3) / 4)
