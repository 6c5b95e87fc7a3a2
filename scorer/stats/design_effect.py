"""How much less rows say that share an input: the design effect of clusters.

The variance of a share of clustered rows, over that of as many independent ones (Rao & Scott, Biometrics 48, 1992,
577-585). A count and its n, both divided by it, have the right variance in any method for independent rows. Near 0 and
1 such an interval holds the share more often than percentiles of a bootstrap, which repeats the few rows that it has
(Korn & Graubard, Survey Methodology 24, 1998).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .intervals import Rate, wilson

Ints = npt.NDArray[np.int64]

LEAST_CLUSTERS = 10
"""Fewer clusters say too little about the correlation of rows within one."""
_NONE = 1e-12


@dataclass(frozen=True)
class ClusterSums:
    """Sums over the clusters of a sample, of its rows ``n`` and hits ``x`` in each: ``clusters`` with rows, ``rows``
    Σn, ``hits`` Σx, ``rows2`` Σn², ``product`` Σnx, ``hits2`` Σx²."""

    clusters: int = 0
    rows: int = 0
    hits: int = 0
    rows2: int = 0
    product: int = 0
    hits2: int = 0

    @property
    def size(self) -> float:
        """Rows that the cluster of a row has, on average over rows; 1 where no cluster has several."""
        return self.rows2 / self.rows if self.rows else 1.0

    def effect(self, correlation: float) -> float:
        """The design effect when rows within a cluster have this correlation."""
        return 1.0 + (self.size - 1.0) * correlation


def correlation(sums: ClusterSums, squares: int | None = None) -> float | None:
    """Correlation of rows within a cluster, 0 to 1, such that :meth:`ClusterSums.effect` is Rao and Scott's estimate.

    ``None`` where nothing can be estimated: clusters are fewer than :data:`LEAST_CLUSTERS`, or all rows agree.

    Args:
        squares: Σx² over rows, where these are not 0 and 1: differences of pairs are +1, 0 and -1.
    """
    if sums.clusters < LEAST_CLUSTERS:
        return None
    mean = sums.hits / sums.rows
    variance = (sums.hits if squares is None else squares) / sums.rows - mean**2
    if variance < _NONE:
        return None
    if sums.size == 1:
        return 0.0
    between = sums.hits2 - 2 * mean * sums.product + mean**2 * sums.rows2
    effect = sums.clusters / (sums.clusters - 1) * between / (sums.rows * variance)
    return min(1.0, max(0.0, (effect - 1.0) / (sums.size - 1.0)))


def share_interval(hits: Ints, rows: Ints) -> list[float] | None:
    """Wilson's 95 % interval of Σhits / Σrows with the design effect of the clusters that they are counts of.

    ``None`` with fewer than two clusters that have rows. Where the correlation within a cluster cannot be estimated, it
    is taken to be 1. *Shape:* (clusters,) each, int64.
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
    """The share of rows that are hits, with :func:`share_interval`.

    ``clusters``: of each row. *Shape:* (rows,) each.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    low, high = share_interval(np.bincount(codes, hits).astype(np.int64), np.bincount(codes)) or (None, None)
    count, n = int(hits.sum()), len(hits)
    return Rate(count=count, n=n, value=count / n if n else None, low=low, high=high)
