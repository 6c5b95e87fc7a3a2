"""How much the confidences of two samples differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

BUCKETS = 10
LEAST_ROWS_OF_INDEX = 500
"""The stability index of fewer rows cannot be judged: without any change it often exceeds 0.1 by chance."""
_BLOCK = 1 << 20

Floats = npt.NDArray[np.floating[Any]]


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
    are one. Null when a side is empty. By custom, below 0.1 is not a shift and above 0.25 a large one.
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
