"""Pearson, Spearman and Kendall of scores with human ratings, each with its n.

scipy computes them (extra ``stats``); without it every coefficient is ``None`` and :func:`available` is False.
"""

from __future__ import annotations

from importlib import util

import numpy as np
import numpy.typing as npt

from .bootstrap import Floats, Indices, Statistic, cluster_samples, compare_correlations, ends_of, percentiles
from .label_report import Correlation, CountCorrelation, Difference, Differences, Kind, Ranking

KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
MINIMUM = 3  # with two pairs every correlation is 1 or -1
# Above this number of rows, a thousand resampled coefficients take minutes, and the interval is None.
_INTERVAL_ROWS = {"pearson": 200_000, "spearman": 50_000, "kendall": 5_000}
_COMPARED_ROWS = 20000


def available() -> bool:
    """Whether the extra ``stats`` is installed."""
    try:
        return all(util.find_spec(name) is not None for name in ("scipy", "sklearn"))
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


def system_means(values: list[Floats], systems: Indices, n_systems: int) -> tuple[list[Floats], npt.NDArray[np.bool_]]:
    """Means by system over the rows that have all values, and a mask of the systems that have such a row.

    *Shape:* (rows,) each → (n_systems,) each.
    """
    there = ~np.any([np.isnan(value) for value in values], axis=0)
    counts = np.bincount(systems[there], minlength=n_systems)
    sums = [np.bincount(systems[there], weights=value[there], minlength=n_systems) for value in values]
    return [np.where(counts, total / np.maximum(counts, 1), np.nan) for total in sums], counts > 0


def ranking(confidence: Floats, not_ok: npt.NDArray[np.bool_]) -> Ranking:
    """How well low confidence finds the rows that are not OK, over all thresholds: ROC AUC and average precision.

    *Shape:* (rows,) each; float64 and bool.
    """
    there = ~np.isnan(confidence)
    confidence, not_ok = confidence[there], not_ok[there]
    result = Ranking(n=len(confidence), roc_auc=None, average_precision=None)
    if not available() or not not_ok.any() or not_ok.all():
        return result
    from sklearn.metrics import average_precision_score, roc_auc_score

    result["roc_auc"] = float(roc_auc_score(not_ok, -confidence))
    result["average_precision"] = float(average_precision_score(not_ok, -confidence))
    return result


def spearman_with_count(counts: Floats, correct: npt.NDArray[np.bool_]) -> CountCorrelation:
    """Spearman's ρ of the number of facts with correctness, and with errors (the same value, opposite sign)."""
    found = correlate(counts, correct.astype(np.float64))["spearman"]
    return CountCorrelation(n=len(counts), correctness=found, errors=None if found is None else -found)


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value
