"""Predicted labels compared with gold labels, on any part of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..metric.verdict import FINE, ROUGH
from .bootstrap import Indices
from .figures import blocks, confusion, confusion_table, intervals, trivial
from .label_report import Blocks

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int8]


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
        """The blocks over the rows of ``where`` (bool, *Shape:* (rows,)), each with ``n`` and, with ``resamples``,
        ``interval``. Those of FINE labels have no figures if the gold has only ROUGH labels."""
        judged = self.gold_rough >= 0 if where is None else (self.gold_rough >= 0) & where
        inputs, codes = np.unique(self.inputs[judged], return_inverse=True)
        rough_by_input = confusion(self.gold_rough[judged], self.rough[judged], len(ROUGH), codes, len(inputs))
        gold, predicted = self._fine()
        fine_by_input = confusion(gold[judged], predicted[judged], len(FINE), codes, len(inputs))
        rough, fine = rough_by_input.sum(axis=0), fine_by_input.sum(axis=0)
        result = blocks(fine, rough)
        if resamples and len(inputs):
            found = intervals(fine_by_input, rough_by_input, resamples)
            result["rough"]["interval"], result["fine"]["interval"] = found["rough"], found["fine"]
            result["omission"]["interval"] = found["omission"]
            result["hallucination"]["interval"] = found["hallucination"]
        result["rough"]["confusion"] = confusion_table(rough) if rough.any() else None
        result["fine"]["confusion"] = confusion_table(fine) if fine.any() else None
        result["inputs"] = len(inputs)
        return result

    def trivial(self) -> dict[str, Blocks]:
        """The figures of trivial predictions on the same rows."""
        gold = self._fine()[0]
        return trivial(
            confusion(gold, np.zeros_like(gold), len(FINE)),
            confusion(self.gold_rough, np.zeros_like(self.gold_rough), len(ROUGH)),
        )

    def _fine(self) -> tuple[Codes, Codes]:
        """Gold and predicted FINE labels; no gold where one of them is missing. *Shape:* (rows,) each."""
        if self.gold_fine is None or self.fine is None:
            return np.full_like(self.rough, -1), np.full_like(self.rough, -1)
        return self.gold_fine, self.fine
