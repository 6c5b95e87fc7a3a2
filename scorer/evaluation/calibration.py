"""Calibration of a confidence: the share of rows that are OK by the gold, by confidence; and the ranking of rows by it.

The calibrated confidence is the isotonic regression of *OK by the gold* on the confidence (Zadrozny & Elkan, KDD 2002),
cross-fitted over inputs. The expected calibration error is that of Naeini et al. (AAAI 2015), over equal widths.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, cast

import numpy as np

from ..stats.intervals import share_rate
from .label_figures import RESAMPLES, SEED, Ends, Floats, Indices, Mask, bootstrap_draws, bootstrap_interval, ratio

BINS = 10
FOLDS = 5
_CELLS = 4_000_000


class CalibrationLine(TypedDict):
    """Rows with a confidence within one bin."""

    low: float
    """Lower limit of the bin."""
    high: float
    """Upper limit of the bin."""
    n: int
    """Number of rows."""
    confidence: float
    """Mean confidence."""
    ok: float
    """Share of rows that are OK by the gold."""
    calibrated: float | None
    """Mean calibrated confidence: the share of OK that it predicts."""
    interval: Ends
    """95 % interval of ``ok``."""


class CalibrationBlock(TypedDict):
    """Reliability of the confidence as the probability of OK."""

    n: int
    """Number of rows."""
    inputs: int
    """Number of inputs."""
    error: float | None
    """Expected calibration error."""
    brier: float | None
    """Mean squared error."""
    calibrated_error: float | None
    """``error`` after cross-fitted isotonic regression; ``None`` with too few inputs."""
    calibrated_brier: float | None
    """``brier`` after cross-fitted isotonic regression; ``None`` with too few inputs."""
    interval: dict[str, Ends]
    """95 % intervals of the four figures above, by name."""
    lines: list[CalibrationLine]
    """The bins that have rows."""


class Ranking(TypedDict):
    """Area under the ROC curve of a low confidence as a predictor of not_OK."""

    n: int
    roc_auc: float | None
    interval: NotRequired[Ends]


def calibration(confidence: Floats, right: Mask, inputs: Indices, resamples: int) -> CalibrationBlock:
    """The reliability of a confidence, before and after isotonic regression.

    Args:
        confidence: from 0 to 1, without NaN. *Shape:* (n,).
        right: whether the gold says OK. *Shape:* (n,).
        inputs: the input of each row; rows of one input stay in one fold, and are drawn together. *Shape:* (n,).
        resamples: number of bootstrap samples of inputs; 0 for no intervals.
    """
    truth = right.astype(np.float64)
    owners = np.unique(inputs, return_inverse=True)[1]
    bins = _bins(confidence)
    fitted = cross_fitted(confidence, truth, inputs)
    block: dict[str, Any] = {"n": len(truth), "inputs": len(np.unique(owners)), "interval": {}, "lines": []}
    for name, values in (("", confidence), ("calibrated_", fitted)):
        if values is None:
            block |= {f"{name}error": None, f"{name}brier": None}
            continue
        squares = (values - truth) ** 2
        block |= {
            f"{name}error": calibration_error(values, truth),
            f"{name}brier": float(squares.mean()) if len(truth) else None,
        }
        block["interval"] |= {
            f"{name}error": error_interval(values, truth, owners, resamples),
            f"{name}brier": _mean_interval(squares, owners, resamples),
        }
    for number in np.unique(bins).tolist():
        rows = bins == number
        ok = share_rate(right[rows], inputs[rows])
        line = CalibrationLine(
            low=number / BINS,
            high=(number + 1) / BINS,
            n=int(rows.sum()),
            confidence=float(confidence[rows].mean()),
            ok=float(truth[rows].mean()),
            calibrated=None if fitted is None else float(fitted[rows].mean()),
            interval=[ok.low, ok.high] if resamples and ok.low is not None and ok.high is not None else None,
        )
        block["lines"].append(line)
    return cast(CalibrationBlock, block)


def calibration_error(confidence: Floats, truth: Floats) -> float | None:
    """Mean over rows of the distance between their bin's mean confidence and its share of OK; ``None`` without
    rows. *Shape:* (n,) each."""
    if not len(truth):
        return None
    distances = np.bincount(_bins(confidence), confidence - truth, BINS)
    return float(np.abs(distances).sum() / len(truth))


def error_interval(confidence: Floats, truth: Floats, owners: Indices, resamples: int) -> Ends:
    """95 % interval of :func:`calibration_error`; ``None`` with fewer than two inputs or without resamples.

    A mean of absolute distances is above 0 by chance alone, in a sample and even more in a bootstrap sample of it, so
    that percentiles of a bootstrap never include an error of 0. The lower end is therefore 0 if chance alone moves the
    bins by as much as the error (97.5 % of the samples), and otherwise the upper percentile reflected at the error.

    Args:
        confidence, truth: float64, *Shape:* (n,).
        owners: number of each row's input, from 0. int64, *Shape:* (n,).
        resamples: number of bootstrap samples.
    """
    error = calibration_error(confidence, truth)
    clusters = int(owners.max(initial=-1)) + 1
    if error is None or clusters < 2 or not resamples:
        return None
    distances = np.bincount(owners * BINS + _bins(confidence), confidence - truth, clusters * BINS).reshape(
        clusters, BINS
    )
    rows = np.bincount(owners, minlength=clusters)
    resampled = np.concatenate(
        [(times @ distances) / (times @ rows)[:, None] for times in bootstrap_draws(clusters, resamples)]
    )
    high = float(np.percentile(np.abs(resampled).sum(axis=1), 97.5))
    by_chance = float(np.percentile(np.abs(resampled - distances.sum(axis=0) / len(truth)).sum(axis=1), 97.5))
    return [0.0 if error <= by_chance else max(0.0, 2 * error - high), max(error, high)]


def cross_fitted(confidence: Floats, truth: Floats, inputs: Indices) -> Floats | None:
    """The share of OK at each row's confidence by isotonic regression on other inputs; ``None`` with fewer than
    :data:`FOLDS` inputs. *Shape:* (n,) each."""
    distinct, codes = np.unique(inputs, return_inverse=True)
    if len(distinct) < FOLDS:
        return None
    fold = (np.random.default_rng(SEED).permutation(len(distinct)) % FOLDS)[codes]
    result = np.empty(len(truth))
    for number in range(FOLDS):
        held_out = fold == number
        values, value_of_row = np.unique(confidence[~held_out], return_inverse=True)
        counts = np.bincount(value_of_row).astype(np.float64)
        curve = isotonic(np.bincount(value_of_row, truth[~held_out]) / counts, counts)
        result[held_out] = np.interp(confidence[held_out], values, curve)
    return result


def isotonic(values: Floats, weights: Floats) -> Floats:
    """The closest ascending values by weighted squares, by pooling adjacent violators (Ayer et al., Annals of
    Mathematical Statistics 26, 1955). *Shape:* (n,) each; weights are positive."""
    means: list[float] = []
    masses: list[float] = []
    counts: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, count = value, weight, 1
        while means and means[-1] >= mean:
            before, size = means.pop(), masses.pop()
            mean = (before * size + mean * mass) / (size + mass)
            mass, count = mass + size, count + counts.pop()
        means.append(mean)
        masses.append(mass)
        counts.append(count)
    return np.repeat(np.array(means, np.float64), counts)


def _bins(confidence: Floats) -> Indices:
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)


def _mean_interval(values: Floats, owners: Indices, resamples: int) -> Ends:
    sums, rows = np.bincount(owners, values), np.bincount(owners)
    return bootstrap_interval(lambda times: (times @ sums) / (times @ rows), len(rows), resamples)


def ranking(confidence: Floats, is_target: Mask, inputs: Indices, resamples: int = RESAMPLES) -> Ranking:
    """Rank rows by a low confidence: the area under the ROC curve. Rows without a confidence are left out.

    Args:
        confidence: float64, *Shape:* (rows,).
        is_target: the rows that should come first. bool, *Shape:* (rows,).
        inputs: the input of each row. int64, *Shape:* (rows,).
        resamples: number of bootstrap samples of inputs; 0 for no interval.
    """
    has_confidence = ~np.isnan(confidence)
    confidence, is_target = confidence[has_confidence], is_target[has_confidence]
    result = Ranking(n=len(confidence), roc_auc=None)
    if not is_target.any() or is_target.all():
        return result
    order = np.argsort(confidence, kind="stable")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(confidence[order])) + 1])  # of equal values
    codes, hits = np.unique(inputs[has_confidence], return_inverse=True)[1][order], is_target[order]

    def area(times: Indices) -> Floats:
        """Share of pairs in which a target row comes first, ties as a half. *Shape:* (samples, inputs) → (samples,)."""
        step = max(1, _CELLS // len(hits))
        areas = []
        for start in range(0, len(times), step):
            rows = times[start : start + step, codes].astype(np.float64)
            hit_weights, misses = (np.add.reduceat(rows * mask, starts, axis=1) for mask in (hits, ~hits))
            misses_after = misses.sum(axis=1, keepdims=True) - misses.cumsum(axis=1)
            areas.append(
                ratio(
                    (hit_weights * (misses_after + misses / 2)).sum(axis=1),
                    hit_weights.sum(axis=1) * misses.sum(axis=1),
                )
            )
        return np.concatenate(areas)

    clusters = int(codes.max()) + 1
    result["roc_auc"] = float(area(np.ones((1, clusters), np.int64))[0])
    if resamples:
        result["interval"] = bootstrap_interval(area, clusters, resamples)
    return result
