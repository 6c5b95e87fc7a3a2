"""Spearman's correlation of a metric with ratings, each with an interval that fits its level.

Pooled over all texts and within inputs, inputs are drawn with replacement; by system, inputs and systems are, since a
handful of systems says little of others. Rows without a text are apart: they are easy for every metric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .bootstrap import SEED, Floats, Indices, cluster_samples, ends_of, percentiles
from .label_report import Estimate

MINIMUM = 3
MOST_ROWS = 50_000
"""Above this many rows, a thousand samples take minutes, and pooled correlations have no interval."""


@dataclass(frozen=True)
class Design:
    """Whose rows are whose. ``inputs``, ``systems``: int64, *Shape:* (rows,); ``systems`` is ``None`` where no column
    names them. ``resamples``: number of bootstrap samples; 0 for no intervals."""

    inputs: Indices
    systems: Indices | None
    resamples: int

    def pooled(self, metric: Floats, human: Floats, rows: npt.NDArray[np.bool_] | None = None) -> Estimate:
        """Over all rows that have both values. float64, *Shape:* (rows,) each; ``rows``: which of them to take."""
        there = _known(metric, human, rows)
        x, y = metric[there], human[there]
        drawn = []
        if self.resamples and len(x) <= MOST_ROWS:
            drawn = [spearman(x[s], y[s]) for s in cluster_samples(self.inputs[there], self.resamples)]
        return _estimate(spearman(x, y), drawn, len(x))

    def within(self, metric: Floats, human: Floats, rows: npt.NDArray[np.bool_] | None = None) -> Estimate:
        """The mean of the correlations within each input that has three such rows, and different values of both."""
        there = _known(metric, human, rows)
        order = np.argsort(self.inputs[there], kind="stable")
        x, y, codes = metric[there][order], human[there][order], self.inputs[there][order]
        ends = np.flatnonzero(np.diff(codes)) + 1
        found = np.array([spearman(a, b) for a, b in zip(np.split(x, ends), np.split(y, ends), strict=True)])
        found = found[~np.isnan(found)]
        if not len(found):
            return _estimate(np.nan, [], 0)
        rng = np.random.default_rng(SEED)
        drawn = [float(found[rng.integers(0, len(found), len(found))].mean()) for _ in range(self.resamples)]
        return _estimate(float(found.mean()), drawn, len(found))

    def by_system(self, metric: Floats, human: Floats, rows: npt.NDArray[np.bool_] | None = None) -> Estimate:
        """Of the systems' means."""
        if self.systems is None:
            return _estimate(np.nan, [], 0)
        there = _known(metric, human, rows)
        systems = np.unique(self.systems[there], return_inverse=True)[1].reshape(-1)
        inputs = np.unique(self.inputs[there], return_inverse=True)[1].reshape(-1)
        shape = (int(inputs.max(initial=-1)) + 1, int(systems.max(initial=-1)) + 1)
        cells = inputs * shape[1] + systems
        counts, xs, ys = (
            np.bincount(cells, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
            for weights in (None, metric[there], human[there])
        )
        rng = np.random.default_rng(SEED)
        drawn = []
        for _ in range(self.resamples if shape[0] else 0):
            weights = np.bincount(rng.integers(0, shape[0], shape[0]), minlength=shape[0]).astype(np.float64)
            chosen = rng.integers(0, shape[1], shape[1])
            totals = (weights @ counts)[chosen]
            known = totals > 0
            means = ((weights @ values)[chosen][known] / totals[known] for values in (xs, ys))
            drawn.append(spearman(*means))
        totals = counts.sum(axis=0)
        return _estimate(spearman(xs.sum(axis=0) / totals, ys.sum(axis=0) / totals), drawn, shape[1])


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's ρ of two float64 arrays without NaN, *Shape:* (n,); NaN with fewer than three, or a constant one."""
    if len(x) < MINIMUM or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])


def _ranks(values: Floats) -> Floats:
    """Ranks, equal values with their mean. *Shape:* (n,) → (n,)."""
    inverse, counts = np.unique(values, return_inverse=True, return_counts=True)[1:]
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse.reshape(-1)], np.float64)


def _known(metric: Floats, human: Floats, rows: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_]:
    there = ~(np.isnan(metric) | np.isnan(human))
    return there if rows is None else there & rows


def _estimate(value: float, drawn: list[float], n: int) -> Estimate:
    ends = percentiles(np.array(drawn)) if drawn else None
    return Estimate(n=n, value=None if np.isnan(value) else value, interval=ends_of(ends))
