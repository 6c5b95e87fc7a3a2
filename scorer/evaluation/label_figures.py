"""Figures of labels against gold, from confusion counts, and intervals over inputs.

Counts are *Shape:* (..., 4, 5) of FINE and (..., 2, 3) of ROUGH labels: gold label, then predicted label or error; a
row with an error counts as not_OK, the positive class. A figure without a denominator is NaN here and null in JSON.
Rows of one input are not independent, so the bootstrap draws inputs, each with all its rows; shares have Wilson's
interval instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, cast

import numpy as np
import numpy.typing as npt

from ..metric.verdict import FINE, ROUGH
from ..scoring.output_columns import rough_of
from ..stats.intervals import share_interval

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]
Ends = list[float] | None
"""Both ends of an interval."""
Confusion = dict[str, dict[str, int]]
"""Gold label → predicted label (or ``error``) → number of rows."""

ERROR = "error"
RESAMPLES = 1000
SEED = 20201215
_CELLS = 4_000_000  # draws in memory at a time
_FINE = len(FINE)
_SIDES = {"omission": np.array([0, 1, 0, 1], bool), "hallucination": np.array([0, 0, 1, 1], bool)}


class SideBlock(TypedDict):
    """Figures of omissions or of hallucinations, regardless of the other."""

    n: int
    """Rows with gold."""
    precision: float | None
    """Share of right rows among those with this predicted error."""
    recall: float | None
    """Share of right rows among those with this gold error."""
    f1: float | None
    """Harmonic mean of precision and recall."""
    interval: NotRequired[dict[str, Ends]]
    """95 % interval of each figure."""


class RoughBlock(SideBlock):
    """Figures of OK and not_OK; not_OK is the positive class."""

    accuracy: float | None
    """Share of right labels."""
    confusion: NotRequired[Confusion | None]
    """Rows by gold and predicted label."""


class FineBlock(TypedDict):
    """Figures of the four labels."""

    n: int
    """Rows with a FINE gold label."""
    accuracy: float | None
    """Share of right labels."""
    macro_f1: float | None
    """Mean F1 of the labels that occur."""
    interval: NotRequired[dict[str, Ends]]
    """95 % interval of each figure."""
    confusion: NotRequired[Confusion | None]
    """Rows by gold and predicted label."""


class Blocks(TypedDict):
    """Figures of predicted labels on rows with gold; only ``rough`` has any where the gold has only ROUGH labels."""

    rough: RoughBlock
    """OK against not_OK."""
    fine: FineBlock
    """The four labels."""
    omission: SideBlock
    """Omissions."""
    hallucination: SideBlock
    """Hallucinations."""
    inputs: NotRequired[int]
    """Number of inputs."""
    value: NotRequired[Any]
    """Value of the grouping column that the rows share."""


def bootstrap_draws(inputs: int, resamples: int, seed: int = SEED) -> Iterator[Indices]:
    """Draw inputs with replacement: the number of times of each, in blocks of samples. int64, *Shape:* (samples,
    inputs)."""
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // inputs)
    for start in range(0, resamples, block):
        yield rng.multinomial(inputs, np.full(inputs, 1 / inputs), size=min(block, resamples - start))


def bootstrap_rows(inputs: Indices, resamples: int, seed: int = SEED) -> Iterator[Indices]:
    """Row numbers (int64) of each sample. ``inputs``: int64, *Shape:* (rows,), the input of each row."""
    names, codes = np.unique(inputs, return_inverse=True)
    rows = np.arange(len(codes))
    for block in bootstrap_draws(len(names), resamples, seed) if len(rows) else ():
        for times in block:
            yield np.repeat(rows, times[codes])


def bootstrap_interval(
    statistic: Callable[[Indices], Floats], inputs: int, resamples: int = RESAMPLES, seed: int = SEED
) -> list[float] | None:
    """95 % percentile interval of a statistic of how often each input is drawn, *Shape:* (samples, inputs) →
    (samples,); ``None`` with fewer than two inputs."""
    if inputs < 2 or not resamples:
        return None
    return percentiles(np.concatenate([statistic(times) for times in bootstrap_draws(inputs, resamples, seed)]))


def percentiles(values: Floats) -> list[float] | None:
    """The 2.5th and 97.5th percentiles of resampled values, *Shape:* (samples,); ``None`` if there are none, or over 5
    % of them are NaN."""
    defined = values[~np.isnan(values)]
    if not len(values) or len(defined) < 0.95 * len(values):
        return None
    return [float(end) for end in np.percentile(defined, (2.5, 97.5))]


def confusion(gold: Codes, predicted: Codes, labels: int, groups: Indices | None = None, n_groups: int = 1) -> Counts:
    """Count (gold, predicted) pairs of the rows with gold; -1 is no gold, and an error. *Shape:* (rows,) each →
    (labels, labels + 1), or (n_groups, labels, labels + 1) with ``groups``."""
    has_gold = gold >= 0
    column = np.where(predicted < 0, labels, predicted)[has_gold].astype(np.int64)
    cell = gold[has_gold].astype(np.int64) * (labels + 1) + column
    size = labels * (labels + 1)
    if groups is None:
        return np.bincount(cell, minlength=size).reshape(labels, labels + 1)
    cell += groups[has_gold] * size
    return np.bincount(cell, minlength=size * n_groups).reshape(n_groups, labels, labels + 1)


def shares(fine: Counts, rough: Counts) -> dict[str, dict[str, tuple[Counts, Counts]]]:
    """The figures that are shares, as right and all rows; F1 = 2s / (1 + s) as the share s.

    An error counts as not_OK. *Shape:* (..., 4, 5) and (..., 2, 3) → (...) each.
    """
    flagged = rough[..., 1] + rough[..., 2]
    parts = {
        "rough": {
            "accuracy": (rough[..., 0, 0] + flagged[..., 1], rough.sum(axis=(-2, -1))),
            **_side(flagged[..., 1], flagged[..., 0], rough[..., 1, 0]),
        },
        "fine": {"accuracy": (np.trace(fine[..., :_FINE], axis1=-2, axis2=-1), fine.sum(axis=(-2, -1)))},
    }
    for side, has in _SIDES.items():
        predicted, total = fine[..., :_FINE][..., has].sum(axis=-1), fine.sum(axis=-1)
        hits = predicted[..., has].sum(axis=-1)
        parts[side] = _side(hits, predicted[..., ~has].sum(axis=-1), total[..., has].sum(axis=-1) - hits)
    return parts


def f1_of_share(share: Any) -> Any:
    """F1 = 2h / (2h + w + m) from the share h / (h + w + m) of hits, rows wrongly named and rows missed."""
    return 2 * share / (1 + share)


def measure(fine: Counts, rough: Counts) -> dict[str, dict[str, Floats]]:
    """All figures of a stack of counts, by their names in the JSON: :func:`shares` and macro-F1. *Shape:* as there."""
    figures = {
        block: {name: f1_of_share(ratio(*counts)) if name == "f1" else ratio(*counts) for name, counts in parts.items()}
        for block, parts in shares(fine, rough).items()
    }
    figures["fine"]["macro_f1"] = macro_f1(fine)
    return figures


def intervals(fine: Counts, rough: Counts, resamples: int = RESAMPLES) -> dict[str, dict[str, Ends]]:
    """95 % intervals of the figures of :func:`measure`: :func:`share_interval` of shares, percentiles of macro-F1.

    Args:
        fine, rough: int64, counts by input, *Shape:* (inputs, 4, 5) and (inputs, 2, 3).
    """
    intervals_of: dict[str, dict[str, Ends]] = {}
    for block, parts in shares(fine, rough).items():
        intervals_of[block] = {name: share_interval(*counts) for name, counts in parts.items()}
        if (ends := intervals_of[block].get("f1")) is not None:
            intervals_of[block]["f1"] = [f1_of_share(end) for end in ends]
    flat = fine.reshape(len(fine), -1)
    intervals_of["fine"]["macro_f1"] = bootstrap_interval(
        lambda times: macro_f1((times @ flat).reshape(-1, *fine.shape[1:])), len(fine), resamples
    )
    return intervals_of


def macro_f1(counts: Counts) -> Floats:
    """The mean F1 of the labels that occur in gold or predictions. *Shape:* (..., 4, 5) → (...)."""
    square = counts[..., :_FINE]
    occurring = counts.sum(axis=-1) + square.sum(axis=-2)
    f1 = ratio(2 * np.diagonal(square, axis1=-2, axis2=-1), occurring)
    return ratio(np.nan_to_num(f1).sum(axis=-1), (occurring > 0).sum(axis=-1))


def _side(hits: Counts, wrong: Counts, missed: Counts) -> dict[str, tuple[Counts, Counts]]:
    return {"precision": (hits, hits + wrong), "recall": (hits, hits + missed), "f1": (hits, hits + wrong + missed)}


def confusion_table(counts: Counts) -> dict[str, dict[str, int]]:
    """One matrix as a dictionary: gold label → predicted label (or ``error``) → number of rows."""
    names = FINE if len(counts) == _FINE else ROUGH
    return {
        gold: dict(zip((*names, ERROR), line, strict=True)) for gold, line in zip(names, counts.tolist(), strict=True)
    }


def blocks(fine: Counts, rough: Counts) -> Blocks:
    """The figures of one matrix of each kind for a report, NaN as ``None``. *Shape:* (4, 5) and (2, 3)."""
    figures_of = {
        block: {name: None if np.isnan(value) else float(value) for name, value in figures.items()}
        for block, figures in measure(fine, rough).items()
    }
    sizes = {block: int((rough if block == "rough" else fine).sum()) for block in figures_of}
    return cast(Blocks, {block: {"n": sizes[block], **figures_of[block]} for block in figures_of})


def ratio(numerator: Any, denominator: Any) -> Floats:
    """A quotient, NaN for a denominator of 0. *Shape:* (...) each."""
    numerator, denominator = np.asarray(numerator, float), np.asarray(denominator, float)
    return np.divide(
        numerator, denominator, out=np.full(np.broadcast(numerator, denominator).shape, np.nan), where=denominator > 0
    )


@dataclass(frozen=True)
class Labels:
    """Predicted and gold labels of all rows. *Shape:* (rows,) each."""

    fine: Codes | None
    """Predicted FINE labels, -1 for an error; ``None`` if the metric has only ROUGH ones."""
    rough: Codes
    """Predicted ROUGH labels, -1 for an error."""
    gold_fine: Codes | None
    """FINE gold labels, -1 for none; ``None`` if the gold has only ROUGH ones."""
    gold_rough: Codes
    """ROUGH gold labels, -1 for none."""
    inputs: Indices
    """Number of the input of each row."""

    def figures(self, where: Mask | None = None, *, resamples: int = 0) -> Blocks:
        """The blocks over the rows of ``where`` (bool, *Shape:* (rows,)), with intervals if there are ``resamples``."""
        judged = self.gold_rough >= 0 if where is None else (self.gold_rough >= 0) & where
        inputs, codes = np.unique(self.inputs[judged], return_inverse=True)
        rough_by_input = confusion(self.gold_rough[judged], self.rough[judged], len(ROUGH), codes, len(inputs))
        gold, predicted = self._fine()
        fine_by_input = confusion(gold[judged], predicted[judged], len(FINE), codes, len(inputs))
        counts = {"fine": fine_by_input.sum(axis=0), "rough": rough_by_input.sum(axis=0)}
        result: Any = blocks(**counts)
        ends = intervals(fine_by_input, rough_by_input, resamples) if resamples and len(inputs) else {}
        for block, intervals_of in ends.items():
            result[block]["interval"] = intervals_of
        for block, matrix in counts.items():
            result[block]["confusion"] = confusion_table(matrix) if matrix.any() else None
        result["inputs"] = len(inputs)
        return cast(Blocks, result)

    def trivial(self) -> dict[str, Blocks]:
        """The figures of trivial predictions on the same rows: always OK; and where the gold has FINE labels, every
        omission right and no hallucination found."""
        fine = self._fine()[0]
        omissions = fine & 1  # the bit of a FINE code
        baselines = {
            "always OK": blocks(confusion(fine, 0 * fine, len(FINE)), confusion(self.gold_rough, 0 * fine, len(ROUGH)))
        }
        if (fine >= 0).any():
            counts = confusion(fine, omissions, len(FINE)), confusion(rough_of(fine), omissions, len(ROUGH))
            baselines["omissions perfect, no hallucination"] = blocks(*counts)
        return baselines

    def _fine(self) -> tuple[Codes, Codes]:
        """Gold and predicted FINE labels; no gold where one of them is missing. *Shape:* (rows,) each."""
        if self.gold_fine is None or self.fine is None:
            return np.full_like(self.rough, -1), np.full_like(self.rough, -1)
        return self.gold_fine, self.fine
