"""Correlations by level against definitions written out, and what their bootstrap draws."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.evaluation.estimates import Design, spearman

stats = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(6)
INPUTS, SYSTEMS = np.repeat(np.arange(30), 6), np.tile(np.arange(6), 30)
HUMAN = np.round(SYSTEMS / 2 + RNG.normal(size=180), 1)  # with ties
METRIC = np.round(HUMAN + RNG.normal(size=180), 1)
METRIC[5] = np.nan


def test_spearman_is_scipys() -> None:
    assert spearman(METRIC[6:], HUMAN[6:]) == pytest.approx(stats.spearmanr(METRIC[6:], HUMAN[6:]).statistic)
    assert np.isnan(spearman(np.ones(4), HUMAN[:4])) and np.isnan(spearman(HUMAN[:2], HUMAN[:2]))


def test_each_level_by_its_definition() -> None:
    design = Design(INPUTS, SYSTEMS, 0)
    there = ~np.isnan(METRIC)
    pooled = design.pooled(METRIC, HUMAN)
    assert (pooled["n"], pooled["interval"]) == (179, None)
    assert pooled["value"] == pytest.approx(stats.spearmanr(METRIC[there], HUMAN[there]).statistic)
    by_input = [stats.spearmanr(METRIC[m], HUMAN[m]).statistic for i in range(30) if (m := (i == INPUTS) & there).any()]
    within = design.within(METRIC, HUMAN)
    assert within["n"] == 30 and within["value"] == pytest.approx(np.mean(by_input))
    means = [[values[(s == SYSTEMS) & there].mean() for s in range(6)] for values in (METRIC, HUMAN)]
    system = design.by_system(METRIC, HUMAN)
    assert system["n"] == 6 and system["value"] == pytest.approx(stats.spearmanr(*means).statistic)


def test_inputs_are_drawn_and_not_rows() -> None:
    once, twice = Design(INPUTS, SYSTEMS, 100), Design(np.repeat(INPUTS, 2), np.repeat(SYSTEMS, 2), 100)
    for level in ("pooled", "within", "by_system"):
        one = getattr(once, level)(METRIC, HUMAN)
        two = getattr(twice, level)(np.repeat(METRIC, 2), np.repeat(HUMAN, 2))  # the same texts, said twice
        assert two["interval"] == pytest.approx(one["interval"])
        assert one["interval"][0] < one["value"] <= one["interval"][1]
    apart = Design(np.arange(180), SYSTEMS, 100).pooled(METRIC, HUMAN)["interval"]
    assert apart != pytest.approx(once.pooled(METRIC, HUMAN)["interval"])


def test_few_systems_say_little() -> None:
    """Drawing systems too, an interval is wide even where the ratings have no noise at all."""
    human = (SYSTEMS**2).astype(float)
    metric = np.array([0.0, 2.0, 1.0, 3.0, 5.0, 4.0])[SYSTEMS]  # the same for every input
    low, high = Design(INPUTS, SYSTEMS, 300).by_system(metric, human)["interval"] or (0.0, 0.0)
    assert high - low > 0.2 and high == pytest.approx(1.0)


def test_rows_to_leave_out_and_nothing_left() -> None:
    design = Design(INPUTS, None, 50)
    chosen = INPUTS < 3
    assert design.pooled(METRIC, HUMAN, chosen)["n"] == 17
    nothing = np.full(180, np.nan)
    for found in (design.pooled(nothing, HUMAN), design.within(nothing, HUMAN), design.by_system(METRIC, HUMAN)):
        assert found == {"n": 0, "value": None, "interval": None}
    assert Design(INPUTS, SYSTEMS, 5).by_system(nothing, HUMAN)["value"] is None
