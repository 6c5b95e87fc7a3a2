"""From confusion counts to figures. All functions work on a stack of counts at once, as the bootstrap needs.

Counts of FINE labels are *Shape:* (..., 4, 5): gold label, then predicted label or error. Counts of ROUGH labels are
*Shape:* (..., 2, 3) in the same way. not_OK is the positive class. A row with an error counts as not_OK (its text was
not verified), is wrong for every FINE label, and counts for neither side.

A figure whose denominator is 0 is NaN here and null in JSON, not 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..metric.verdict import FINE, ROUGH
from .label_report import Blocks, FineBlock, RoughBlock, SideBlock

Counts = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]

ERROR = "error"
_FINE, _ROUGH = len(FINE), len(ROUGH)
_SIDES = {"omission": np.array([0, 1, 0, 1], bool), "hallucination": np.array([0, 0, 1, 1], bool)}


def confusion(
    gold: npt.NDArray[np.int8],
    predicted: npt.NDArray[np.int8],
    labels: int,
    groups: npt.NDArray[np.int64] | None = None,
    n_groups: int = 1,
) -> Counts:
    """Count (gold, predicted) pairs, optionally by group. Rows without gold are left out.

    Args:
        gold: int8, *Shape:* (rows,), -1 for no label.
        predicted: int8, *Shape:* (rows,), -1 for an error.
        groups: int64, *Shape:* (rows,), below ``n_groups``.

    Returns: int64, *Shape:* (labels, labels + 1), or (n_groups, labels, labels + 1) with ``groups``.
    """
    there = gold >= 0
    column = np.where(predicted < 0, labels, predicted)[there].astype(np.int64)
    cell = gold[there].astype(np.int64) * (labels + 1) + column
    size = labels * (labels + 1)
    if groups is None:
        return np.bincount(cell, minlength=size).reshape(labels, labels + 1)
    cell += groups[there] * size
    return np.bincount(cell, minlength=size * n_groups).reshape(n_groups, labels, labels + 1)


def rough_figures(counts: Counts) -> dict[str, Values]:
    """Accuracy, and precision, recall and F1 of not_OK; an error counts as not_OK. *Shape:* (..., 2, 3) → (...)."""
    flagged = counts[..., 1] + counts[..., 2]
    correct = counts[..., 0, 0] + flagged[..., 1]
    return {
        "accuracy": ratio(correct, counts.sum(axis=(-2, -1))),
        **_side(flagged[..., 1], flagged[..., 0], counts[..., 1, 0]),
    }


def fine_figures(counts: Counts) -> dict[str, Values]:
    """Accuracy over the four labels, and the mean F1 of the labels that occur in gold or predictions.

    *Shape:* (..., 4, 5) → (...).
    """
    square = counts[..., :_FINE]
    hits = np.diagonal(square, axis1=-2, axis2=-1)
    occurring = counts.sum(axis=-1) + square.sum(axis=-2)
    f1 = ratio(2 * hits, occurring)
    labels = (occurring > 0).sum(axis=-1)
    return {
        "accuracy": ratio(hits.sum(axis=-1), counts.sum(axis=(-2, -1))),
        "macro_f1": ratio(np.nan_to_num(f1).sum(axis=-1), labels),
    }


def side_figures(counts: Counts, side: str) -> dict[str, Values]:
    """Precision, recall and F1 of one side (``omission`` or ``hallucination``), regardless of the other side.

    *Shape:* (..., 4, 5) → (...).
    """
    return _side(*_side_counts(counts, side))


def _side_counts(counts: Counts, side: str) -> tuple[Counts, Counts, Counts]:
    """Hits, rows wrongly named, and rows missed."""
    has = _SIDES[side]
    named = counts[..., :_FINE][..., has].sum(axis=-1)
    total = counts.sum(axis=-1)
    hits = named[..., has].sum(axis=-1)
    return hits, named[..., ~has].sum(axis=-1), total[..., has].sum(axis=-1) - hits


def _side_shares(hits: Counts, wrongly: Counts, missed: Counts) -> dict[str, tuple[Counts, Counts]]:
    return {
        "precision": (hits, hits + wrongly),
        "recall": (hits, hits + missed),
        "f1": (hits, hits + wrongly + missed),
    }


def shares(fine: Counts | None, rough: Counts) -> dict[str, dict[str, tuple[Counts, Counts]]]:
    """The figures that are shares, as right and all rows; F1 as the share of which it is a function, 2s / (1 + s).

    *Shape:* (..., 4, 5) and (..., 2, 3) → (...) each.
    """
    flagged = rough[..., 1] + rough[..., 2]
    right = rough[..., 0, 0] + flagged[..., 1]
    found = {
        "rough": {
            "accuracy": (right, rough.sum(axis=(-2, -1))),
            **_side_shares(flagged[..., 1], flagged[..., 0], rough[..., 1, 0]),
        }
    }
    if fine is not None:
        hits = np.diagonal(fine[..., :_FINE], axis1=-2, axis2=-1).sum(axis=-1)
        found["fine"] = {"accuracy": (hits, fine.sum(axis=(-2, -1)))}
        for side in _SIDES:
            found[side] = _side_shares(*_side_counts(fine, side))
    return found


def measure(fine: Counts | None, rough: Counts) -> dict[str, dict[str, Values]]:
    """All figures of a stack of counts, by their names in the JSON; without FINE gold, only those of ROUGH.

    *Shape:* (..., 4, 5) and (..., 2, 3) → (...) each.
    """
    figures = {"rough": rough_figures(rough)}
    if fine is not None:
        figures["fine"] = fine_figures(fine)
        for side in _SIDES:
            figures[side] = side_figures(fine, side)
    return figures


def collapse(fine: Counts) -> Counts:
    """From FINE counts to ROUGH counts. *Shape:* (..., 4, 5) → (..., 2, 3)."""
    rows = np.stack([fine[..., 0, :], fine[..., 1:, :].sum(axis=-2)], axis=-2)
    return np.stack([rows[..., 0], rows[..., 1:_FINE].sum(axis=-1), rows[..., _FINE]], axis=-1)


def confusion_table(counts: Counts) -> dict[str, dict[str, int]]:
    """One matrix as a dictionary: gold label → predicted label (or ``error``) → number of rows."""
    names = FINE if len(counts) == _FINE else ROUGH
    return {
        gold: dict(zip((*names, ERROR), line, strict=True)) for gold, line in zip(names, counts.tolist(), strict=True)
    }


def strawmen(fine: Counts | None, rough: Counts) -> dict[str, Blocks]:
    """The figures of two trivial predictions on the same gold: always OK; every omission right, no hallucination found.

    *Shape:* (4, 5) and (2, 3).
    """
    always = np.zeros_like(rough)
    always[:, 0] = rough.sum(axis=-1)
    made: dict[str, tuple[Counts | None, Counts]] = {"always OK": (None, always)}
    if fine is not None:
        total = fine.sum(axis=-1)
        lazy, half = np.zeros_like(fine), np.zeros_like(fine)
        lazy[:, 0] = total
        for gold, omission in enumerate(_SIDES["omission"].tolist()):
            half[gold, int(omission)] = total[gold]
        made = {"always OK": (lazy, collapse(lazy)), "omissions perfect, no hallucination": (half, collapse(half))}
    return {name: blocks(*both) for name, both in made.items()}


def blocks(fine: Counts | None, rough: Counts) -> Blocks:
    """The figures of one matrix of each kind for a report, NaN as ``None``; without FINE gold, only those of ROUGH.

    *Shape:* (4, 5) and (2, 3).
    """
    of_rough = _plain(rough_figures(rough))
    result = Blocks(rough=RoughBlock(n=int(rough.sum()), accuracy=of_rough["accuracy"],
                                     precision=of_rough["precision"], recall=of_rough["recall"],
                                     f1=of_rough["f1"]))  # fmt: skip
    if fine is not None:
        of_fine = _plain(fine_figures(fine))
        result["fine"] = FineBlock(n=int(fine.sum()), accuracy=of_fine["accuracy"], macro_f1=of_fine["macro_f1"])
        result["omission"] = _side_block(fine, "omission")
        result["hallucination"] = _side_block(fine, "hallucination")
    return result


def _side_block(fine: Counts, side: str) -> SideBlock:
    found = _plain(side_figures(fine, side))
    return SideBlock(n=int(fine.sum()), precision=found["precision"], recall=found["recall"], f1=found["f1"])


def _plain(figures: dict[str, Values]) -> dict[str, float | None]:
    return {name: None if np.isnan(value) else float(value) for name, value in figures.items()}


def _side(hits: Counts, wrongly: Counts, missed: Counts) -> dict[str, Values]:
    return {
        "precision": ratio(hits, hits + wrongly),
        "recall": ratio(hits, hits + missed),
        "f1": ratio(2 * hits, 2 * hits + wrongly + missed),
    }


def ratio(part: Any, whole: Any) -> Values:
    """One over the other, NaN without a denominator. *Shape:* (...) each."""
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)
