"""Pearson, Spearman and Kendall of scores with human ratings, each with its n.

scipy computes them (extra ``stats``); without it every coefficient is ``None`` and :func:`available` is False.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import util

import numpy as np
import numpy.typing as npt

from ..stats.multiple import holm
from .bootstrap import Floats, Indices, Statistic, cluster_samples, compare_correlations, ends_of, percentiles
from .label_report import Correlation, CountCorrelation, Difference, Differences, Kind

KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
MINIMUM = 3  # with two pairs every correlation is 1 or -1
# Above this number of rows, a thousand resampled coefficients take minutes, and the interval is None.
_INTERVAL_ROWS = {"pearson": 200_000, "spearman": 50_000, "kendall": 5_000}
_COMPARED_ROWS = 20000
LEVEL = 0.05


def available() -> bool:
    """Whether the extra ``stats`` is installed."""
    try:
        return util.find_spec("scipy") is not None
    except (ImportError, ValueError):  # a module of the user has the name of the package
        return False


def statistic(kind: Kind) -> Statistic:
    """A function that computes the coefficient of two float64 arrays, *Shape:* (n,), without NaN; its result is NaN if
    one of them is constant."""
    from scipy import stats

    function = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]

    def compute(x: Floats, y: Floats) -> float:
        if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return float("nan")
        return float(function(x, y)[0])

    return compute


def correlate(x: Floats, y: Floats, inputs: Indices | None = None, resamples: int = 0) -> Correlation:
    """All three coefficients over the rows that have both values.

    Args:
        x, y: float64, *Shape:* (rows,), NaN where there is no value.
        inputs: int64, *Shape:* (rows,), the input of each row; needed for intervals.
        resamples: number of bootstrap samples; 0 for no intervals.

    Returns: ``n``, each of :data:`KINDS` (``None`` if undefined), and with ``resamples`` the ``interval`` of each.
    """
    there = ~(np.isnan(x) | np.isnan(y))
    x, y = x[there], y[there]
    result = Correlation(n=len(x), pearson=None, spearman=None, kendall=None)
    if not available() or len(x) < MINIMUM:
        return result
    kinds = {kind: statistic(kind) for kind in KINDS}
    for kind, compute in kinds.items():
        result[kind] = _plain(compute(x, y))
    if inputs is not None and resamples:
        drawn: dict[Kind, list[float]] = {kind: [] for kind in KINDS if len(x) <= _INTERVAL_ROWS[kind]}
        for rows in cluster_samples(inputs[there], resamples) if drawn else ():
            for kind, values in drawn.items():
                values.append(kinds[kind](x[rows], y[rows]))
        result["interval"] = {kind: ends_of(percentiles(np.array(drawn.get(kind, [])))) for kind in KINDS}
    return result


def compare(first: Floats, second: Floats, human: Floats, inputs: Indices | None = None) -> Differences:
    """Test two metrics with each coefficient, over rows that have all three values; ``None`` if undefined.

    *Shape:* (rows,) each, float64, NaN where there is no value. ``inputs``: rows of one input are drawn together.
    """
    there = ~(np.isnan(first) | np.isnan(second) | np.isnan(human))
    first, second, human = first[there], second[there], human[there]
    owners = None if inputs is None else inputs[there]
    if not available() or len(human) > _COMPARED_ROWS:
        return Differences(pearson=None, spearman=None, kendall=None)

    def difference(kind: Kind) -> Difference | None:
        found = compare_correlations(first, second, human, statistic(kind), inputs=owners, pearson=kind == "pearson")
        if found is None:
            return None
        return Difference(difference=found.difference, low=found.low, high=found.high,
                          p=found.p, higher=found.higher, n=found.n)  # fmt: skip

    return Differences(pearson=difference("pearson"), spearman=difference("spearman"), kendall=difference("kendall"))


def corrected(found: Sequence[Differences]) -> list[Differences]:
    """Comparisons of one metric with several, with p-values corrected for their number (Holm), by coefficient."""
    by_kind: dict[Kind, list[Difference | None]] = {}
    for kind in KINDS:
        adjusted = holm([None if (line := one[kind]) is None else line["p"] for one in found])
        by_kind[kind] = [_with_p(one[kind], p) for one, p in zip(found, adjusted, strict=True)]
    return [
        Differences(pearson=pearson, spearman=spearman, kendall=kendall)
        for pearson, spearman, kendall in zip(*(by_kind[kind] for kind in KINDS), strict=True)
    ]


def _with_p(found: Difference | None, p: float | None) -> Difference | None:
    if found is None or p is None:
        return None
    return Difference(**{**found, "p": p, "higher": found["higher"] if p < LEVEL else None})


def system_means(values: list[Floats], systems: Indices, n_systems: int) -> tuple[list[Floats], npt.NDArray[np.bool_]]:
    """Means by system over the rows that have all values, and a mask of the systems that have such a row.

    *Shape:* (rows,) each → (n_systems,) each.
    """
    there = ~np.any([np.isnan(value) for value in values], axis=0)
    counts = np.bincount(systems[there], minlength=n_systems)
    sums = [np.bincount(systems[there], weights=value[there], minlength=n_systems) for value in values]
    return [np.where(counts, total / np.maximum(counts, 1), np.nan) for total in sums], counts > 0


def spearman_with_count(
    counts: Floats, correct: npt.NDArray[np.bool_], inputs: Indices, resamples: int
) -> CountCorrelation:
    """Spearman's ρ of the number of facts with correctness, and with errors (the same value, opposite sign)."""
    found = correlate(counts, correct.astype(np.float64), inputs, resamples)
    value, interval = found["spearman"], found.get("interval", {}).get("spearman")
    return CountCorrelation(
        n=len(counts), correctness=value, errors=None if value is None else -value, interval=interval
    )


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value
