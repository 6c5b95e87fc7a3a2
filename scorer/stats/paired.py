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
from .intervals import ClusterSums, Ints, Pairs, Rate, Sample, Z, combined, correlation, rate
from .post_stratified import LabelledClass
from .significance import compare, p_of_interval

POWER = 0.8
"""Probability with which a number of inputs shows a difference of the observed size."""
_BETA = NormalDist().inv_cdf(POWER)
Floats = npt.NDArray[np.float64]


class PairedRate(OpenRecord, frozen=True, kw_only=True):
    """A rate of two groups over shared inputs.

    Attributes:
        first: of the first group.
        second: of the second group.
        difference: of the first minus the second.
        low: lower limit of its 95 % interval.
        high: upper limit.
        p: of McNemar's exact test (mid-p).
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
        difference: of the first minus the second.
        low: lower limit of its 95 % interval.
        high: upper limit.
        p: two-sided, of no difference.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float


def paired_rate(pairs: Pairs) -> PairedRate:
    """The rates of both halves of ``pairs``, of which there is at least one; the later half is the first group."""
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


def pairs_of(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_], inputs: Ints) -> Pairs:
    """Count pairs of rows by what is true of each, with the design effect of pairs that share an input.

    *Shape:* (pairs,) each.
    """
    gained, lost = int((first & ~second).sum()), int((~first & second).sum())
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
    effect = sums.effect(correlation(sums, gained + lost) or 0.0) if len(first) else 1.0
    return Pairs(int((first & second).sum()), gained, lost, int((~first & ~second).sum()), effect)


def pairs_needed(first: float, second: float, changed: float, level: float = 0.05) -> int | None:
    """Pairs of which :data:`POWER` of all samples show a difference; ``None`` where the rates are equal.

    Args:
        first, second: rates from 0 to 1.
        changed: the share of pairs of which one half alone counts.
        level: of the two-sided test.
    """
    difference = first - second
    if not difference:
        return None
    spread = math.sqrt(max(changed - difference**2, 0.0))
    reach = NormalDist().inv_cdf(1 - level / 2) * math.sqrt(changed) + _BETA * spread
    return math.ceil((reach / difference) ** 2)


def pairs_needed_for(difference: Difference, pairs: int) -> int | None:
    """As :func:`pairs_needed`, for an estimated difference of ``pairs`` pairs of which as large a share is labelled."""
    value = difference.difference
    if not value:
        return None
    error = (value - difference.low if value > 0 else difference.high - value) / Z
    return max(1, math.ceil(pairs * ((Z + _BETA) * error / value) ** 2))


def true_difference(
    first: Sequence[LabelledClass], second: Sequence[LabelledClass], predicted: tuple[Floats, Floats]
) -> Difference:
    """The difference of two post-stratified rates, for inputs like these.

    The variance is that of double sampling for stratification in an infinite population (Cochran, Sampling Techniques,
    1977, section 12.2): of the labels within each class, drawn independently for both groups, and of the classes of the
    inputs, which both groups share. That labels of one input agree is not used, so that intervals are rather too wide.
    Limits are combined by MOVER (Zou & Donner 2008).

    Args:
        first, second: classes of the rows of each group.
        predicted: of each pair of rows, the share of its class that counts. *Shape:* (pairs,) each, float64.
    """
    (value, down, up), (other, other_down, other_up) = _of_labels(first), _of_labels(second)
    mine, theirs = predicted
    inputs = Z * Z * float(np.var(mine - theirs, ddof=1)) / len(mine) if len(mine) > 1 else 1.0
    low = max(-1.0, value - other - math.sqrt(down + other_up + inputs))
    high = min(1.0, value - other + math.sqrt(up + other_down + inputs))
    p = p_of_interval(value - other, low, high, 0.0)
    return Difference(first=value, second=other, difference=value - other, low=low, high=high, p=p)


def true_rate(classes: Sequence[LabelledClass]) -> tuple[float, float, float]:
    """A post-stratified rate, and the limits of its 95 % interval for inputs like these: the labels' errors, without a
    correction for a finite population, and that of the inputs."""
    value, down, up = _of_labels(classes)
    rows = sum(one.rows for one in classes)
    inputs = Z * Z * sum(one.rows * (one.share - value) ** 2 for one in classes) / rows**2
    return value, max(0.0, value - math.sqrt(down + inputs)), min(1.0, value + math.sqrt(up + inputs))


def _of_labels(classes: Sequence[LabelledClass]) -> tuple[float, float, float]:
    """A rate, and its squared distances to the limits that the labels alone leave."""
    rows = sum(one.rows for one in classes)
    value = sum(one.rows * one.share for one in classes) / rows
    limits = [(one, one.limits_of(one.labels)) for one in classes]
    below = sum((one.rows / rows * (one.share - low)) ** 2 for one, (low, _) in limits)
    above = sum((one.rows / rows * (high - one.share)) ** 2 for one, (_, high) in limits)
    return value, below, above
