"""The bootstrap over inputs.

Rows of one input (the outputs of twenty systems for the same facts) are not independent, so inputs are drawn with
replacement, each with all its rows. Intervals are percentiles; shares have Wilson's instead
(:mod:`scorer.stats.design_effect`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

RESAMPLES = 1000
SEED = 20201215
_CELLS = 4_000_000  # draws in memory at a time


def drawn(inputs: int, resamples: int, seed: int = SEED) -> Iterator[Indices]:
    """How often each input is drawn, in blocks of samples. int64, *Shape:* (samples, inputs)."""
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // inputs)
    for start in range(0, resamples, block):
        yield rng.multinomial(inputs, np.full(inputs, 1 / inputs), size=min(block, resamples - start))


def drawn_rows(inputs: Indices, resamples: int, seed: int = SEED) -> Iterator[Indices]:
    """Row numbers (int64) of each sample. ``inputs``: int64, *Shape:* (rows,), the input of each row."""
    names, codes = np.unique(inputs, return_inverse=True)
    rows = np.arange(len(codes))
    for block in drawn(len(names), resamples, seed) if len(rows) else ():
        for times in block:
            yield np.repeat(rows, times[codes])


def drawn_interval(
    statistic: Callable[[Indices], Floats], inputs: int, resamples: int = RESAMPLES, seed: int = SEED
) -> list[float] | None:
    """95 % percentile interval of a statistic of how often each input is drawn; ``None`` with fewer than two inputs.

    ``statistic``: (samples, inputs) int64 → (samples,) float64.
    """
    if inputs < 2 or not resamples:
        return None
    return percentiles(np.concatenate([statistic(times) for times in drawn(inputs, resamples, seed)]))


def percentiles(values: Floats) -> list[float] | None:
    """The 2.5th and 97.5th percentiles of resampled values; ``None`` if there are none, or over 5 % of them are NaN.

    Args:
        values: float64, *Shape:* (samples,).
    """
    there = values[~np.isnan(values)]
    if not len(values) or len(there) < 0.95 * len(values):
        return None
    return [float(end) for end in np.percentile(there, (2.5, 97.5))]
