"""Several annotators marked spans and gave each a category: their majority vote, and their agreement.

C. Thomson and E. Reiter, *A Gold Standard Methodology for Evaluating Accuracy in Data-To-Text Systems*, INLG 2020: a
span is an error if most annotators mark it; its category is the one that most annotators give it, if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.errors import InputError
from scorer.evaluation.label_figures import Indices, ratio

NO_ERROR, NO_TYPE, NO_MAJORITY = "no_error", "no_type", "no_majority"
"""Of an annotator who did not mark a span; who marked it without a category; of a marked span without a majority."""


@dataclass(frozen=True)
class Votes:
    """The labels that annotators gave. ``counts``: int64, *Shape:* (items, labels), number of annotators who gave the
    item the label."""

    items: list[str]
    labels: list[str]
    counts: npt.NDArray[np.int64]

    @classmethod
    def collect(cls, items: Sequence[str], labels: Sequence[str]) -> Votes:
        """Count the labels of each item. ``items`` and ``labels`` have one entry for each item and annotator."""
        (rows, row), (columns, column) = (np.unique(given, return_inverse=True) for given in (items, labels))
        counts = np.zeros((len(rows), len(columns)), np.int64)
        np.add.at(counts, (row, column), 1)
        return cls(rows.tolist(), columns.tolist(), counts)

    def count(self, label: str) -> npt.NDArray[np.int64]:
        """Annotators who gave each item this label. int64, *Shape:* (items,)."""
        if label not in self.labels:
            return np.zeros(len(self.items), np.int64)
        return self.counts[:, self.labels.index(label)]


def majority(votes: Votes) -> list[str | None]:
    """The category of each item that more than half of its annotators marked; ``None`` of others: no errors."""
    result: list[str | None] = []
    for given, unmarked in zip(votes.counts.tolist(), votes.count(NO_ERROR).tolist(), strict=True):
        half = sum(given) / 2
        most = [label for label, n in zip(votes.labels, given, strict=True) if n > half]
        category = next((label for label in most if label not in (NO_ERROR, NO_TYPE)), NO_MAJORITY)
        result.append(category if unmarked < half else None)
    return result


def fleiss_kappa(counts: Indices) -> float:
    """Fleiss' κ (Psychological Bulletin 76, 1971) of counts, *Shape:* (items, labels); NaN with one label alone, an
    InputError unless all items have the same number of raters, two or more."""
    raters = np.unique(counts.sum(axis=1))
    if len(raters) > 1 or not (raters > 1).all():
        raise InputError(f"Fleiss' kappa needs two annotators or more, as many for each item; found {raters.tolist()}")
    agreed = ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))
    chance = ((counts.sum(axis=0) / counts.sum()) ** 2).sum()
    return float(ratio(agreed.mean() - chance, 1 - chance))


def agreement(votes: Votes) -> dict[str, Any]:
    """Fleiss' κ over the items to which every annotator gave a category, and over all, "not marked" being a label."""
    typed = (votes.count(NO_ERROR) == 0) & (votes.count(NO_TYPE) == 0)
    kappas = {}
    for name, counts in (("typed_by_all", votes.counts[typed]), ("all_items", votes.counts)):
        kappa = fleiss_kappa(counts) if len(counts) else np.nan
        kappas[name] = {"kappa": None if np.isnan(kappa) else kappa, "n": len(counts)}
    return {"annotators": int(votes.counts.sum(axis=1).max(initial=0)), "fleiss_kappa": kappas}
