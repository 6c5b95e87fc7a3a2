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
    """Coefficients of two columns; ``None`` where undefined."""

    n: int
    """Rows that have both values."""
    pearson: float | None
    """Pearson's r."""
    spearman: float | None
    """Spearman's ρ."""
    kendall: float | None
    """Kendall's τ-b."""
    interval: NotRequired[dict[Kind, Ends]]
    """95 % interval of each coefficient, by a bootstrap over inputs."""


class Estimate(TypedDict):
    """Spearman's ρ with its interval."""

    n: int
    """Number of rows, inputs or systems."""
    value: float | None
    """The coefficient; ``None`` where undefined."""
    interval: Ends
    """95 % interval."""


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
    """The coefficients over the rows with both values; ``None`` for an undefined one, and for one not in ``kinds``.

    Args:
        x, y: float64, *Shape:* (rows,), NaN without a value.
        inputs: the input of each row, *Shape:* (rows,); without it there are no intervals.
        resamples: number of bootstrap samples of inputs; 0 for no intervals.
        kinds: the coefficients to compute.
    """
    is_complete = ~(np.isnan(x) | np.isnan(y))
    x, y = x[is_complete], y[is_complete]
    result = Correlation(n=len(x), pearson=None, spearman=None, kendall=None)
    statistics = {kind: statistic(kind) for kind in kinds}
    for kind, compute in statistics.items():
        result[kind] = _plain(compute(x, y))
    if inputs is not None and resamples and len(x) >= MINIMUM and available():
        values: dict[Kind, list[float]] = {kind: [] for kind in kinds if len(x) <= INTERVAL_ROWS[kind]}
        for rows in bootstrap_rows(inputs[is_complete], resamples) if values else ():
            for kind, coefficients in values.items():
                coefficients.append(statistics[kind](x[rows], y[rows]))
        result["interval"] = {kind: percentiles(np.array(values.get(kind, []))) for kind in KINDS}
    return result


@dataclass(frozen=True)
class Levels:
    """Spearman's ρ by level."""

    inputs: Indices
    """Number of the input of each row. int64, *Shape:* (rows,)."""
    systems: Indices | None
    """Number of the system of each row, int64, *Shape:* (rows,); ``None`` without a column of systems."""
    resamples: int
    """Number of bootstrap samples; 0 for no intervals."""

    def pooled(self, metric: Floats, human: Floats, *, with_interval: bool = True) -> Estimate:
        """ρ over all rows that have both values. float64, *Shape:* (rows,) each, NaN for none."""
        result = correlate(metric, human, self.inputs, self.resamples if with_interval else 0, ("spearman",))
        return Estimate(n=result["n"], value=result["spearman"], interval=result.get("interval", {}).get("spearman"))

    def within(self, metric: Floats, human: Floats) -> Estimate:
        """Mean over inputs of ρ within the input; inputs need three rows with both values, and different values."""
        is_complete = ~(np.isnan(metric) | np.isnan(human))
        order = np.argsort(self.inputs[is_complete], kind="stable")
        ends = np.flatnonzero(np.diff(self.inputs[is_complete][order])) + 1
        values_by_input = zip(*(np.split(values[is_complete][order], ends) for values in (metric, human)), strict=True)
        compute = statistic("spearman")
        by_input = np.array([value for x, y in values_by_input if not np.isnan(value := compute(x, y))])
        if not len(by_input):
            return Estimate(n=0, value=None, interval=None)
        interval = bootstrap_interval(lambda times: times @ by_input / len(by_input), len(by_input), self.resamples)
        return Estimate(n=len(by_input), value=float(by_input.mean()), interval=interval)

    def by_system(self, metric: Floats, human: Floats) -> Estimate:
        """ρ of the means of the systems."""
        is_complete = ~(np.isnan(metric) | np.isnan(human))
        if self.systems is None or not is_complete.any():
            return Estimate(n=0, value=None, interval=None)
        inputs, systems = (
            np.unique(codes[is_complete], return_inverse=True)[1] for codes in (self.inputs, self.systems)
        )
        shape = (int(inputs.max()) + 1, int(systems.max()) + 1)
        cells = inputs * shape[1] + systems
        counts, xs, ys = (
            np.bincount(cells, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
            for weights in (None, metric[is_complete], human[is_complete])
        )
        compute = statistic("spearman")
        rng, values = np.random.default_rng(SEED + 1), []
        for block in bootstrap_draws(shape[0], self.resamples):
            for total, x, y in zip(block @ counts, block @ xs, block @ ys, strict=True):
                drawn = rng.integers(0, shape[1], shape[1])
                drawn = drawn[total[drawn] > 0]
                values.append(compute(x[drawn] / total[drawn], y[drawn] / total[drawn]))
        value = compute(*(sums.sum(axis=0) / counts.sum(axis=0) for sums in (xs, ys)))
        return Estimate(n=shape[1], value=_plain(value), interval=percentiles(np.array(values)))


def system_means(values: Sequence[Floats], systems: Indices) -> list[Floats]:
    """Means by system over the rows that have all values, NaN without such a row. *Shape:* (rows,) each →
    (systems,) each."""
    is_complete, n = ~np.any(np.isnan(values), axis=0), int(systems.max(initial=-1)) + 1
    counts = np.bincount(systems[is_complete], minlength=n)
    return [ratio(np.bincount(systems[is_complete], value[is_complete], n), counts) for value in values]


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value
