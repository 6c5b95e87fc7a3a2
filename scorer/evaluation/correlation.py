"""Correlations of scores with human ratings, each with its n and with an interval that fits its level.

Inputs are drawn with replacement; by system, systems too, since a handful of them says little of others. Without scipy
(extra ``stats``) every coefficient is ``None``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import util
from typing import Literal, NotRequired, TypedDict

import numpy as np

from .label_figures import (
    SEED,
    Ends,
    Floats,
    Indices,
    bootstrap_draws,
    bootstrap_interval,
    bootstrap_rows,
    percentiles,
    ratio,
)

Statistic = Callable[[Floats, Floats], float]
Kind = Literal["pearson", "spearman", "kendall"]

KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
MINIMUM = 3  # with two pairs every correlation is 1 or -1
# Above this number of rows, a thousand resampled coefficients take minutes, and the interval is None.
INTERVAL_ROWS = {"pearson": 200_000, "spearman": 50_000, "kendall": 5_000}


class Correlation(TypedDict):
    """The coefficients of two columns over the ``n`` rows that have both."""

    n: int
    pearson: float | None
    spearman: float | None
    kendall: float | None
    interval: NotRequired[dict[Kind, Ends]]


class Estimate(TypedDict):
    """Spearman's ρ over ``n`` rows, inputs or systems, with its interval."""

    n: int
    value: float | None
    interval: Ends


def available() -> bool:
    """Whether the extra ``stats`` is installed."""
    try:
        return util.find_spec("scipy") is not None
    except (ImportError, ValueError):  # a module of the user has the name of the package
        return False


def statistic(kind: Kind) -> Statistic:
    """A function of two float64 arrays, *Shape:* (n,), without NaN; its result is NaN with fewer than three values, if
    one of them is constant, or without the extra."""
    if not available():
        return lambda x, y: float("nan")
    from scipy import stats

    def compute(x: Floats, y: Floats) -> float:
        if len(x) < MINIMUM or np.ptp(x) == 0 or np.ptp(y) == 0:
            return float("nan")
        if kind == "kendall":
            return float(stats.kendalltau(x, y)[0])
        if kind == "spearman":
            x, y = stats.rankdata(x), stats.rankdata(y)
        return float(np.corrcoef(x, y)[0, 1])

    return compute


def correlate(
    x: Floats, y: Floats, inputs: Indices | None = None, resamples: int = 0, kinds: Sequence[Kind] = KINDS
) -> Correlation:
    """The coefficients over the rows that have both values, with intervals where ``inputs`` and ``resamples`` are
    given; ``None`` where undefined, or not of ``kinds``. *Shape:* (rows,) each, NaN where there is no value."""
    there = ~(np.isnan(x) | np.isnan(y))
    x, y = x[there], y[there]
    result = Correlation(n=len(x), pearson=None, spearman=None, kendall=None)
    statistics = {kind: statistic(kind) for kind in kinds}
    for kind, compute in statistics.items():
        result[kind] = _plain(compute(x, y))
    if inputs is not None and resamples and len(x) >= MINIMUM and available():
        values: dict[Kind, list[float]] = {kind: [] for kind in kinds if len(x) <= INTERVAL_ROWS[kind]}
        for rows in bootstrap_rows(inputs[there], resamples) if values else ():
            for kind, found in values.items():
                found.append(statistics[kind](x[rows], y[rows]))
        result["interval"] = {kind: percentiles(np.array(values.get(kind, []))) for kind in KINDS}
    return result


@dataclass(frozen=True)
class Levels:
    """Spearman's ρ by level. ``inputs``, ``systems``: of each row, int64, *Shape:* (rows,); ``systems`` is ``None``
    where no column names them."""

    inputs: Indices
    systems: Indices | None
    resamples: int

    def pooled(self, metric: Floats, human: Floats, *, with_interval: bool = True) -> Estimate:
        """Over all rows that have both values. float64, *Shape:* (rows,) each, NaN for none."""
        found = correlate(metric, human, self.inputs, self.resamples if with_interval else 0, ("spearman",))
        return Estimate(n=found["n"], value=found["spearman"], interval=found.get("interval", {}).get("spearman"))

    def within(self, metric: Floats, human: Floats) -> Estimate:
        """The mean of the correlations within each input that has three such rows, and different values of both."""
        there = ~(np.isnan(metric) | np.isnan(human))
        order = np.argsort(self.inputs[there], kind="stable")
        ends = np.flatnonzero(np.diff(self.inputs[there][order])) + 1
        each = zip(*(np.split(values[there][order], ends) for values in (metric, human)), strict=True)
        compute = statistic("spearman")
        found = np.array([value for x, y in each if not np.isnan(value := compute(x, y))])
        if not len(found):
            return Estimate(n=0, value=None, interval=None)
        interval = bootstrap_interval(lambda times: times @ found / len(found), len(found), self.resamples)
        return Estimate(n=len(found), value=float(found.mean()), interval=interval)

    def by_system(self, metric: Floats, human: Floats) -> Estimate:
        """Of the systems' means."""
        there = ~(np.isnan(metric) | np.isnan(human))
        if self.systems is None or not there.any():
            return Estimate(n=0, value=None, interval=None)
        inputs, systems = (np.unique(codes[there], return_inverse=True)[1] for codes in (self.inputs, self.systems))
        shape = (int(inputs.max()) + 1, int(systems.max()) + 1)
        cells = inputs * shape[1] + systems
        counts, xs, ys = (
            np.bincount(cells, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
            for weights in (None, metric[there], human[there])
        )
        compute = statistic("spearman")
        rng, values = np.random.default_rng(SEED + 1), []
        for block in bootstrap_draws(shape[0], self.resamples):
            for total, x, y in zip(block @ counts, block @ xs, block @ ys, strict=True):
                chosen = rng.integers(0, shape[1], shape[1])
                chosen = chosen[total[chosen] > 0]
                values.append(compute(x[chosen] / total[chosen], y[chosen] / total[chosen]))
        value = compute(*(sums.sum(axis=0) / counts.sum(axis=0) for sums in (xs, ys)))
        return Estimate(n=shape[1], value=_plain(value), interval=percentiles(np.array(values)))


def system_means(values: Sequence[Floats], systems: Indices) -> list[Floats]:
    """Means by system over the rows that have all values, NaN without such a row. *Shape:* (rows,) each →
    (systems,) each."""
    there, n = ~np.any(np.isnan(values), axis=0), int(systems.max(initial=-1)) + 1
    counts = np.bincount(systems[there], minlength=n)
    return [ratio(np.bincount(systems[there], value[there], n), counts) for value in values]


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value
