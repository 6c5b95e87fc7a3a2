"""Shares with their 95 % intervals, and the design effect of rows that share an input.

A share has Wilson's score interval (1927). That of a difference combines the distances to the limits of both (Newcombe
1998, Statistics in Medicine 17, 873-890 and 2635-2650, method 10). The design effect is that of Rao & Scott (Biometrics
48, 1992, 577-585): a count and its n, divided by it, have the right variance in any method for independent rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..system.codec import OpenRecord

Ints = npt.NDArray[np.int64]

Z = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""
LEAST_CLUSTERS = 10
"""Fewer clusters say too little about the correlation of rows within one."""
_NO_VARIANCE = 1e-12


class Rate(OpenRecord, frozen=True):
    """A share of rows or facts, with its 95 % interval (Wilson)."""

    count: int
    """Rows or facts that count."""
    n: int
    """All rows or facts."""
    value: float | None
    """``count`` / ``n``; ``None`` when ``n`` is 0."""
    low: float | None
    """Lower limit of the interval."""
    high: float | None
    """Upper limit of the interval."""


@dataclass(frozen=True)
class Sample:
    """Hits among the rows of a sample."""

    count: int = 0
    """Hits."""
    n: int = 0
    """Rows."""
    effect: float = 1.0
    """Design effect of the rows."""

    @property
    def rate(self) -> Rate:
        """The share of hits, with its interval."""
        return rate(self.count, self.n, self.effect)


@dataclass(frozen=True)
class PairedCounts:
    """Numbers of pairs by their hits: in the earlier half, in the later half, in both, in neither."""

    both: int = 0
    """Pairs of two hits."""
    gained: int = 0
    """Pairs in which only the later half is a hit."""
    lost: int = 0
    """Pairs in which only the earlier half is a hit."""
    neither: int = 0
    """Pairs without a hit."""
    effect: float = 1.0
    """Design effect of the differences of the pairs."""

    @property
    def n(self) -> int:
        """All pairs."""
        return self.both + self.gained + self.lost + self.neither

    def plus(self, other: PairedCounts) -> PairedCounts:
        """Sum of both counts, with the design effect of the first."""
        return PairedCounts(
            self.both + other.both, self.gained + other.gained, self.lost + other.lost, self.neither + other.neither,
            self.effect,
        )  # fmt: skip

    @property
    def correlation(self) -> float:
        """φ with Newcombe's continuity correction; 0 where one half does not vary."""
        product = self.both * self.neither - self.gained * self.lost
        later, earlier = self.both + self.gained, self.both + self.lost
        spread = later * (self.n - later) * earlier * (self.n - earlier)
        if not spread:
            return 0.0
        corrected = max(0.0, product - self.n * self.effect / 2) if product > 0 else product
        return corrected / math.sqrt(spread)


def wilson(count: int, n: int, effect: float = 1.0) -> tuple[float, float]:
    """Wilson's 95 % interval of the share ``count`` / ``n``, for ``n`` > 0 rows with a design effect."""
    low, high = wilson_of_share(count / n, n / effect)
    return (0.0 if count == 0 else low), (1.0 if count == n else high)


