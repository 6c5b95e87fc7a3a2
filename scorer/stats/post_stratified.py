"""A rate from a few human labels and a metric's label of every row.

Rows are divided by what the metric says of them (predicted 0, predicted 1). The share of each class is known exactly,
because the metric labelled every row; within a class, the human labels give the share that is really 1. The estimate
is the sum of share times weight. For a binary prediction this is the estimator of prediction-powered inference at its
best weight (PPI++, Angelopoulos, Duchi & Zrnic 2023, section 6) and the control variate of Chaganty, Mussmann & Liang
(ACL 2018, equation 3): the regression estimator of survey sampling on one binary variable.

The interval is not theirs. A normal interval follows the errors of the metric that a sample happens to show; a good
metric shows none or two in a hundred labels, and then the interval is a matter of chance. Here every class has the
Jeffreys posterior of its share, with the effective number of labels of the sampling design (Kish 1965; Korn & Graubard
1998), and the interval is the middle 95 % of the weighted sum of these posteriors. It is wider than it had to be where
the metric hardly ever errs, and never much too narrow (``python -m benchmarks.true_rates``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEVEL = 0.95
_POINTS = 200  # equally likely values that stand for a posterior
_GRID = 8_000


@dataclass(frozen=True)
class ClassShare:
    """What the labels say about one class of rows.

    ``predicted``: what the metric says of its rows. ``weight``: share of all rows that are in the class. ``value``:
    estimated share of them that is really 1. ``size``: effective number of labels behind it; 0 without any, infinite
    where every row of the class is labelled. ``labels``: how many there are.
    """

    weight: float
    value: float
    size: float
    labels: int
    predicted: bool = False


def class_share(
    weight: float,
    labels: Floats,
    inside: npt.NDArray[np.bool_],
    strata: Ints,
    drawn: Ints,
    rows: Ints,
    fallback: float = 0.5,
    predicted: bool = False,
) -> ClassShare:
    """The share of 1 in one class, from a stratified sample.

    Args:
        weight: share of all rows that are in the class.
        labels: 0 or 1 for every labelled row. *Shape:* (labels,).
        inside: whether a labelled row is in the class. *Shape:* (labels,).
        strata: stratum of each labelled row. *Shape:* (labels,).
        drawn, rows: labelled rows and all rows of each stratum. *Shape:* (strata,).
        fallback: the value where no labelled row is in the class.
        predicted: what the metric says of the rows of the class.
    """
    count = int(inside.sum())
    if count == 0:
        return ClassShare(weight, fallback, 0.0, 0, predicted)
    weights = (rows / np.maximum(drawn, 1))[strata]
    total = float(weights[inside].sum())
    value = min(1.0, max(0.0, float((weights * labels)[inside].sum()) / total))
    covered = float(((weights - 1) * inside).sum())  # rows of the class that are not labelled, as far as weights tell
    if covered <= 1e-9:
        return ClassShare(weight, value, math.inf, count, predicted)
    kish = total**2 / float((weights[inside] ** 2).sum())
    size = kish * total / covered
    variance = _variance(np.where(inside, weights * (labels - value), 0.0) / total, strata, drawn, rows)
    if 0 < value < 1 and variance > 0:
        size = value * (1 - value) / variance
    return ClassShare(weight, value, size, count, predicted)


def _variance(parts: Floats, strata: Ints, drawn: Ints, rows: Ints) -> float:
    """Variance of a sum over a stratified sample without replacement, from the linearised part of each row."""
    sums = np.bincount(strata, parts, len(drawn))
    squares = np.bincount(strata, parts**2, len(drawn))
    n = np.maximum(drawn, 1)
    within = np.where(n > 1, n / np.maximum(n - 1, 1) * (squares - sums**2 / n), squares)
    return float((np.maximum(within, 0.0) * (1 - drawn / np.maximum(rows, 1))).sum())


def estimate(classes: Sequence[ClassShare]) -> float:
    """The rate: the sum of each class's share times its weight."""
    return float(sum(one.weight * one.value for one in classes))


def interval(classes: Sequence[ClassShare]) -> tuple[float, float]:
    """The 95 % interval of :func:`estimate`, which it contains."""
    sums = np.zeros(1)
    for one in classes:
        if one.weight > 0:
            drawn = one.weight * np.asarray(_posterior(round(one.value, 9), round(one.size, 6)))
            sums = _thinned((sums[:, None] + drawn[None, :]).ravel())
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(sums, (tail, 1 - tail), method="hazen").tolist()  # of values in the middle of their share
    # Where no label disagrees with the metric, the equal-tailed interval of the posterior leaves out the boundary.
    found = estimate(classes)
    return max(0.0, min(low, found)), min(1.0, max(high, found))


def width(classes: Sequence[ClassShare], times: float = 1.0) -> float:
    """Width of the interval if there were so many times as many labels, divided in the same way."""
    low, high = interval([replace(one, size=one.size * times) for one in classes])
    return high - low


def times_to_halve(classes: Sequence[ClassShare]) -> float:
    """How many times as many labels halve the interval; infinite if no number does."""
    wanted = width(classes) / 2
    low, high = 1.0, 2.0
    while width(classes, high) > wanted:
        high *= 2
        if high > 1e4:
            return math.inf
    while high - low > 0.01 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if width(classes, middle) > wanted else (low, middle)
    return high


@lru_cache(maxsize=4096)
def _posterior(value: float, size: float) -> tuple[float, ...]:
    """Equally likely values of a share under Jeffreys' prior, ascending.

    With share = sin²(t) the prior is uniform in t, so the density on a grid of t has no pole.
    """
    if math.isinf(size):
        return (value,)
    angle, log_sine, log_cosine = _grid()
    density = 2 * size * (value * log_sine + (1 - value) * log_cosine)
    mass = np.cumsum(np.exp(density - density.max()))
    at = (np.arange(_POINTS) + 0.5) / _POINTS * mass[-1]
    return tuple((np.sin(np.interp(at, mass, angle)) ** 2).tolist())


@cache
def _grid() -> tuple[Floats, Floats, Floats]:
    """Angles between 0 and a right angle, and the logarithms of their sines and cosines."""
    angle = (np.arange(_GRID) + 0.5) / _GRID * (math.pi / 2)
    return angle, np.log(np.sin(angle)), np.log(np.cos(angle))


def _thinned(values: Floats) -> Floats:
    """At most so many equally likely values as a posterior has squared, so that many classes stay cheap."""
    most = _POINTS * _POINTS
    if len(values) <= most:
        return values
    values = np.sort(values)
    return np.asarray(np.interp((np.arange(most) + 0.5) / most * len(values), np.arange(len(values)) + 0.5, values))
