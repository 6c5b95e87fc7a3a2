"""Predicted labels compared with gold labels, on any part of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..metric.verdict import FINE, ROUGH
from .bootstrap import Indices, by_input, figure_intervals, nested
from .figures import blocks, confusion, confusion_table, strawmen
from .label_report import Blocks, Farthest, FineBlock, RoughBlock, ShareLine, SideBlock

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int8]

Block = Literal["rough", "fine", "omission", "hallucination"]

BLOCKS: dict[Block, tuple[str, ...]] = {
    "rough": ("accuracy", "precision", "recall", "f1"),
    "fine": ("accuracy", "macro_f1"),
    "omission": ("precision", "recall", "f1"),
    "hallucination": ("precision", "recall", "f1"),
}


def no_figures() -> Blocks:
    """The same blocks without figures, for data without gold labels, so that the JSON always has the same keys."""
    return Blocks(
        rough=RoughBlock(n=0, accuracy=None, precision=None, recall=None, f1=None, confusion=None),
        fine=_no_fine(),
        omission=_no_side(),
        hallucination=_no_side(),
        inputs=0,
    )


def _no_fine() -> FineBlock:
    return FineBlock(n=0, accuracy=None, macro_f1=None, confusion=None)


def _no_side() -> SideBlock:
    return SideBlock(n=0, precision=None, recall=None, f1=None)


def farthest(shares: list[ShareLine]) -> Farthest | None:
    """The group whose share of OK differs most from the gold's."""
    found = [Farthest(value=line["value"], difference=line["predicted"]["OK"] - line["gold"]["OK"]) for line in shares]
    return max(found, key=lambda line: abs(line["difference"]), default=None)


@dataclass(frozen=True)
class Labels:
    """Gold and predicted labels of all rows, int8, *Shape:* (rows,) each.

    ``fine``, ``rough``: predictions, -1 for an error. ``gold_fine``, ``gold_rough``: -1 for a row without gold;
    ``gold_fine`` is ``None`` if the gold has only ROUGH labels. ``inputs``: int64, the input of each row.
    """

    fine: Codes | None
    rough: Codes
    gold_fine: Codes | None
    gold_rough: Codes
    inputs: Indices

    def figures(self, where: Mask | None = None, *, resamples: int = 0) -> Blocks:
        """The blocks of :data:`BLOCKS` over the rows of ``where`` (bool, *Shape:* (rows,)), each with ``n`` and, with
        ``resamples``, ``interval``. Those of FINE labels have no figures if the gold has only ROUGH labels."""
        judged = self.gold_rough >= 0 if where is None else (self.gold_rough >= 0) & where
        codes, n_inputs = by_input(self.inputs, judged)
        rough_by_input = self._count(self.gold_rough, self.rough, len(ROUGH), judged, codes, n_inputs)
        fine_by_input = None
        if self.gold_fine is not None and self.fine is not None:
            fine_by_input = self._count(self.gold_fine, self.fine, len(FINE), judged, codes, n_inputs)
        rough = rough_by_input.sum(axis=0)
        fine = fine_by_input.sum(axis=0) if fine_by_input is not None else None
        result = blocks(fine, rough)
        if fine is None:
            result["fine"], result["omission"], result["hallucination"] = _no_fine(), _no_side(), _no_side()
        if resamples:
            intervals = figure_intervals(fine_by_input, rough_by_input, resamples)
            for block in BLOCKS:
                result[block]["interval"] = nested(intervals, block)
        result["rough"]["confusion"] = confusion_table(rough)
        result["fine"]["confusion"] = confusion_table(fine) if fine is not None else None
        result["inputs"] = n_inputs
        return result

    def strawmen(self) -> dict[str, Blocks]:
        """The figures of trivial predictions on the same rows."""
        fine = None
        if self.gold_fine is not None:
            fine = confusion(self.gold_fine, np.zeros_like(self.gold_fine), len(FINE))
        return strawmen(fine, confusion(self.gold_rough, np.zeros_like(self.gold_rough), len(ROUGH)))

    def replaced(self, where: Mask, fine: str) -> Labels:
        """The same with one FINE label predicted on some rows."""
        code = np.int8(FINE.index(fine))
        changed = np.where(where, code, self.fine).astype(np.int8) if self.fine is not None else None
        rough = np.where(where, np.minimum(code, 1), self.rough).astype(np.int8)
        return Labels(changed, rough, self.gold_fine, self.gold_rough, self.inputs)

    def correct(self) -> dict[str, tuple[Mask, Mask]]:
        """For each label set, masks of the rows with gold and of the rows whose label is right. *Shape:* (rows,) each.
        A row with an error is never right for FINE."""
        flagged = np.where(self.rough < 0, 1, self.rough)
        found = {"rough": (self.gold_rough >= 0, flagged == self.gold_rough)}
        if self.gold_fine is not None and self.fine is not None:
            found["fine"] = (self.gold_fine >= 0, self.fine == self.gold_fine)
        return found

    def shares(self, groups: Indices, names: list[Any], where: Mask | None = None) -> list[ShareLine]:
        """For each group, the share of each label in the predictions and in the gold, over rows with gold.

        Args:
            groups: int64, *Shape:* (rows,), position in ``names``, -1 for none. where: bool, *Shape:* (rows,).
        """
        gold, predicted = self.gold_fine, self.fine
        labels: tuple[str, ...] = FINE
        if gold is None or predicted is None:
            gold, predicted, labels = self.gold_rough, self.rough, ROUGH
        if where is not None:
            gold = np.where(where, gold, -1).astype(np.int8)
        counts = confusion(gold, predicted, len(labels), groups, len(names))
        lines = []
        for name, matrix in zip(names, counts, strict=True):
            n = int(matrix.sum())
            if not n:
                continue
            told = dict(zip((*labels, "error"), (matrix.sum(axis=0) / n).tolist(), strict=True))
            truth = dict(zip(labels, (matrix.sum(axis=1) / n).tolist(), strict=True))
            lines.append(ShareLine(value=name, n=n, predicted=told, gold=truth))
        return lines

    @staticmethod
    def _count(
        gold: Codes, predicted: Codes, labels: int, judged: Mask, codes: Indices, n_inputs: int
    ) -> npt.NDArray[np.int64]:
        return confusion(np.where(judged, gold, -1).astype(np.int8), predicted, labels, codes, n_inputs)
