"""Tests and measures of change, without scipy: normal and chi-square tails come from ``math.erfc``.

Every p is two-sided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

EXACT_BELOW = 25
"""McNemar's test is exact below this many discordant pairs."""
LEAST_EXPECTED = 5.0
"""Two proportions are compared exactly where a cell of the 2 x 2 table is expected to hold less than this."""
BUCKETS = 10
LEAST_ROWS_OF_INDEX = 500
"""The stability index of fewer rows cannot be judged: without any change it often exceeds 0.1 by chance."""
_BLOCK = 1 << 20

Floats = npt.NDArray[np.floating[Any]]


def mcnemar(lost: int, gained: int) -> tuple[float, float]:
    """McNemar's test (1947) of pairs: (statistic, p).

    Args:
        lost, gained: pairs that changed one way and the other.

    Exact (binomial) below :data:`EXACT_BELOW` such pairs, the statistic then being the smaller count; else chi-square
    with one degree of freedom and Edwards' continuity correction.
    """
    n = lost + gained
    if n == 0:
        return 0.0, 1.0
    if n < EXACT_BELOW:
        tail = sum(math.comb(n, i) for i in range(min(lost, gained) + 1))
        return float(min(lost, gained)), min(1.0, 2.0 * tail / 2**n)
    chi2 = (abs(lost - gained) - 1) ** 2 / n
    return chi2, math.erfc(math.sqrt(chi2 / 2))


def two_proportions(count: int, n: int, other: int, m: int) -> tuple[str, float, float]:
    """Whether two disjoint samples have the same share: (name of the test, statistic, p).

    The pooled z test, or Fisher's exact test where an expected count is below :data:`LEAST_EXPECTED` (the statistic
    is then the odds ratio, infinite ones as 0 or the largest float).
    """
    hits = count + other
    misses = n + m - hits
    if min(n, m) * min(hits, misses) / (n + m) < LEAST_EXPECTED:
        return "fisher_exact", *fisher_exact(count, n, other, m)
    pooled = hits / (n + m)
    z = (count / n - other / m) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return "two_proportions", z, math.erfc(abs(z) / math.sqrt(2))


def rose(count: int, n: int, other: int, m: int) -> float:
    """One-sided p of a share that rose: how often chance gives ``count`` of ``n`` or more, beside ``other`` of ``m``.

    The pooled z test, or Fisher's exact test where an expected count is below :data:`LEAST_EXPECTED`.
    """
    hits = count + other
    misses = n + m - hits
    if min(n, m) * min(hits, misses) / (n + m) >= LEAST_EXPECTED:
        pooled = hits / (n + m)
        z = (count / n - other / m) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        return 0.5 * math.erfc(z / math.sqrt(2))
    total = _log_choose(n + m, hits)
    tables = range(count, min(hits, n) + 1)
    return min(1.0, math.fsum(math.exp(_log_choose(n, x) + _log_choose(m, hits - x) - total) for x in tables))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def fisher_exact(count: int, n: int, other: int, m: int) -> tuple[float, float]:
    """Fisher's exact test: (odds ratio, p); p sums all tables that are no likelier than the one seen."""
    hits = count + other
    x = np.arange(max(0, hits - m), min(hits, n) + 1)
    log = np.array([math.lgamma(i + 1) for i in range(max(n, m, hits) + 1)])
    chosen = log[n] - log[x] - log[n - x] + log[m] - log[hits - x] - log[m - hits + x]
    weights = np.exp(chosen - chosen.max())
    seen = weights[count - x[0]]
    p = float(weights[weights <= seen * (1 + 1e-7)].sum() / weights.sum())
    wrong = (n - count) * other
    odds = count * (m - other) / wrong if wrong else float(np.finfo(float).max)
    return odds, min(1.0, p)


def kolmogorov_smirnov(one: Floats, other: Floats) -> tuple[float, float]:
    """The two-sample test: (largest distance of the distribution functions, p).

    p by the limiting distribution with Stephens' correction for finite samples (1970, Journal of the Royal
    Statistical Society B 32, 115-122); with ties it is too large, never too small.
    """
    n, m = len(one), len(other)
    one, other = _rising(one), _rising(other)
    distance = 0.0
    for values in (one, other):
        for start in range(0, len(values), _BLOCK):
            at = values[start : start + _BLOCK]
            gaps = np.abs(np.searchsorted(one, at, "right") / n - np.searchsorted(other, at, "right") / m)
            distance = max(distance, float(gaps.max()))
    root = math.sqrt(n * m / (n + m))
    return distance, kolmogorov_tail((root + 0.12 + 0.11 / root) * distance)


def kolmogorov_tail(x: float) -> float:
    """1 - K(x) of the Kolmogorov distribution."""
    if x < 0.2:  # 1 to more digits than a float has; the series below converges slowly there
        return 1.0
    terms = [(-1) ** (k - 1) * math.exp(-2.0 * (k * x) ** 2) for k in range(1, 101)]
    return min(1.0, max(0.0, 2.0 * math.fsum(terms)))


def stability_index(before: Floats, after: Floats) -> float | None:
    """Population stability index: Σ (a - b) · ln(a / b) over buckets that hold a tenth of ``before`` each.

    Half a row is added to each bucket, so that an empty one does not make it infinite; buckets that ties make equal
    are one. Null when a side is empty. By custom, below 0.1 is no shift and above 0.25 a large one.
    """
    if not len(before) or not len(after):
        return None
    before, after = _rising(before), _rising(after)
    places = np.ceil(len(before) * (np.arange(1, BUCKETS) / BUCKETS) - 1).astype(np.int64)
    cuts = np.unique(before[np.maximum(places, 0)])
    sides = []
    for values in (before, after):
        upto = np.searchsorted(values, cuts, "right")
        counts = np.diff(upto, prepend=0, append=len(values)) + 0.5
        sides.append(counts / counts.sum())
    b, a = sides
    return float(((a - b) * np.log(a / b)).sum())


def _rising(values: Floats) -> Floats:
    """Values in rising order; those that are so already are not copied, since they may be all rows of a run."""
    blocks = (values[start : start + _BLOCK + 1] for start in range(0, len(values), _BLOCK))
    return values if all((block[1:] >= block[:-1]).all() for block in blocks) else np.sort(values)


def benjamini_hochberg(p: Sequence[float]) -> npt.NDArray[np.float64]:
    """p-values corrected so that the expected share of false alarms among the alarms is bounded.

    Benjamini & Hochberg (1995), Journal of the Royal Statistical Society B 57, 289-300. *Shape:* (n,) → (n,).
    """
    values = np.asarray(p, np.float64)
    n = len(values)
    order = np.argsort(values)[::-1]
    scaled = values[order] * n / np.arange(n, 0, -1)
    corrected = np.empty(n)
    corrected[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return corrected
