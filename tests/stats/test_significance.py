"""Tests against those of scipy, and corrections of many against published examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from scorer.stats.intervals import Pairs, Sample
from scorer.stats.significance import benjamini_hochberg, compare, holm, p_of_interval

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
