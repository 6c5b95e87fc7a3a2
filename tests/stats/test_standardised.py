"""Direct standardisation against sums written out, and its interval against what it should contain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scorer.stats.intervals import interval_of_difference, rate
from scorer.stats.standardised import Stratum, standardise

BEFORE = [(2, 70), (3, 70), (8, 70)]
AFTER = [(1, 20), (2, 50), (20, 140)]


def strata(after: list[tuple[int, int]], before: list[tuple[int, int]]) -> list[Stratum]:
    found = []
    for (count, n), (other, m) in zip(after, before, strict=True):
        ends = interval_of_difference(rate(count, n), rate(other, m))
        found.append(Stratum(m, count / n, other / m, *ends))
    return found


def test_the_rates_and_the_interval_are_those_of_the_formula() -> None:
    found = standardise(strata(AFTER, BEFORE))
    later, earlier = (np.array([count / n for count, n in rows]) for rows in (AFTER, BEFORE))
    assert found.now == pytest.approx(later.mean()) and found.before == pytest.approx(13 / 210)
    # Wilson's limits from scipy; Newcombe's method 10 for each difference; Zou, Huang & Zhang for their mean.
    ends = [[stats.binomtest(k, n).proportion_ci(method="wilson") for k, n in rows] for rows in (AFTER, BEFORE)]
    (low1, high1), (low0, high0) = (
        (np.array([one.low for one in side]), np.array([one.high for one in side])) for side in ends
    )
    below = ((later - low1) ** 2 + (high0 - earlier) ** 2).sum() / 9
    above = ((high1 - later) ** 2 + (earlier - low0) ** 2).sum() / 9
    difference = found.now - found.before
    assert found.low == pytest.approx(difference - below**0.5)
    assert found.high == pytest.approx(difference + above**0.5)
    wider = standardise(strata(AFTER, BEFORE), effect=4.0)
    assert wider.high - difference == pytest.approx(2 * above**0.5)


def test_an_equal_mix_changes_nothing_and_one_without_rows_is_none() -> None:
    found = standardise(strata([(5, 70), (4, 70), (9, 70)], BEFORE))
    assert found.now == pytest.approx(18 / 210)
    assert standardise([]) is None
    assert standardise([Stratum(1, 0.5, 0.25)]).low is None


def test_the_interval_contains_the_difference_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    rates, later = np.array([0.05, 0.1, 0.25]), np.array([0.08, 0.1, 0.35])
    weights, sizes = np.array([70, 70, 70]), np.array([40, 60, 140])
    true, inside = ((later - rates) * weights).sum() / weights.sum(), 0
    for _ in range(1000):
        counts, others = rng.binomial(sizes, later), rng.binomial(weights, rates)
        found = standardise(strata(list(zip(counts, sizes, strict=True)), list(zip(others, weights, strict=True))))
        inside += found.low <= true <= found.high
    assert 930 <= inside <= 980
