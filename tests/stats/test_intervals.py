"""Intervals and tests against published tables and against scipy."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from scorer.stats.intervals import Pairs, Rate, combined, interval_of_difference, rate, wilson
from scorer.stats.mantel_haenszel import Sample, compare


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
    pairs = Pairs(*cells)
    found = combined((pairs.gained - pairs.lost) / pairs.n, [], pairs)
    assert found == pytest.approx((low, high), abs=5e-4)


NONE = Sample()


@pytest.mark.parametrize(("gained", "lost"), [(0, 1), (3, 9), (12, 12), (0, 24), (24, 0), (150, 86)])
def test_of_pairs_it_is_mcnemars_test(gained: int, lost: int) -> None:
    found = compare(Pairs(5, gained, lost, 7), NONE, NONE)
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
    found = compare(Pairs(), Sample(count, n), Sample(other, m))
    table = [[count, n - count], [other, m - other]]
    assert found.p_rise == pytest.approx(stats.fisher_exact(table, alternative="greater").pvalue, rel=1e-6)
    seen = stats.hypergeom.pmf(count, n + m, count + other, n)
    assert found.p < stats.fisher_exact(table).pvalue
    assert found.p >= (stats.fisher_exact(table).pvalue - seen) * (1 - 1e-6)


def test_pairs_and_samples_are_strata_of_one_table() -> None:
    pairs, after, before = Pairs(4, 5, 1, 9), Sample(3, 4), Sample(1, 6)
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
    one = compare(Pairs(), Sample(20, 100), Sample(40, 400))
    three = compare(Pairs(), Sample(60, 300, effect=3.0), Sample(120, 1200, effect=3.0))
    assert one == three
    assert compare(Pairs(0, 9, 3, 40), NONE, NONE) == compare(Pairs(0, 18, 6, 80, effect=2.0), NONE, NONE)


def test_where_nothing_varies_nothing_is_found() -> None:
    assert compare(Pairs(), Sample(1, 3), NONE) is None
    same = compare(Pairs(5, 0, 0, 5), NONE, NONE)
    assert (same.p, same.p_rise) == (1.0, 1.0)
