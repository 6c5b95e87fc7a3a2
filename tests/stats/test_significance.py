"""Tests against those of scipy, and corrections of many against published examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binomtest

from scorer.stats.intervals import (
    ClusterSums,
    PairedCounts,
    Rate,
    Sample,
    combined,
    correlation,
    interval_of_difference,
    rate,
    wilson,
)
from scorer.stats.post_stratified import LabelledClass, effective_labels, estimate, random_labels
from scorer.stats.significance import benjamini_hochberg, compare, compare_strata, holm, p_of_interval

NONE = Sample()


@pytest.mark.parametrize(("gained", "lost"), [(0, 1), (3, 9), (12, 12), (0, 24), (24, 0), (150, 86)])
def test_of_pairs_it_is_mcnemars_test(gained: int, lost: int) -> None:
    found = compare(PairedCounts(5, gained, lost, 7), NONE, NONE)
    n = gained + lost
    # The mid-p of Fagerland, Lydersen & Laake (2013): the exact p less the probability of what was seen.
    tail = min(2 * stats.binom.cdf(min(gained, lost), n, 0.5), 1 + stats.binom.pmf(gained, n, 0.5) * (gained == lost))
    double = stats.binom.pmf(gained, n, 0.5)
    assert found.p == pytest.approx(tail - double if gained != lost else 1 - double / 2)
    assert found.p_rise == pytest.approx(stats.binomtest(gained, n, alternative="greater").pvalue)
    assert found.z == pytest.approx((gained - lost) / math.sqrt(n))


@pytest.mark.parametrize(
    ("count", "n", "other", "m"),
    [(3, 10, 1, 12), (0, 5, 3, 8), (100, 100, 11, 100), (3, 200_000, 1, 100_000), (120, 1000, 150, 1000)],
)
def test_of_two_samples_it_is_fishers_test(count: int, n: int, other: int, m: int) -> None:
    found = compare(PairedCounts(), Sample(count, n), Sample(other, m))
    table = [[count, n - count], [other, m - other]]
    assert found.p_rise == pytest.approx(stats.fisher_exact(table, alternative="greater").pvalue, rel=1e-6)
    seen = stats.hypergeom.pmf(count, n + m, count + other, n)
    assert found.p < stats.fisher_exact(table).pvalue
    assert found.p >= (stats.fisher_exact(table).pvalue - seen) * (1 - 1e-6)


def conditional(strata: list[tuple[Sample, Sample]]) -> dict[int, float]:
    """Probabilities of the hits among the later rows of all strata, one product of scipy's after another."""
    totals = {0: 1.0}
    for after, before in strata:
        sums: dict[int, float] = {}
        for hits in range(after.n + 1):
            chance = stats.hypergeom.pmf(hits, after.n + before.n, after.count + before.count, after.n)
            for earlier, other in totals.items():
                sums[earlier + hits] = sums.get(earlier + hits, 0.0) + chance * other
        totals = sums
    return totals


def test_strata_are_tested_by_the_exact_conditional_test() -> None:
    """R's ``mantelhaen.test(Rabbits, exact = TRUE)`` prints S = 16, p-value = 0.03994 (Agresti 1990)."""
    tables = [((0, 6), (0, 5)), ((3, 3), (0, 6)), ((6, 0), (2, 4)), ((5, 1), (6, 0)), ((2, 0), (5, 0))]
    strata = [(Sample(a, a + b), Sample(c, c + d)) for (a, b), (c, d) in tables]
    chances = conditional(strata)
    exact = sum(chance for chance in chances.values() if chance <= chances[16] * (1 + 1e-7))
    assert round(exact, 5) == 0.03994
    found = compare_strata(PairedCounts(), strata)
    as_likely = sum(chance for chance in chances.values() if abs(chance / chances[16] - 1) < 1e-7)
    assert found.p == pytest.approx(exact - as_likely / 2)
    assert found.p_rise == pytest.approx(sum(chance for hits, chance in chances.items() if hits >= 16))
    # Rates that are the same in each stratum are no difference, whatever the sizes; together they would be one.
    sizes = [(2, 200, 1, 100), (2, 20, 20, 200), (200, 400, 20, 40)]
    equal = [(Sample(a, n), Sample(b, m)) for a, n, b, m in sizes]
    assert compare_strata(PairedCounts(), equal).p > 0.9
    assert compare(PairedCounts(), Sample(204, 620), Sample(41, 340)).p < 1e-9
    assert compare_strata(PairedCounts(), [(NONE, Sample(1, 4)), (Sample(2, 5), NONE)]) is None


