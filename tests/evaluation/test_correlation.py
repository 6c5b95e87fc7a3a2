"""Correlations by level against scipy and definitions written out, and what their bootstrap draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scorer.evaluation import correlation
from scorer.evaluation.correlation import Levels, correlate, system_means

RNG = np.random.default_rng(6)
INPUTS, SYSTEMS = np.repeat(np.arange(30), 6), np.tile(np.arange(6), 30)
HUMAN = np.round(SYSTEMS / 2 + RNG.normal(size=180), 1)  # with ties
METRIC = np.round(HUMAN + RNG.normal(size=180), 1)
METRIC[5] = np.nan
THERE = ~np.isnan(METRIC)


def test_coefficients_are_scipys() -> None:
    found = correlate(METRIC, HUMAN, INPUTS, 100)
    assert found["n"] == 179
    expected = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    for kind in correlation.KINDS:
        assert found[kind] == pytest.approx(expected[kind](METRIC[THERE], HUMAN[THERE])[0], abs=1e-13)
        low, high = found["interval"][kind] or (1.0, 0.0)
        assert low < (found[kind] or 2.0) < high
    assert "interval" not in correlate(METRIC, HUMAN)
    assert correlate(np.ones(10), HUMAN[:10])["pearson"] is None
    assert correlate(METRIC[:2], HUMAN[:2])["spearman"] is None


def test_each_level_by_its_definition() -> None:
    levels = Levels(INPUTS, SYSTEMS, 0)
    pooled = levels.pooled(METRIC, HUMAN)
    assert (pooled["n"], pooled["interval"]) == (179, None)
    assert pooled["value"] == pytest.approx(stats.spearmanr(METRIC[THERE], HUMAN[THERE]).statistic)
    by_input = [stats.spearmanr(METRIC[m], HUMAN[m]).statistic for i in range(30) if (m := (i == INPUTS) & THERE).any()]
    within = levels.within(METRIC, HUMAN)
    assert within["n"] == 30 and within["value"] == pytest.approx(np.mean(by_input))
    means = [[values[(s == SYSTEMS) & THERE].mean() for s in range(6)] for values in (METRIC, HUMAN)]
    assert system_means([METRIC, HUMAN], SYSTEMS) == [pytest.approx(one) for one in means]
    system = levels.by_system(METRIC, HUMAN)
    assert system["n"] == 6 and system["value"] == pytest.approx(stats.spearmanr(*means).statistic)
    nothing = np.full(180, np.nan)
    for found in (levels.pooled(nothing, HUMAN), levels.within(nothing, HUMAN), levels.by_system(nothing, HUMAN)):
        assert found == {"n": 0, "value": None, "interval": None}


def test_inputs_are_drawn_and_not_rows() -> None:
    once, twice = Levels(INPUTS, SYSTEMS, 100), Levels(np.repeat(INPUTS, 2), np.repeat(SYSTEMS, 2), 100)
    for level in ("pooled", "within", "by_system"):
        one = getattr(once, level)(METRIC, HUMAN)
        two = getattr(twice, level)(np.repeat(METRIC, 2), np.repeat(HUMAN, 2))  # the same texts, said twice
        assert two["interval"] == pytest.approx(one["interval"])
        assert one["interval"][0] < one["value"] <= one["interval"][1]
    apart = Levels(np.arange(180), SYSTEMS, 100).pooled(METRIC, HUMAN)["interval"]
    assert apart != pytest.approx(once.pooled(METRIC, HUMAN)["interval"])


def test_few_systems_say_little() -> None:
    """Drawing systems too, an interval is wide even where the ratings have no noise at all."""
    human = (SYSTEMS**2).astype(float)
    metric = np.array([0.0, 2.0, 1.0, 3.0, 5.0, 4.0])[SYSTEMS]  # the same for every input
    low, high = Levels(INPUTS, SYSTEMS, 300).by_system(metric, human)["interval"] or (0.0, 0.0)
    assert high - low > 0.2 and high == pytest.approx(1.0)
    rare = (SYSTEMS != 5) | (INPUTS == 0)  # one system's only row is often not drawn
    assert Levels(INPUTS[rare], SYSTEMS[rare], 100).by_system(metric[rare], human[rare])["n"] == 6
