"""How much less rows say that share an input: the design effect of clusters.

The variance of a share of clustered rows, over that of as many independent ones (Rao & Scott, Biometrics 48, 1992,
577-585). A count and its n, both divided by it, have the right variance in any method for independent rows.
"""

from __future__ import annotations

from dataclasses import dataclass

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
