"""Two systems on the same inputs: intervals, tests and sizes against simulation and independent computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from scorer.stats.intervals import PairedCounts
from scorer.stats.paired import paired_rate, pairs_needed, pairs_needed_for, pairs_of, true_difference, true_rate
from scorer.stats.post_stratified import LabelledClass


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (3, 1), (12, 2), (1, 9), (40, 20)])
def test_the_p_is_the_mid_p_of_a_binomial(gained: int, lost: int) -> None:
    found = paired_rate(PairedCounts(both=11, gained=gained, lost=lost, neither=30))
    n, low = gained + lost, min(gained, lost)
    exact = min(1.0, 2 * stats.binom.cdf(low, n, 0.5) - stats.binom.pmf(low, n, 0.5)) if n else 1.0
    assert found.p == pytest.approx(exact)
    assert found.difference == pytest.approx((gained - lost) / (41 + n))
    assert found.low <= found.difference <= found.high


def test_pairs_that_share_an_input_count_for_less() -> None:
    rng = np.random.default_rng(3)
    inputs = np.repeat(np.arange(60), 4)
    first, second = (np.repeat(rng.random(60) < share, 4) for share in (0.5, 0.3))  # all four say the same
    alone = pairs_of(first, second, np.arange(240))
    together = pairs_of(first, second, inputs)
    assert alone.effect == 1.0 and together.effect == pytest.approx(4.0, abs=0.3)
    assert (together.gained, together.lost) == (int((first & ~second).sum()), int((~first & second).sum()))
    assert paired_rate(together).p > paired_rate(alone).p
    assert paired_rate(together).high > paired_rate(alone).high


@pytest.mark.parametrize(("only_first", "only_second"), [(0.15, 0.05), (0.10, 0.06), (0.30, 0.18)])
def test_as_many_pairs_as_needed_show_the_difference_four_times_in_five(only_first: float, only_second: float) -> None:
    needed = pairs_needed(0.2 + only_first, 0.2 + only_second, only_first + only_second)
    assert needed is not None
    draws = np.random.default_rng(1).multinomial(
        needed, [only_first, only_second, 1 - only_first - only_second], 20_000
    )
    gained, lost = draws[:, 0], draws[:, 1]
    shown = 2 * stats.binom.cdf(lost, gained + lost, 0.5) - stats.binom.pmf(lost, gained + lost, 0.5) < 0.05
    assert shown.mean() == pytest.approx(0.8, abs=0.03)


def test_equal_rates_need_no_number_of_pairs() -> None:
    assert pairs_needed(0.2, 0.2, 0.1) is None
    classes = [LabelledClass(label="OK", rows=50, labels=10, count=2)]
    equal = true_difference(classes, classes, (np.full(50, 0.2), np.full(50, 0.2)))
    assert equal.p == 1.0 and pairs_needed_for(equal, 50) is None


def test_the_variance_is_that_of_double_sampling() -> None:
    """Written out, with normal intervals of large classes; the limits here are Wilson's, which agree there."""
    classes = [
        LabelledClass(label="OK", rows=60_000, labels=6_000, count=600),
        LabelledClass(label="omission", rows=40_000, labels=4_000, count=3_000),
    ]
    value, low, high = true_rate(classes)
    shares, weights, labels = np.array([0.1, 0.75]), np.array([0.6, 0.4]), np.array([6_000, 4_000])
    assert value == pytest.approx((weights * shares).sum())
    within = (weights**2 * shares * (1 - shares) / labels).sum()
    between = (weights * (shares - value) ** 2).sum() / 100_000
    half = 1.959963984540054 * math.sqrt(within + between)
    assert (value - low, high - value) == pytest.approx((half, half), rel=0.01)


def simulated(rng: np.random.Generator, inputs: int, labels: int, rates: tuple[float, float]) -> tuple[bool, bool]:
    """One experiment: whether the interval has the true difference, and whether it leaves out 0.

    Errors of both systems and of the metric depend on how difficult an input is.
    """
    difficulty = rng.normal(size=inputs)
    truth, said = [], []
    for rate in rates:
        wrong = stats.norm.cdf(0.7 * difficulty + math.sqrt(1 + 0.49) * stats.norm.ppf(rate)) > rng.random(inputs)
        truth.append(wrong)
        said.append(wrong ^ (rng.random(inputs) < 0.12 + 0.1 * (difficulty > 1)))
    metric, human = np.concatenate(said), np.concatenate(truth)
    system = np.repeat([0, 1], inputs)
    drawn: list[int] = []
    for label in (False, True):  # as `scorer sample` does: ten of each label at least, else in proportion, spread
        rows = rng.permutation(np.flatnonzero(metric == label))
        rows = rows[np.argsort(system[rows], kind="stable")]
        wanted = min(len(rows), max(10, round(labels * len(rows) / len(metric))))
        drawn += rows[np.floor((rng.random() + np.arange(wanted)) * len(rows) / wanted).astype(int)].tolist()
    is_labelled = np.isin(np.arange(2 * inputs), drawn)
    classes, predicted = [], []
    for which in (0, 1):
        mine, shares = [], np.zeros(inputs)
        for label in (False, True):
            inside = (system == which) & (metric == label)
            known = inside & is_labelled
            if inside.any():
                of_all = human[(metric == label) & is_labelled]
                one = LabelledClass(
                    label=str(label),
                    rows=int(inside.sum()),
                    labels=int(known.sum()),
                    count=int(human[known].sum()),
                    assumed=float(of_all.mean()) if len(of_all) else 0.0,
                )
                mine.append(one)
                shares[metric[system == which] == label] = one.share
        classes.append(mine)
        predicted.append(shares)
    found = true_difference(classes[0], classes[1], (predicted[0], predicted[1]))
    return found.low <= rates[0] - rates[1] <= found.high, found.p < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "labels", "rates"),
    [(40, 60, (0.075, 0.275)), (80, 60, (0.05, 0.25)), (200, 100, (0.2, 0.2)), (1000, 200, (0.1, 0.15))],
)
def test_the_interval_of_true_rates_has_the_difference(inputs: int, labels: int, rates: tuple[float, float]) -> None:
    """Coverage over new inputs: at least .95 but for the noise of 1,000 experiments."""
    rng = np.random.default_rng(20201215)
    covered, shown = np.mean([simulated(rng, inputs, labels, rates) for _ in range(1000)], axis=0)
    assert covered >= 0.93, (covered, shown)
    assert shown <= 0.07 or rates[0] != rates[1]
