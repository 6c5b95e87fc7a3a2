"""Annotators who marked and typed the same spans: joined by majority, and how far they agree.

C. Thomson and E. Reiter, *A Gold Standard Methodology for Evaluating Accuracy in Data-To-Text Systems*, INLG 2020: a
span is an error when most annotators mark it, and of the category that most annotators give it, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError

NO_ERROR, NO_TYPE, NO_MAJORITY = "no_error", "no_type", "no_majority"
"""Labels of an annotator who did not mark the span, and of one who did but gave it no category; and what a marked span
is whose category has no majority."""

PUBLISHED_KAPPA = 0.79


@dataclass(frozen=True)
class Votes:
    """What annotators said. ``items``: identifiers, in order of appearance. ``labels``: all that occur, sorted.
    ``counts``: int64, *Shape:* (items, labels), annotators who gave an item a label."""

    items: list[str]
    labels: list[str]
    counts: npt.NDArray[np.int64]

    @property
    def annotators(self) -> npt.NDArray[np.int64]:
        """Annotators of each item. *Shape:* (items,)."""
        return np.asarray(self.counts.sum(axis=1))

    def count(self, label: str) -> npt.NDArray[np.int64]:
        """Annotators who gave each item this label. *Shape:* (items,)."""
        if label not in self.labels:
            return np.zeros(len(self.items), np.int64)
        return self.counts[:, self.labels.index(label)]


def collect(items: Iterable[str], labels: Iterable[str]) -> Votes:
    """Votes of one (item, label) an annotator."""
    item_numbers: dict[str, int] = {}
    pairs = [
        (item_numbers.setdefault(item, len(item_numbers)), label) for item, label in zip(items, labels, strict=True)
    ]
    names = sorted({label for _, label in pairs})
    counts = np.zeros((len(item_numbers), len(names)), np.int64)
    for item, label in pairs:
        counts[item, names.index(label)] += 1
    return Votes(list(item_numbers), names, counts)


def majority(votes: Votes) -> list[str | None]:
    """The category of each item that more than half of its annotators marked, :data:`NO_MAJORITY` where no more than
    half agree on one; ``None`` for items that are no errors."""
    annotators = votes.annotators
    marked = 2 * (annotators - votes.count(NO_ERROR)) > annotators
    categories = [label for label in votes.labels if label not in (NO_ERROR, NO_TYPE)]
    result: list[str | None] = []
    for item in range(len(votes.items)):
        given = votes.counts[item]
        most = [label for label in categories if 2 * given[votes.labels.index(label)] > annotators[item]]
        result.append((most[0] if most else NO_MAJORITY) if marked[item] else None)
    return result


def fleiss_kappa(counts: npt.NDArray[np.int64]) -> float | None:
    """Fleiss' κ: J. L. Fleiss, *Measuring nominal scale agreement among many raters*, Psychological Bulletin 76 (1971).

    Args:
        counts: int64, *Shape:* (items, labels), raters who gave an item a label.

    Returns: ``None`` without items, with fewer than two raters, or where one label is all there is.

    Raises:
        InputError: items have different numbers of raters.
    """
    if not len(counts):
        return None
    raters = counts.sum(axis=1)
    n = int(raters[0])
    if (raters != n).any():
        raise InputError(
            f"Fleiss' kappa needs as many annotators for each item; there are {sorted(set(raters.tolist()))}"
        )
    if n < 2:
        return None
    agreement = ((counts**2).sum(axis=1) - n) / (n * (n - 1))
    shares = counts.sum(axis=0) / counts.sum()
    chance = float((shares**2).sum())
    return float((agreement.mean() - chance) / (1 - chance)) if chance < 1 else None


def agreement(votes: Votes) -> dict[str, Any]:
    """Fleiss' κ over the items that every annotator typed, and over all, where not marking is a label too."""
    typed = (votes.count(NO_ERROR) == 0) & (votes.count(NO_TYPE) == 0)
    return {
        "annotators": int(votes.annotators.max(initial=0)),
        "fleiss_kappa": {
            "typed_by_all": {"kappa": fleiss_kappa(votes.counts[typed]), "n": int(typed.sum())},
            "all_items": {"kappa": fleiss_kappa(votes.counts), "n": len(votes.items)},
            "published": PUBLISHED_KAPPA,
        },
    }