def test_pairs_and_samples_are_strata_of_one_table() -> None:
    pairs, after, before = PairedCounts(4, 5, 1, 9), Sample(3, 4), Sample(1, 6)
    found = compare(pairs, after, before)
    totals = {}
    for gained in range(7):
        for count in range(5):
            chance = stats.binom.pmf(gained, 6, 0.5) * stats.hypergeom.pmf(count, 10, 4, 4)
            totals[gained + count] = totals.get(gained + count, 0.0) + chance
    assert found.p_rise == pytest.approx(sum(chance for total, chance in totals.items() if total >= 8))
    seen = totals[8]
    less = sum(chance for chance in totals.values() if chance < seen * (1 - 1e-9))
    assert found.p == pytest.approx(less + sum(c for c in totals.values() if math.isclose(c, seen)) / 2)


def test_correlated_rows_count_as_fewer() -> None:
    one = compare(PairedCounts(), Sample(20, 100), Sample(40, 400))
    three = compare(PairedCounts(), Sample(60, 300, effect=3.0), Sample(120, 1200, effect=3.0))
    assert one == three
    assert compare(PairedCounts(0, 9, 3, 40), NONE, NONE) == compare(PairedCounts(0, 18, 6, 80, effect=2.0), NONE, NONE)


def test_where_nothing_varies_nothing_is_found() -> None:
    assert compare(PairedCounts(), Sample(1, 3), NONE) is None
    same = compare(PairedCounts(5, 0, 0, 5), NONE, NONE)
    assert (same.p, same.p_rise) == (1.0, 1.0)


