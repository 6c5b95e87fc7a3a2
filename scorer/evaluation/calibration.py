"""What a confidence means: how often rows of one confidence are OK by the gold.

The calibrated confidence is the isotonic regression of *OK by the gold* on the confidence (Zadrozny & Elkan, KDD 2002),
cross-fitted: the rows of an input are calibrated by a regression on the rows of other inputs, so that no row is
measured by its own gold. The expected calibration error is that of Naeini et al. (AAAI 2015), over equal widths.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..stats.design_effect import share_rate
from ..stats.isotonic import isotonic
from .bootstrap import SEED
from .label_report import CalibrationBlock, CalibrationLine

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

BINS = 10
FOLDS = 5


def calibration(confidence: Floats, right: npt.NDArray[np.bool_], inputs: Indices, resamples: int) -> CalibrationBlock:
    """The reliability of a confidence, before and after isotonic regression.

    Args:
        confidence: *Shape:* (n,), from 0 to 1, without NaN.
        right: *Shape:* (n,), whether the gold says OK.
        inputs: *Shape:* (n,), the input of each row; its rows stay in one fold, and are drawn together.
        resamples: number of bootstrap samples of inputs; 0 for no intervals.
    """
    truth = right.astype(np.float64)
    fitted = cross_fitted(confidence, truth, inputs)
    bins = _bins(confidence)
    lines = []
    for number in range(BINS):
        rows = np.flatnonzero(bins == number)
        if len(rows):
            line = CalibrationLine(
                low=number / BINS,
                high=(number + 1) / BINS,
                n=len(rows),
                confidence=float(confidence[rows].mean()),
                ok=float(truth[rows].mean()),
                calibrated=None if fitted is None else float(fitted[rows].mean()),
                interval=_interval(right[rows], inputs[rows]) if resamples else None,
            )
            lines.append(line)
    block = CalibrationBlock(
        n=len(truth),
        inputs=len(np.unique(inputs)),
        error=calibration_error(confidence, truth),
        brier=_brier(confidence, truth),
        calibrated_error=None,
        calibrated_brier=None,
        lines=lines,
    )
    if fitted is not None:
        block["calibrated_error"], block["calibrated_brier"] = calibration_error(fitted, truth), _brier(fitted, truth)
    return block


def calibration_error(confidence: Floats, truth: Floats) -> float | None:
    """Mean over rows of the distance between their bin's mean confidence and its share of OK; ``None`` without
    rows. *Shape:* (n,) each."""
    if not len(truth):
        return None
    distances = np.bincount(_bins(confidence), confidence - truth, BINS)
    return float(np.abs(distances).sum() / len(truth))


def cross_fitted(confidence: Floats, truth: Floats, inputs: Indices) -> Floats | None:
    """The share of OK at each row's confidence by isotonic regression on other inputs; ``None`` with fewer than
    :data:`FOLDS` inputs. *Shape:* (n,) each."""
    found, codes = np.unique(inputs, return_inverse=True)
    if len(found) < FOLDS:
        return None
    fold = (np.random.default_rng(SEED).permutation(len(found)) % FOLDS)[codes]
    result = np.empty(len(truth))
    for number in range(FOLDS):
        held = fold == number
        values, at = np.unique(confidence[~held], return_inverse=True)
        counts = np.bincount(at).astype(np.float64)
        curve = isotonic(np.bincount(at, truth[~held]) / counts, counts)
        result[held] = np.interp(confidence[held], values, curve)
    return result


def _bins(confidence: Floats) -> Indices:
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)


def _brier(confidence: Floats, truth: Floats) -> float | None:
    return float(((confidence - truth) ** 2).mean()) if len(truth) else None


def _interval(right: npt.NDArray[np.bool_], inputs: Indices) -> list[float] | None:
    found = share_rate(right, inputs)
    return None if found.low is None or found.high is None else [found.low, found.high]
