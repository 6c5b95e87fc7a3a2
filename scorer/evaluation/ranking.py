"""How well a score orders rows: the area under the ROC curve and average precision, with intervals over inputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .bootstrap import RESAMPLES, Floats, Indices, drawn_interval
from .figures import Values, ratio
from .label_report import Ranking

Bools = npt.NDArray[np.bool_]
_CELLS = 4_000_000


def ranking(confidence: Floats, wanted: Bools, inputs: Indices, resamples: int = RESAMPLES) -> Ranking:
    """How well a low confidence finds the rows that are wanted, over all thresholds. Rows without one are left out.

    Args:
        confidence: float64. wanted: bool. inputs: int64, the input of each row. *Shape:* (rows,) each.
        resamples: number of bootstrap samples of inputs; 0 for no intervals.
    """
    there = ~np.isnan(confidence)
    confidence, wanted = confidence[there], wanted[there]
    result = Ranking(n=len(confidence), roc_auc=None, average_precision=None)
    if not wanted.any() or wanted.all():
        return result
    codes = np.unique(inputs[there], return_inverse=True)[1]
    ordered = _Ordered(confidence, wanted, codes)
    every = np.ones((1, int(codes.max()) + 1), np.int64)
    result["roc_auc"] = float(ordered.area(every)[0])
    result["average_precision"] = float(ordered.precision(every)[0])
    if resamples:
        result["interval"] = {
            "roc_auc": drawn_interval(ordered.area, every.shape[1], resamples),
            "average_precision": drawn_interval(ordered.precision, every.shape[1], resamples),
        }
    return result


class _Ordered:
    """Rows in the order of their confidence, equal ones as one step. *Shape:* (rows,) each, without NaN."""

    def __init__(self, confidence: Floats, wanted: Bools, inputs: Indices) -> None:
        order = np.argsort(confidence, kind="stable")
        values = confidence[order]
        self._starts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])
        self._wanted, self._inputs = wanted[order], inputs[order]

    def area(self, weights: Indices) -> Values:
        """How often a wanted row comes before another, ties as a half. ``weights``: how often each input is drawn.
        *Shape:* (samples, inputs) → (samples,)."""

        def area(ones: Values, others: Values) -> Values:
            after = others.sum(axis=1, keepdims=True) - others.cumsum(axis=1)
            return ratio((ones * (after + others / 2)).sum(axis=1), ones.sum(axis=1) * others.sum(axis=1))

        return self._each(weights, area)

    def precision(self, weights: Indices) -> Values:
        """Mean of the precision at each wanted row, with all rows of its confidence. *Shape:* as :meth:`area`."""

        def average(ones: Values, others: Values) -> Values:
            found = ones.cumsum(axis=1)
            return ratio(
                (ones * np.nan_to_num(ratio(found, found + others.cumsum(axis=1)))).sum(axis=1), ones.sum(axis=1)
            )

        return self._each(weights, average)

    def _each(self, weights: Indices, statistic: Callable[[Values, Values], Values]) -> Values:
        step = max(1, _CELLS // len(self._wanted))
        return np.concatenate([
            statistic(*self._steps(weights[start : start + step])) for start in range(0, len(weights), step)
        ])  # fmt: skip

    def _steps(self, weights: Indices) -> tuple[Values, Values]:
        """Drawn rows that are wanted, and others, of each step. *Shape:* (samples, steps) each."""
        rows = weights[:, self._inputs].astype(np.float64)
        return (
            np.add.reduceat(rows * self._wanted, self._starts, axis=1),
            np.add.reduceat(rows * ~self._wanted, self._starts, axis=1),
        )