def test_holm_by_hand() -> None:
    """The example of R's documentation of p.adjust: 0.01, 0.02, 0.03, 0.04, 0.05."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.04, None, 0.01]) == [0.04, None, 0.02]


def test_the_p_value_of_an_interval_is_below_05_where_it_leaves_out_the_value() -> None:
    assert p_of_interval(0.5, 0.4, 0.7, 0.4) == pytest.approx(0.05)
    assert p_of_interval(0.5, 0.4, 0.7, 0.39) < 0.05 < p_of_interval(0.5, 0.4, 0.7, 0.69)


def test_benjamini_hochberg() -> None:
    # Benjamini & Hochberg (1995), section 3: at 0.05 the four smallest of these fifteen are rejected.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
         1.0]  # fmt: skip
    assert (benjamini_hochberg(p) < 0.05).sum() == 4
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
    shuffled = np.random.default_rng(0).permutation(p)
    assert benjamini_hochberg(shuffled) == pytest.approx(stats.false_discovery_control(shuffled))
    assert len(benjamini_hochberg([])) == 0


def test_wilson_is_that_of_scipy() -> None:
    for n in (1, 2, 7, 19, 200, 347, 1_000_000):
        for count in {0, 1, n // 3, n - 1, n}:
            theirs = stats.binomtest(count, n).proportion_ci(method="wilson")
            assert wilson(count, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert rate(0, 0) == Rate(count=0, n=0, value=None, low=None, high=None)
    assert wilson(0, 5)[0] == 0.0
    assert wilson(5, 5)[1] == 1.0


@pytest.mark.parametrize(
    ("a", "n", "b", "m", "low", "high"),
    # Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10.
    [
        (56, 70, 48, 80, 0.0524, 0.3339),
        (9, 10, 3, 10, 0.1705, 0.8090),
        (6, 7, 2, 7, 0.0582, 0.8062),
        (5, 56, 0, 29, -0.0381, 0.1926),
        (0, 10, 0, 20, -0.1611, 0.2775),
        (10, 10, 0, 10, 0.6075, 1.0),
    ],
)
def test_difference_of_the_literature(a: int, n: int, b: int, m: int, low: float, high: float) -> None:
    assert interval_of_difference(rate(a, n), rate(b, m)) == pytest.approx((low, high), abs=5e-5)


def test_a_difference_in_which_nothing_is_uncertain_is_a_point() -> None:
    assert combined(0.25, [(0.0, rate(3, 10)), (1.0, rate(0, 0))]) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17, 2635-2650, method 10.
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((20, 12, 2, 16), 0.0562, 0.3292),
        # Bentur et al. (2009), in Fagerland, Lydersen & Laake, Statistics in Medicine 33, 2850-2875 (2014).
        ((1, 1, 7, 12), -0.507, -0.026),
    ],
)
def test_difference_within_pairs_of_the_literature(cells: tuple[int, int, int, int], low: float, high: float) -> None:
    pairs = PairedCounts(*cells)
    found = combined((pairs.gained - pairs.lost) / pairs.n, [], pairs)
    assert found == pytest.approx((low, high), abs=5e-4)


def sums(n: list[int], x: list[int]) -> ClusterSums:
    rows, hits = np.array(n), np.array(x)
    moments = (len(n), rows.sum(), hits.sum(), (rows * rows).sum(), (rows * hits).sum(), (hits * hits).sum())
    return ClusterSums(*map(int, moments))


def test_the_design_effect_is_rao_and_scotts_ratio_of_variances() -> None:
    n, x = [4, 6] * 6, [4, 1, 3, 2, 0, 5, 1, 1, 4, 6, 0, 2]
    p = sum(x) / sum(n)
    clustered = 12 / 11 * sum((hits - p * rows) ** 2 for rows, hits in zip(n, x, strict=True)) / sum(n) ** 2
    found = sums(n, x)
    assert found.effect(correlation(found) or 0.0) == pytest.approx(clustered / (p * (1 - p) / sum(n)))
    # Differences of pairs: twenty inputs of two pairs each got worse, got better, or did not change.
    n, x = [2] * 20, [2, -2, 0, 0] * 5
    assert sums(n, x).effect(correlation(sums(n, x), 20) or 0.0) == pytest.approx(2, rel=0.06)
    assert correlation(sums([1] * 40, [1, -1, 0, 0] * 10), 20) == 0


def test_a_design_effect_that_cannot_be_estimated() -> None:
    assert correlation(sums([3] * 9, [0, 1, 2] * 3)) is None  # few inputs
    assert correlation(sums([3] * 50, [0] * 50)) is None  # no hit
    assert correlation(sums([2] * 20, [2] * 20), 40) is None  # all pairs got worse: nothing varies
    assert correlation(ClusterSums()) is None


MANY = 10**9


def of(rows: int, labels: int, count: int, assumed: float = 0.0) -> LabelledClass:
    return LabelledClass(label="x", rows=rows, labels=labels, count=count, assumed=assumed)


@pytest.mark.parametrize(("count", "labels"), [(0, 32), (3, 30), (7, 14), (18, 18)])
def test_a_class_has_wilsons_interval_and_the_exact_one_at_its_ends(count: int, labels: int) -> None:
    method = "exact" if count in (0, labels) else "wilson"
    expected = binomtest(count, labels).proportion_ci(method=method)
    assert of(MANY, labels, count).limits == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_classes_are_combined_by_mover() -> None:
    """Zou & Donner (2008): squared distances to the limits are added."""
    ok, bad = of(7 * MANY, 41, 1), of(3 * MANY, 18, 17)
    value = 0.7 / 41 + 0.3 * 17 / 18
    (low, high), (low2, high2) = ok.limits, bad.limits
    below = math.hypot(0.7 * (1 / 41 - low), 0.3 * (17 / 18 - low2))
    above = math.hypot(0.7 * (high - 1 / 41), 0.3 * (high2 - 17 / 18))
    assert estimate([ok, bad]) == pytest.approx((value, value - below, value + above))


def test_the_estimate_is_that_of_ppi_at_its_best_weight() -> None:
    """ppi_mean_pointestimate of ppi-python 0.2.3: lam * mean(Yhat_unlabeled) + mean(Y - lam * Yhat)."""
    labels, predicted = np.array([1, 0, 0, 1, 1, 0, 0, 0]), np.array([1, 0, 0, 0, 1, 1, 0, 0])
    weight = 2 / 3 - 1 / 5  # slope of the labels on the predictions, the control variate's coefficient
    expected = weight * 0.3 + np.mean(labels - weight * predicted)
    assert estimate([of(7_000, 5, 1), of(3_000, 3, 2)])[0] == pytest.approx(expected, abs=1e-12)


def test_a_census_has_no_interval_and_a_class_without_labels_may_have_any_share() -> None:
    assert estimate([of(5, 5, 1), of(3, 3, 2)]) == pytest.approx((3 / 8,) * 3)
    assert estimate([of(8, 8, 0), of(2, 0, 0, 0.9)]) == pytest.approx((0.18, 0.0, 0.2))
    assert effective_labels(10, 10) == math.inf
    assert random_labels(0.2, 0.0, 50) == 50


@pytest.mark.parametrize("wrong", [0.0, 0.02, 0.05, 0.3])
def test_intervals_contain_the_rate_as_often_as_they_say(wrong: float) -> None:
    rng = np.random.default_rng(11)
    inside = 0
    sizes, drawn = (3_000, 1_800, 200), (36, 20, 10)
    truth = [rng.random(size) < share for size, share in zip(sizes, (wrong, 1 - wrong, 1 - wrong), strict=True)]
    right = float(np.concatenate(truth).mean())
    for _ in range(300):
        counts = [int(rng.choice(one, n, replace=False).sum()) for one, n in zip(truth, drawn, strict=True)]
        classes = [of(size, n, count) for size, n, count in zip(sizes, drawn, counts, strict=True)]
        value, low, high = estimate(classes)
        assert low <= value <= high
        inside += low <= right <= high
    assert inside >= 0.915 * 300  # .95 less three standard errors
    if wrong == 0.3:
        assert inside <= 0.99 * 300