def wilson_of_share(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of ``n`` rows; ``n`` may be an effective number, 0 or infinite."""
    if n == 0:
        return 0.0, 1.0
    if math.isinf(n):
        return share, share
    z2 = Z * Z
    centre = share + z2 / (2 * n)
    half = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    low, high = (centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n)
    return max(0.0, low), min(1.0, high)


def rate(count: int, n: int, effect: float = 1.0) -> Rate:
    """A share with its interval; nulls when ``n`` is 0."""
    count, n = int(count), int(n)
    if n == 0:
        return Rate(count=count, n=0, value=None, low=None, high=None)
    low, high = wilson(count, n, effect)
    return Rate(count=count, n=n, value=count / n, low=low, high=high)


def interval_of_difference(after: Rate, before: Rate) -> tuple[float | None, float | None]:
    """The interval of the first share minus the second, of disjoint samples; nulls where one has no rows."""
    if after.value is None or before.value is None:
        return None, None
    return combined(after.value - before.value, [(1.0, after), (-1.0, before)])


def combined(
    difference: float,
    samples: Iterable[tuple[float, Rate]],
    pairs: PairedCounts | None = None,
    weights: tuple[float, float] = (1.0, 1.0),
    variance: float = 0.0,
) -> tuple[float, float]:
    """Interval of a difference that is a weighted sum of shares of disjoint samples, of pairs, and of a constant.

    Args:
        samples: (weight, share) of each; a negative weight subtracts. Samples without rows are ignored.
        pairs: paired rows; their later share is added, and their earlier one subtracted.
        weights: weight of the later share of ``pairs``, and of the earlier one.
        variance: variance of any further, normal error in the difference.
    """
    below = above = (Z * Z) * variance
    for weight, share in samples:
        if share.value is None or share.low is None or share.high is None:
            continue
        down, up = share.value - share.low, share.high - share.value
        down, up = (down, up) if weight >= 0 else (up, down)
        below += (weight * down) ** 2
        above += (weight * up) ** 2
    if pairs is not None and pairs.n:
        later, earlier = (
            (weight * (share - low), weight * (high - share))
            for weight, hits in zip(weights, (pairs.both + pairs.gained, pairs.both + pairs.lost), strict=True)
            for share, (low, high) in [(hits / pairs.n, wilson(hits, pairs.n, pairs.effect))]
        )
        below += later[0] ** 2 - 2 * pairs.correlation * later[0] * earlier[1] + earlier[1] ** 2
        above += later[1] ** 2 - 2 * pairs.correlation * later[1] * earlier[0] + earlier[0] ** 2
    return max(-1.0, difference - math.sqrt(below)), min(1.0, difference + math.sqrt(above))


@dataclass(frozen=True)
class ClusterSums:
    """Sums over the clusters of a sample, of the rows n and the hits x in each."""

    clusters: int = 0
    """Clusters with rows."""
    rows: int = 0
    """Σn"""
    hits: int = 0
    """Σx"""
    rows2: int = 0
    """Σn²"""
    product: int = 0
    """Σnx"""
    hits2: int = 0
    """Σx²"""

    @property
    def size(self) -> float:
        """Mean over rows of the size of the row's cluster; 1 where each cluster has one row."""
        return self.rows2 / self.rows if self.rows else 1.0

    def effect(self, correlation: float) -> float:
        """The design effect when rows within a cluster have this correlation."""
        return 1.0 + (self.size - 1.0) * correlation


def correlation(sums: ClusterSums, squares: int | None = None) -> float | None:
    """Correlation of rows within a cluster, 0 to 1, such that :meth:`ClusterSums.effect` is Rao and Scott's estimate.

    ``None`` where nothing can be estimated: clusters are fewer than :data:`LEAST_CLUSTERS`, or all rows agree.

    Args:
        squares: Σx² over rows, where hits are not 0 or 1: differences of pairs are +1, 0 and -1.
    """
    if sums.clusters < LEAST_CLUSTERS:
        return None
    mean = sums.hits / sums.rows
    variance = (sums.hits if squares is None else squares) / sums.rows - mean**2
    if variance < _NO_VARIANCE:
        return None
    if sums.size == 1:
        return 0.0
    between = sums.hits2 - 2 * mean * sums.product + mean**2 * sums.rows2
    effect = sums.clusters / (sums.clusters - 1) * between / (sums.rows * variance)
    return min(1.0, max(0.0, (effect - 1.0) / (sums.size - 1.0)))


def share_interval(hits: Ints, rows: Ints) -> list[float] | None:
    """Wilson's 95 % interval of Σhits / Σrows of clusters, fully correlated where no correlation can be estimated.

    ``None`` with fewer than two clusters that have rows. *Shape:* (clusters,) each, int64.
    """
    sums = ClusterSums(
        int((rows > 0).sum()), int(rows.sum()), int(hits.sum()),
        int((rows * rows).sum()), int((rows * hits).sum()), int((hits * hits).sum()),
    )  # fmt: skip
    if sums.clusters < 2:
        return None
    within = correlation(sums)
    return list(wilson(sums.hits, sums.rows, sums.effect(1.0 if within is None else within)))


def share_rate(hits: npt.NDArray[np.bool_], clusters: Ints) -> Rate:
    """The share of rows that are hits, with :func:`share_interval`. *Shape:* (rows,) each."""
    codes = np.unique(clusters, return_inverse=True)[1]
    low, high = share_interval(np.bincount(codes, hits).astype(np.int64), np.bincount(codes)) or (None, None)
    count, n = int(hits.sum()), len(hits)
    return Rate(count=count, n=n, value=count / n if n else None, low=low, high=high)
