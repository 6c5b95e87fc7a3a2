"""A rate from a few human labels and a metric's label of every row.

Rows are divided by what the metric says of them (predicted 0, predicted 1). The share of each class is known exactly,
because the metric labelled every row; within a class, the human labels give the share that is really 1. The estimate
is the sum of share times weight. For a binary prediction this is the estimator of prediction-powered inference at its
best weight (PPI++, Angelopoulos, Duchi & Zrnic 2023, section 6) and the control variate of Chaganty, Mussmann & Liang
(ACL 2018, equation 3): the regression estimator of survey sampling on one binary variable.

The interval is not theirs. A normal interval follows the errors of the metric that a sample happens to show; a good
metric shows none or two in a hundred labels, and then the interval is a matter of chance. Here every class has the
Jeffreys interval of its share, with the effective number of labels of the sampling design (Kish 1965; Korn & Graubard
1998), and the classes' limits are combined by MOVER (Zou & Donner, Statistics in Medicine 27, 2008). Labels of whole
inputs are clusters: variances are between inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from .intervals import Z

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_GRID = 8_000


@dataclass(frozen=True)
class ClassShare:
    """What the labels say about one class of rows.

    ``predicted``: what the metric says of its rows. ``weight``: share of all rows that are in the class. ``value``:
    estimated share of them that is really 1. ``size``: effective number of labels behind it; 0 without any, infinite
    where every row of the class is labelled. ``labels``: how many there are. ``low``, ``high``: 95 % limits of
    ``value``. ``correlation``: of ``value`` with that of the other class, where the same inputs are in both.
    """

    weight: float
    value: float
    size: float
    labels: int
    predicted: bool = False
    correlation: float = 0.0

    @property
    def limits(self) -> tuple[float, float]:
        """The Jeffreys interval, which contains ``value``."""
        return jeffreys(self.value, self.size)


@dataclass(frozen=True)
class Design:
    """How labelled rows were drawn. ``strata``: stratum of each, ``inputs``: input of each where variances are between
    inputs (labels of one stratum), else ``None``; int64, *Shape:* (labels,). ``drawn``, ``rows``: labelled rows and
    all rows of each stratum. *Shape:* (strata,)."""

    strata: Ints
    drawn: Ints
    rows: Ints
    inputs: Ints | None = None

    @property
    def weights(self) -> Floats:
        """Rows that each labelled row stands for. *Shape:* (labels,)."""
        return np.asarray((self.rows / np.maximum(self.drawn, 1))[self.strata], np.float64)

    def covariance(self, one: Floats, other: Floats) -> float:
        """Covariance of two sums over the sample, from the linearised part of each row in them."""
        if self.inputs is not None:
            inputs = int(self.inputs.max(initial=-1)) + 1
            left = 1 - float(self.drawn.sum()) / float(self.rows.sum())
            totals = [np.bincount(self.inputs, parts, inputs) for parts in (one, other)]
            centred = [part - part.mean() for part in totals]
            return float(inputs / max(inputs - 1, 1) * (centred[0] * centred[1]).sum() * left)
        many = len(self.drawn)
        sums = [np.bincount(self.strata, parts, many) for parts in (one, other)]
        products = np.bincount(self.strata, one * other, many)
        n = np.maximum(self.drawn, 1)
        within = np.where(n > 1, n / np.maximum(n - 1, 1) * (products - sums[0] * sums[1] / n), products)
        return float((within * (1 - self.drawn / np.maximum(self.rows, 1))).sum())


def class_shares(
    weights: Sequence[float], labels: Floats, predicted: Bools, among: Bools, design: Design, fallback: Sequence[float]
) -> list[ClassShare]:
    """The share of 1 in the class predicted 0 and in that predicted 1.

    Args:
        weights: share of all rows in each of the two classes; a class without rows is left out.
        labels: 0 or 1 for every labelled row; ``predicted``: what the metric says; ``among``: which rows count.
            *Shape:* (labels,) each.
        fallback: the value of each class where no labelled row is in it.
    """
    found, parts = [], []
    effect = _design_effect(labels, among, design)
    for said, weight in zip((False, True), weights, strict=True):
        if weight > 0:
            inside = among & (predicted == said)
            one, part = _class_share(weight, labels, inside, design, fallback[said], effect)
            found.append(replace(one, predicted=said))
            parts.append(part)
    if len(found) == 2 and all(part is not None for part in parts):
        first, second = (np.asarray(part) for part in parts)
        spread = design.covariance(first, first) * design.covariance(second, second)
        if spread > 0:
            rho = design.covariance(first, second) / math.sqrt(spread)
            found = [replace(one, correlation=float(np.clip(rho, -1, 1))) for one in found]
    return found


def _class_share(
    weight: float, labels: Floats, inside: Bools, design: Design, fallback: float, effect: float
) -> tuple[ClassShare, Floats | None]:
    """One class, and the linearised part of each labelled row in its share (``None`` without variance)."""
    count = int(inside.sum())
    if count == 0:
        return ClassShare(weight, fallback, 0.0, 0), None
    weights = design.weights
    total = float(weights[inside].sum())
    value = min(1.0, max(0.0, float((weights * labels)[inside].sum()) / total))
    covered = float(((weights - 1) * inside).sum())  # rows of the class that are not labelled, as far as weights tell
    if covered <= 1e-9:
        return ClassShare(weight, value, math.inf, count), None
    kish = total**2 / float((weights[inside] ** 2).sum())
    size = kish * total / covered / effect
    parts = np.where(inside, weights * (labels - value), 0.0) / total
    variance = design.covariance(parts, parts)
    if 0 < value < 1 and variance > 0:
        size = value * (1 - value) / variance
        if design.inputs is not None:
            clusters = len(np.unique(design.inputs[inside]))
            size = min(size, kish * total / covered) * (Z / t_quantile(max(clusters - 1, 1))) ** 2
    return ClassShare(weight, value, size, count), parts


def _design_effect(labels: Floats, among: Bools, design: Design) -> float:
    """Variance of the labels' mean between inputs, over that of a random sample of rows; at least 1.

    Where all labels are equal it is not known, and each input counts as one label.
    """
    if design.inputs is None or not among.any():
        return 1.0
    mean, count = float(labels[among].mean()), int(among.sum())
    if not 0 < mean < 1:
        return count / len(np.unique(design.inputs[among]))
    parts = np.where(among, labels - mean, 0.0) / count
    left = 1 - float(design.drawn.sum()) / float(design.rows.sum())
    return max(1.0, design.covariance(parts, parts) * count / (mean * (1 - mean) * left)) if left > 0 else 1.0


def estimate(classes: Sequence[ClassShare]) -> float:
    """The rate: the sum of each class's share times its weight."""
    return float(sum(one.weight * one.value for one in classes))


