"""Correlations by level against scipy and definitions written out, what their bootstrap draws, and comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scorer.evaluation import correlation
from scorer.evaluation.correlation import (
    WILCOX_RESAMPLES,
    Difference,
    Differences,
    Levels,
    compare,
    corrected,
    correlate,
    system_means,
)
from scorer.evaluation.label_figures import SEED

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
    assert system_means([METRIC, HUMAN], SYSTEMS, 6) == [pytest.approx(one) for one in means]
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
    first, second = HUMAN + RNG.normal(size=180), HUMAN + RNG.normal(size=180)
    one, two = (
        compare(*(np.repeat(values, times) for values in (first, second, HUMAN, INPUTS)), ("spearman",))["spearman"]
        for times in (1, 2)
    )
    assert one is not None and two is not None
    assert (two["low"], two["high"], two["p"]) == pytest.approx((one["low"], one["high"], one["p"]))


def test_few_systems_say_little() -> None:
    """Drawing systems too, an interval is wide even where the ratings have no noise at all."""
    human = (SYSTEMS**2).astype(float)
    metric = np.array([0.0, 2.0, 1.0, 3.0, 5.0, 4.0])[SYSTEMS]  # the same for every input
    low, high = Levels(INPUTS, SYSTEMS, 300).by_system(metric, human)["interval"] or (0.0, 0.0)
    assert high - low > 0.2 and high == pytest.approx(1.0)
    rare = (SYSTEMS != 5) | (INPUTS == 0)  # one system's only row is often not drawn
    assert Levels(INPUTS[rare], SYSTEMS[rare], 100).by_system(metric[rare], human[rare])["n"] == 6


@pytest.mark.parametrize(
    ("n", "low", "high"), [(30, 7, 593), (60, 8, 592), (100, 11, 588), (200, 14, 585), (300, 15, 584)]
)
def test_wilcox_bounds_for_pearson(n: int, low: int, high: int) -> None:
    human = RNG.normal(size=n)
    first, second = human + RNG.normal(size=n), human + 2 * RNG.normal(size=n)
    found = compare(first, second, human, None, ("pearson",))["pearson"]
    drawn = []
    for times in np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=WILCOX_RESAMPLES):
        one, other, rating = (np.repeat(values, times) for values in (first, second, human))
        drawn.append(np.corrcoef(one, rating)[0, 1] - np.corrcoef(other, rating)[0, 1])
    drawn.sort()
    assert found is not None and found["n"] == n
    assert (found["low"], found["high"]) == pytest.approx((drawn[low - 1], drawn[high - 1]))


def test_clear_and_absent_differences() -> None:
    human = RNG.normal(size=120)
    good, noise = human + 0.3 * RNG.normal(size=120), RNG.normal(size=120)
    better, worse, same = (
        compare(*pair, human, None, ("spearman",))["spearman"] for pair in ((good, noise), (noise, good), (good, good))
    )
    assert better is not None and worse is not None and same is not None
    assert (better["higher"], worse["higher"], same["higher"]) == ("first", "second", None)
    assert (better["p"], same["p"]) == (2 / (WILCOX_RESAMPLES + 1), 1)
    assert compare(np.ones(120), human, human)["spearman"] is None


def test_comparisons_with_several_metrics_are_corrected_by_holm() -> None:
    def line(p: float | None) -> Differences:
        found = None if p is None else Difference(difference=0.1, low=0.01, high=0.2, p=p, higher="first", n=9)
        return Differences(pearson=found, spearman=found, kendall=None)

    found = [one["pearson"] for one in corrected([line(0.01), line(0.04), line(None), line(0.03)])]
    assert [one and (one["p"], one["higher"]) for one in found] == [
        (pytest.approx(0.03), "first"),
        (pytest.approx(0.06), None),
        None,
        (pytest.approx(0.06), None),
    ]
