"""Whether a share changed, and many such tests at once.

The test is that of Mantel & Haenszel (JNCI 22, 1959, 719-748): each pair is a stratum, and so are two samples. With
pairs alone it is McNemar's test, with samples alone Fisher's. The two-sided p is the mid-p (Fagerland, Lydersen &
Laake, BMC Medical Research Methodology 13:91, 2013), the one-sided one is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .intervals import PairedCounts, Sample, Z

LARGE = 2_500.0
"""Variance from which on the normal distribution is used."""
_REACH = 40
"""Standard deviations around the mean; probabilities further away are 0 as a double."""
_AS_LIKELY = 1 + 1e-7
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Tested:
    """Result of a test of a changed share."""

    z: float
    """Excess of hits among the later rows, in standard deviations."""
    p: float
    """Two-sided mid-p: the probability of all less likely numbers of hits, and half that of the equally likely ones."""
    p_rise: float
    """One-sided p: the probability of at least as many hits among the later rows."""


def compare(pairs: PairedCounts, after: Sample, before: Sample) -> Tested | None:
    """Test pairs and two disjoint samples, divided by their design effects; ``None`` where there are none."""
    return compare_strata(pairs, [(after, before)])


def compare_strata(pairs: PairedCounts, strata: Sequence[tuple[Sample, Sample]]) -> Tested | None:
    """The exact conditional test of a common odds ratio of 1 (Gart, Biometrika 57, 1970, 471-475).

    It sees no difference where only the sizes of the strata differ.

    Args:
        strata: two disjoint samples (after, before) of each stratum.
    """
    gains, losses = (round(count / pairs.effect) for count in (pairs.gained, pairs.lost))
    changed = gains + losses
    mean, variance, observed = changed / 2, changed / 4, gains
    tables = []
    comparable = pairs.n > 0
    for after, before in strata:
        (count_after, n), (count_before, m) = _effective(after), _effective(before)
        if n and m:
            comparable, hits, total = True, count_after + count_before, n + m
            observed += count_after
            mean += hits * n / total
            variance += hits * (total - hits) * n * m / (total**2 * (total - 1))
            tables.append((hits, n, m))
    if not comparable:
        return None
    if variance == 0:
        return Tested(0.0, 1.0, 1.0)
    z = (observed - mean) / math.sqrt(variance)
    if variance >= LARGE:
        return Tested(z, math.erfc(abs(z) / math.sqrt(2)), 0.5 * math.erfc(z / math.sqrt(2)))
    first, weights = _distribution(changed, tables)
    index = observed - first
    if not 0 <= index < len(weights):  # so far away that its probability is 0 as a double
        return Tested(z, 0.0, 0.0 if z > 0 else 1.0)
    not_likelier, less_likely = (
        float(weights[weights <= weights[index] * limit].sum()) for limit in (_AS_LIKELY, 1 / _AS_LIKELY)
    )
    return Tested(z, min(1.0, (not_likelier + less_likely) / 2), min(1.0, float(weights[index:].sum())))


def _effective(sample: Sample) -> tuple[int, int]:
    """Hits and rows over the design effect, rounded."""
    n = round(sample.n / sample.effect)
    return min(n, round(sample.count / sample.effect)), n


def _distribution(changed: int, tables: Sequence[tuple[int, int, int]]) -> tuple[int, Floats]:
    """Probabilities of the hits among the later rows, from a first number on. ``tables``: hits, later and earlier rows
    of each stratum."""
    first = 0.0
    weights: Floats = np.ones(1)
    for hits, n, m in tables:
        if hits:
            spread = hits * (n + m - hits) * n * m / ((n + m) ** 2 * max(n + m - 1, 1))
            x = _window(max(0, hits - m), min(hits, n), hits * n / (n + m), spread)
            ratios = _from_ratios((n - x) * (hits - x), (x + 1) * (m - hits + x + 1))
            first, weights = first + x[0], np.convolve(weights, ratios)
    if changed:
        x = _window(0, changed, changed / 2, changed / 4)
        first, weights = first + x[0], np.convolve(weights, _from_ratios(changed - x, x + 1))
    return int(first), weights


def _window(low: int, high: int, mean: float, variance: float) -> Floats:
    reach = _REACH * math.sqrt(variance) + 1
    return np.arange(max(low, math.floor(mean - reach)), min(high, math.ceil(mean + reach)) + 1, dtype=np.float64)


def _from_ratios(numerators: Floats, denominators: Floats) -> Floats:
    """Probabilities from the ratios of each to the one before it; the last ratio leads out of the window."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(numerators[:-1] / denominators[:-1]))])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values (Holm, Scandinavian Journal of Statistics 6, 1979); ``None`` is no test and stays ``None``."""
    order = sorted((p, position) for position, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (p, position) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[position] = largest
    return adjusted


def benjamini_hochberg(p: Sequence[float]) -> npt.NDArray[np.float64]:
    """p-values corrected so that the expected share of false alarms among the alarms is bounded (Benjamini & Hochberg,
    Journal of the Royal Statistical Society B 57, 1995, 289-300). *Shape:* (n,) → (n,)."""
    values, n = np.asarray(p, np.float64), len(p)
    order = np.argsort(values)[::-1]
    corrected = np.empty(n)
    corrected[order] = np.minimum(np.minimum.accumulate(values[order] * n / np.arange(n, 0, -1)), 1.0)
    return corrected


def p_of_interval(value: float, low: float, high: float, null: float) -> float:
    """Two-sided p-value of ``null``, from a 95 % interval's side towards it: below .05 where that leaves it out."""
    if value == null:
        return 1.0
    side = (value - low if null < value else high - value) / Z
    return math.erfc(abs(value - null) / side / math.sqrt(2)) if side > 0 else 0.0
