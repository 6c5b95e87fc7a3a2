"""How well a score orders rows: the area under the ROC curve, with its interval over inputs."""

from __future__ import annotations

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
        resamples: number of bootstrap samples of inputs; 0 for no interval.
    """
    there = ~np.isnan(confidence)
    confidence, wanted = confidence[there], wanted[there]
    result = Ranking(n=len(confidence), roc_auc=None)
    if not wanted.any() or wanted.all():
        return result
    order = np.argsort(confidence, kind="stable")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(confidence[order])) + 1])  # of equal values
    codes, hits = np.unique(inputs[there], return_inverse=True)[1][order], wanted[order]

    def area(times: Indices) -> Values:
        """How often a wanted row comes before another, ties as a half. *Shape:* (samples, inputs) → (samples,)."""
        step = max(1, _CELLS // len(hits))
        found = []
        for start in range(0, len(times), step):
            rows = times[start : start + step, codes].astype(np.float64)
            ones, others = (np.add.reduceat(rows * one, starts, axis=1) for one in (hits, ~hits))
            after = others.sum(axis=1, keepdims=True) - others.cumsum(axis=1)
            found.append(ratio((ones * (after + others / 2)).sum(axis=1), ones.sum(axis=1) * others.sum(axis=1)))
        return np.concatenate(found)

    many = int(codes.max()) + 1
    result["roc_auc"] = float(area(np.ones((1, many), np.int64))[0])
    if resamples:
        result["interval"] = drawn_interval(area, many, resamples)
    return result