def interval(classes: Sequence[ClassShare]) -> tuple[float, float]:
    """The 95 % interval of :func:`estimate`, which it contains, by MOVER."""
    found = estimate(classes)
    below = [one.weight * (one.value - one.limits[0]) for one in classes]
    above = [one.weight * (one.limits[1] - one.value) for one in classes]
    rho = max(0.0, classes[0].correlation) if len(classes) == 2 else 0.0
    low, high = (
        math.sqrt(sum(one**2 for one in sides) + (2 * rho * sides[0] * sides[1] if rho else 0.0))
        for sides in (below, above)
    )
    return max(0.0, found - low), min(1.0, found + high)


def width(classes: Sequence[ClassShare], times: float = 1.0) -> float:
    """Width of the interval if there were so many times as many labels, divided in the same way."""
    low, high = interval([replace(one, size=one.size * times) for one in classes])
    return high - low


def times_to_halve(classes: Sequence[ClassShare]) -> float:
    """How many times as many labels halve the interval; infinite if no number does."""
    return times_for(classes, width(classes) / 2, least=1.0)


def times_for(classes: Sequence[ClassShare], wanted: float, least: float = 1e-3) -> float:
    """How many times as many labels, ``least`` or more, give an interval of a width; infinite if no number does."""
    if not width(classes):
        return math.inf
    low, high = least, 2.0
    while width(classes, high) > wanted:
        high *= 2
        if high > 1e4:
            return math.inf
    while high - low > 0.01 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if width(classes, middle) > wanted else (low, middle)
    return high


def jeffreys(share: float, size: float) -> tuple[float, float]:
    """The Jeffreys 95 % interval of a share of ``size`` labels (Brown, Cai & DasGupta 2001), widened to contain it.

    ``size`` may be an effective number, 0 (nothing is known: 0 to 1) or infinite.
    """
    if math.isinf(size):
        return share, share
    if size <= 0:
        return 0.0, 1.0
    low, high = _posterior(round(share, 9), round(size, 6))
    return min(low, share), max(high, share)


@lru_cache(maxsize=4096)
def _posterior(share: float, size: float) -> tuple[float, float]:
    """2.5 % and 97.5 % quantile of Beta(share · size + ½, (1 − share) · size + ½).

    With share = sin²(t) Jeffreys' prior is uniform in t, so the density on a grid of t has no pole.
    """
    angle, log_sine, log_cosine = _grid()
    density = 2 * size * (share * log_sine + (1 - share) * log_cosine)
    mass = np.cumsum(np.exp(density - density.max()))
    at = np.interp((0.025 * mass[-1], 0.975 * mass[-1]), mass - np.diff(mass, prepend=0.0) / 2, angle)
    low, high = (np.sin(at) ** 2).tolist()
    return low, high


@cache
def _grid() -> tuple[Floats, Floats, Floats]:
    """Angles between 0 and a right angle, and the logarithms of their sines and cosines."""
    angle = (np.arange(_GRID) + 0.5) / _GRID * (math.pi / 2)
    return angle, np.log(np.sin(angle)), np.log(np.cos(angle))


def t_quantile(degrees: int) -> float:
    """The 97.5 % quantile of Student's t, by Cornish and Fisher's expansion (to .03 from three degrees on)."""
    if degrees < 3:
        return (12.706, 4.303)[degrees - 1]
    z = Z
    return (
        z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )  # fmt: skip
