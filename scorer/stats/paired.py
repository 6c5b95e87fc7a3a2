"""Two systems on the same inputs: the difference of their rates, its test, and how many inputs would show it.

The interval of a difference is Newcombe's for paired shares (Statistics in Medicine 17, 1998, 2635-2650, method 10),
the test McNemar's exact one with the mid-p, and the number of pairs Miettinen's (Biometrics 24, 1968, 339-352).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ..system.codec import OpenRecord
from .intervals import ClusterSums, Ints, PairedCounts, Rate, Sample, Z, combined, correlation, rate
from .post_stratified import LabelledClass
from .significance import compare, p_of_interval

POWER = 0.8
"""Probability with which a number of inputs shows a difference of the observed size."""
_BETA = NormalDist().inv_cdf(POWER)
Floats = npt.NDArray[np.float64]


class PairedRate(OpenRecord, frozen=True, kw_only=True):
    """A rate of two groups over shared inputs.

    Attributes:
        first: rate of the first group.
        second: rate of the second group.
        difference: the first rate minus the second.
        low: lower limit of the 95 % interval of the difference.
        high: upper limit.
        p: p-value of McNemar's exact test (mid-p).
    """

    first: Rate
    second: Rate
    difference: float
    low: float
    high: float
    p: float


class Difference(OpenRecord, frozen=True, kw_only=True):
    """The difference of two true rates.

    Attributes:
        first: estimate of the first rate.
        second: estimate of the second rate.
        difference: the first rate minus the second.
        low: lower limit of the 95 % interval of the difference.
        high: upper limit.
        p: two-sided p-value of no difference.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float


def paired_rate(pairs: PairedCounts) -> PairedRate:
    """The rates of both halves of at least one pair; the later half is the first group."""
    tested = compare(pairs, Sample(), Sample())
    difference = (pairs.gained - pairs.lost) / pairs.n
    low, high = combined(difference, [], pairs)
    return PairedRate(
        first=rate(pairs.both + pairs.gained, pairs.n, pairs.effect),
        second=rate(pairs.both + pairs.lost, pairs.n, pairs.effect),
        difference=difference,
        low=low,
        high=high,
        p=tested.p if tested else 1.0,
    )


def pairs_of(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_], inputs: Ints) -> PairedCounts:
    """Count pairs of rows by their hits, in both halves, one or none. The design effect is that of shared inputs.

    *Shape:* (pairs,) each.
    """
    gains, losses = int((first & ~second).sum()), int((~first & second).sum())
    codes = np.unique(inputs, return_inverse=True)[1]
    change = np.bincount(codes, first.astype(np.int64) - second).astype(np.int64)
    size = np.bincount(codes)
    sums = ClusterSums(
        len(size),
        len(first),
        int(change.sum()),
        int((size**2).sum()),
        int((size * change).sum()),
        int((change**2).sum()),
    )
    effect = sums.effect(correlation(sums, gains + losses) or 0.0) if len(first) else 1.0
    return PairedCounts(int((first & second).sum()), gains, losses, int((~first & ~second).sum()), effect)


def pairs_needed(first: float, second: float, changed: float, level: float = 0.05) -> int | None:
    """Number of pairs with which a share :data:`POWER` of all samples shows a difference; ``None`` for equal rates.

    Args:
        first, second: rates from 0 to 1.
        changed: share of pairs in which only one half counts.
        level: significance level of the two-sided test.
    """
    difference = first - second
    if not difference:
        return None
    spread = math.sqrt(max(changed - difference**2, 0.0))
    reach = NormalDist().inv_cdf(1 - level / 2) * math.sqrt(changed) + _BETA * spread
    return math.ceil((reach / difference) ** 2)


def pairs_needed_for(difference: Difference, pairs: int) -> int | None:
    """As :func:`pairs_needed`, for a difference estimated from ``pairs`` pairs; the same share of rows is labelled."""
    value = difference.difference
    if not value:
        return None
    standard_error = (value - difference.low if value > 0 else difference.high - value) / Z
    return max(1, math.ceil(pairs * ((Z + _BETA) * standard_error / value) ** 2))


def true_difference(
    first: Sequence[LabelledClass], second: Sequence[LabelledClass], predicted: tuple[Floats, Floats]
) -> Difference:
    """The difference of two post-stratified rates, for inputs like these.

    The variance is that of double sampling for stratification in an infinite population (Cochran, Sampling Techniques,
    1977, section 12.2): of the labels within each class, drawn independently for both groups, and of the classes of the
    inputs, which both groups share. The agreement of labels of one input is not used, so that intervals are rather too
    wide. Limits are combined by MOVER (Zou & Donner 2008).

    Args:
        first, second: classes of the rows of each group.
        predicted: for each pair of rows, the shares of their classes that count. float64, *Shape:* (pairs,) each.
    """
    (first_value, first_down, first_up), (second_value, second_down, second_up) = _of_labels(first), _of_labels(second)
    first_predicted, second_predicted = predicted
    pairs, difference = len(first_predicted), first_value - second_value
    inputs = Z * Z * float(np.var(first_predicted - second_predicted, ddof=1)) / pairs if pairs > 1 else 1.0
    low = max(-1.0, difference - math.sqrt(first_down + second_up + inputs))
    high = min(1.0, difference + math.sqrt(first_up + second_down + inputs))
    p = p_of_interval(difference, low, high, 0.0)
    return Difference(first=first_value, second=second_value, difference=difference, low=low, high=high, p=p)


def true_rate(classes: Sequence[LabelledClass]) -> tuple[float, float, float]:
    """A post-stratified rate, and the limits of its 95 % interval for inputs like these. The interval covers the errors
    of the labels, without a correction for a finite population, and of the inputs."""
    value, down, up = _of_labels(classes)
    rows = sum(stratum.rows for stratum in classes)
    inputs = Z * Z * sum(stratum.rows * (stratum.share - value) ** 2 for stratum in classes) / rows**2
    return value, max(0.0, value - math.sqrt(down + inputs)), min(1.0, value + math.sqrt(up + inputs))


def _of_labels(classes: Sequence[LabelledClass]) -> tuple[float, float, float]:
    """A rate, and its squared distances to the limits that the labels alone leave."""
    rows = sum(stratum.rows for stratum in classes)
    value = sum(stratum.rows * stratum.share for stratum in classes) / rows
    limits = [(stratum, stratum.limits_of(stratum.labels)) for stratum in classes]
    below = sum((stratum.rows / rows * (stratum.share - low)) ** 2 for stratum, (low, _) in limits)
    above = sum((stratum.rows / rows * (high - stratum.share)) ** 2 for stratum, (_, high) in limits)
    return value, below, above
