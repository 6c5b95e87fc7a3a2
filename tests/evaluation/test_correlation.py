"""Correlations against definitions written out, and without the extra."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from scorer.evaluation import correlation
from scorer.evaluation.label_report import Difference, Differences

pytest.importorskip("scipy")

RNG = np.random.default_rng(2)
X = np.round(RNG.normal(size=40), 1)  # with ties
Y = np.round(X + RNG.normal(size=40), 1)


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    dx, dy = x - x.mean(), y - y.mean()
    return float((dx * dy).sum() / np.sqrt((dx**2).sum() * (dy**2).sum()))


def _ranks(x: np.ndarray) -> np.ndarray:
    return np.array([(x < value).sum() + ((x == value).sum() + 1) / 2 for value in x])


def _kendall(x: np.ndarray, y: np.ndarray) -> float:
    """Tau-b, pair by pair."""
    signs = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in combinations(range(len(x)), 2)]
    untied_x, untied_y = sum(a != 0 for a, _ in signs), sum(b != 0 for _, b in signs)
    return float(sum(a * b for a, b in signs) / np.sqrt(untied_x * untied_y))


def test_coefficients_by_definition() -> None:
    found = correlation.correlate(X, Y)
    assert found["n"] == 40
    assert found["pearson"] == pytest.approx(_pearson(X, Y))
    assert found["spearman"] == pytest.approx(_pearson(_ranks(X), _ranks(Y)))
    assert found["kendall"] == pytest.approx(_kendall(X, Y))


def test_missing_values_leave_with_their_row() -> None:
    x, y = X.copy(), Y.copy()
    x[3], y[7] = np.nan, np.nan
    kept = np.delete(np.arange(40), [3, 7])
    assert correlation.correlate(x, y) == correlation.correlate(X[kept], Y[kept])


def test_undefined_is_none() -> None:
    assert correlation.correlate(np.ones(10), Y[:10])["pearson"] is None
    assert correlation.correlate(X[:2], Y[:2])["spearman"] is None


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlation, "available", lambda: False)
    assert correlation.correlate(X, Y) == {"n": 40, "pearson": None, "spearman": None, "kendall": None}
    assert correlation.compare(X, Y, Y) == {"pearson": None, "spearman": None, "kendall": None}


def test_interval_holds_the_value_and_is_asked_for() -> None:
    found = correlation.correlate(X, Y, np.arange(40) // 2, 200)
    for kind in correlation.KINDS:
        low, high = found["interval"][kind]
        assert low < found[kind] < high
    assert "interval" not in correlation.correlate(X, Y)


def test_system_means() -> None:
    values, human = np.array([1.0, 3.0, 5.0, np.nan]), np.array([1.0, 2.0, np.nan, 4.0])
    (means, human_means), there = correlation.system_means([values, human], np.array([0, 0, 1, 2]), 3)
    assert means[0] == 2 and human_means[0] == 1.5
    assert there.tolist() == [True, False, False]
    assert np.isnan(means[1])


def test_spearman_with_the_number_of_triples_has_two_names() -> None:
    counts, correct = np.arange(1.0, 9.0), np.array([1, 1, 1, 1, 0, 1, 0, 0], bool)
    found = correlation.spearman_with_count(counts, correct, np.arange(8), 0)
    assert found["correctness"] == pytest.approx(_pearson(counts, _ranks(correct.astype(float))))
    assert found["errors"] == -found["correctness"]
    assert found["correctness"] < 0, "more triples, fewer right labels"


def test_comparisons_with_several_metrics_are_corrected_by_holm() -> None:
    def line(p: float | None) -> Differences:
        found = None if p is None else Difference(difference=0.1, low=0.01, high=0.2, p=p, higher="first", n=9)
        return Differences(pearson=found, spearman=found, kendall=None)

    found = [one["pearson"] for one in correlation.corrected([line(0.01), line(0.04), line(None), line(0.03)])]
    assert [one and (one["p"], one["higher"]) for one in found] == [
        (pytest.approx(0.03), "first"),
        (pytest.approx(0.06), None),
        None,
        (pytest.approx(0.06), None),
    ]
