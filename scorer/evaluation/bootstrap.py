"""95 % intervals over inputs, and the test of two dependent correlations.

Rows of one input (the outputs of twenty systems for the same facts) are not independent. Shares have Wilson's interval
with the inputs' design effect; for other statistics, inputs are drawn with replacement, each with all its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..stats.intervals import Rate, wilson_of_share
from .figures import Counts, Values, f1_of_share, macro_f1, shares

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Interval = tuple[float, float]
Statistic = Callable[[Floats, Floats], float]

RESAMPLES = 1000
SEED = 20201215
_CELLS = 4_000_000  # draws in memory at a time

# Wilcox (2009) draws 599 samples; to hold 95 % under heteroscedasticity, the bounds of the difference of Pearson
# correlations move outwards for small samples. (number of pairs below which it holds, ranks of both bounds, from 1.)
WILCOX_RESAMPLES = 599
_WILCOX_RANKS = ((40, 7, 593), (80, 8, 592), (180, 11, 588), (250, 14, 585))
_WILCOX_MANY = (15, 584)


def figure_intervals(
    fine: Counts | None, rough: Counts, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str, dict[str, Interval | None]]:
    """95 % intervals of all figures: of shares by :func:`share_interval`, of macro-F1 by percentiles.

    Args:
        fine, rough: int64, counts by input, *Shape:* (inputs, 4, 5) and (inputs, 2, 3).

    Returns: as :func:`scorer.evaluation.figures.measure`, each figure as (low, high); ``None`` if it is undefined.
    """
    found: dict[str, dict[str, Interval | None]] = {}
    for block, parts in shares(fine, rough).items():
        ends = {name: share_interval(*counts) for name, counts in parts.items()}
        found[block] = {
            name: None if pair is None else (f1_of_share(pair[0]), f1_of_share(pair[1])) if name == "f1" else pair
            for name, pair in ends.items()
        }
    if fine is not None:
        macro = drawn_interval(lambda weights: macro_f1(_weighted(weights, fine)), len(fine), resamples, seed)
        found["fine"]["macro_f1"] = macro
    return found


def share_interval(right: Indices, whole: Indices) -> Interval | None:
    """Wilson's 95 % interval of a share, the rows divided by the design effect of the inputs (Korn & Graubard 1998).

    It holds the share more often than percentiles of a bootstrap over inputs, above all near 0 and 1, where a bootstrap
    repeats the few rows that it has.

    Args:
        right, whole: counts by input, int64, *Shape:* (inputs,).

    Returns: ``None`` with fewer than two inputs that have rows. Where all rows are alike the effect is unknown, and
    each input counts as one row.
    """
    n, hits, inputs = int(whole.sum()), int(right.sum()), int((whole > 0).sum())
    if inputs < 2:
        return None
    share, size = hits / n, float(inputs)
    if 0 < hits < n:
        variance = inputs / (inputs - 1) * float(((right - share * whole) ** 2).sum()) / n**2
        size = min(n, share * (1 - share) / variance) if variance > 0 else inputs
    low, high = wilson_of_share(share, size)
    return (0.0 if hits == 0 else low), (1.0 if hits == n else high)


def share_rate(right: npt.NDArray[np.bool_], inputs: Indices) -> Rate:
    """The share of rows that are right with :func:`share_interval`. ``inputs``: of each row. *Shape:* (rows,) each."""
    codes = np.unique(inputs, return_inverse=True)[1].reshape(-1)
    low, high = share_interval(np.bincount(codes, right).astype(np.int64), np.bincount(codes)) or (None, None)
    count, n = int(right.sum()), len(right)
    return Rate(count=count, n=n, value=count / n if n else None, low=low, high=high)


def drawn_interval(
    statistic: Callable[[Indices], Values], inputs: int, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval | None:
    """95 % percentile interval of a statistic of how often each input is drawn; ``None`` with fewer than two inputs.

    ``statistic``: (samples, inputs) int64 → (samples,) float64.
    """
    if inputs < 2 or not resamples:
        return None
    return percentiles(np.concatenate([statistic(weights) for weights in _weights(inputs, resamples, seed)]))


def percentiles(values: Values) -> Interval | None:
    """The 2.5th and 97.5th percentiles of resampled values; ``None`` if there are none, or over 5 % of them are NaN.

    Args:
        values: float64, *Shape:* (samples,).
    """
    there = values[~np.isnan(values)]
    if not len(values) or len(there) < 0.95 * len(values):
        return None
    low, high = np.percentile(there, (2.5, 97.5))
    return float(low), float(high)


def cluster_samples(inputs: Indices, resamples: int = RESAMPLES, seed: int = SEED) -> Iterator[Indices]:
    """Row numbers (int64) of samples that draw whole inputs with replacement.

    Args:
        inputs: int64, *Shape:* (rows,), the input of each row.
    """
    order = np.argsort(inputs, kind="stable")
    lengths = np.bincount(np.unique(inputs, return_inverse=True)[1])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    rng = np.random.default_rng(seed)
    for _ in range(resamples):
        chosen = rng.integers(0, len(lengths), len(lengths))
        sizes = lengths[chosen]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        yield order[np.repeat(starts[chosen], sizes) + within]


@dataclass(frozen=True)
class Comparison:
    """Whether one metric's correlation with the human score is higher than another's.

    ``difference``: first minus second. ``low``, ``high``: its 95 % interval. ``p``: two-sided bootstrap p-value.
    ``higher``: ``first``, ``second``, or ``None`` if the interval contains 0. ``n``: number of pairs.
    """

    difference: float
    low: float
    high: float
    p: float
    higher: Literal["first", "second"] | None
    n: int


def compare_correlations(
    first: Floats,
    second: Floats,
    human: Floats,
    statistic: Statistic,
    *,
    inputs: Indices | None = None,
    pearson: bool = False,
    seed: int = SEED,
) -> Comparison | None:
    """Wilcox's percentile bootstrap for two correlations that share the human score.

    R. R. Wilcox (2009), Comparing Pearson correlations: dealing with heteroscedasticity and nonnormality; the pairs
    (first, human) and (second, human) of one row are drawn together.

    Args:
        first, second, human: float64, *Shape:* (n,), without NaN.
        inputs: int64, *Shape:* (n,): rows of one input are drawn together; ``None``: each row alone.
        pearson: move the bounds outwards for small samples, as the paper does for Pearson's correlation.

    Returns: ``None`` if there are fewer than three pairs, or if a correlation is undefined (a constant metric).
    """
    n = len(human)
    if n < 3:
        return None
    owners = np.arange(n) if inputs is None else inputs
    many = len(np.unique(owners))
    differences = np.empty(WILCOX_RESAMPLES)
    for b, rows in enumerate(cluster_samples(owners, WILCOX_RESAMPLES, seed)):
        differences[b] = statistic(first[rows], human[rows]) - statistic(second[rows], human[rows])
    observed = statistic(first, human) - statistic(second, human)
    # A sample that repeats one row has no correlation. If more than 5 % of the samples are like that, there is no
    # result.
    differences = np.sort(differences[~np.isnan(differences)])
    if np.isnan(observed) or len(differences) < 0.95 * WILCOX_RESAMPLES:
        return None
    ranks = (
        next((ranks for bound, *ranks in _WILCOX_RANKS if many < bound), list(_WILCOX_MANY)) if pearson else [15, 585]
    )
    low, high = (differences[min(rank, len(differences)) - 1] for rank in ranks)
    below = float(np.mean(differences < 0) + np.mean(differences == 0) / 2)
    higher: Literal["first", "second"] | None = "first" if low > 0 else "second" if high < 0 else None
    p = max(2 * min(below, 1 - below), 2 / (WILCOX_RESAMPLES + 1))  # no smaller one can be told from the samples
    return Comparison(float(observed), float(low), float(high), p, higher, n)


def by_input(codes: Indices, used: npt.NDArray[np.bool_]) -> tuple[Indices, int]:
    """Number the inputs of the used rows from 0 without gaps; also returns how many there are.

    *Shape:* (rows,) each; 0 for rows that are not used.
    """
    found, renumbered = np.unique(codes[used], return_inverse=True)
    result = np.zeros(len(codes), np.int64)
    result[used] = renumbered
    return result, len(found)


def _weights(inputs: int, resamples: int, seed: int) -> Iterator[Indices]:
    """How often each input is drawn, in blocks of samples. int64, *Shape:* (samples, inputs)."""
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // inputs)
    for start in range(0, resamples, block):
        yield rng.multinomial(inputs, np.full(inputs, 1 / inputs), size=min(block, resamples - start))


def _weighted(weights: Indices, counts: Counts) -> Counts:
    """The counts of each sample. *Shape:* (samples, inputs) times (inputs, a, b) → (samples, a, b)."""
    flat = counts.reshape(len(counts), -1).astype(np.float64)
    return np.rint(weights.astype(np.float64) @ flat).astype(np.int64).reshape(len(weights), *counts.shape[1:])


def ends_of(interval: Interval | None) -> list[float] | None:
    """An interval in the form of the JSON report."""
    return None if interval is None else list(interval)


def nested(intervals: Mapping[str, Mapping[str, Interval | None]], block: str) -> dict[str, list[float] | None]:
    """One block of intervals in the form of the JSON report."""
    return {name: ends_of(pair) for name, pair in intervals.get(block, {}).items()}
