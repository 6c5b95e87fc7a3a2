"""Several annotators marked spans and gave each a category: their majority vote, and their agreement.

C. Thomson and E. Reiter, *A Gold Standard Methodology for Evaluating Accuracy in Data-To-Text Systems*, INLG 2020: a
span is an error if most annotators mark it; its category is the one that most annotators give it, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.errors import InputError
from scorer.evaluation.bootstrap import RESAMPLES, Indices, drawn_interval
from scorer.evaluation.figures import Values, ratio

NO_ERROR, NO_TYPE, NO_MAJORITY = "no_error", "no_type", "no_majority"
"""Label of an annotator who did not mark the span; of one who marked it without a category; category of a marked span
for which no category has a majority."""

PUBLISHED_KAPPA = 0.79


@dataclass(frozen=True)
class Votes:
    """The labels that annotators gave. ``items``: identifiers, in order of appearance. ``labels``: all labels that
    occur, sorted. ``counts``: int64, *Shape:* (items, labels), number of annotators who gave the item the label."""

    items: list[str]
    labels: list[str]
    counts: npt.NDArray[np.int64]

    @property
    def annotators(self) -> npt.NDArray[np.int64]:
        """Number of annotators of each item. int64, *Shape:* (items,)."""
        return np.asarray(self.counts.sum(axis=1))

    def count(self, label: str) -> npt.NDArray[np.int64]:
        """Number of annotators who gave each item this label. int64, *Shape:* (items,)."""
        if label not in self.labels:
            return np.zeros(len(self.items), np.int64)
        return self.counts[:, self.labels.index(label)]


def collect(items: Iterable[str], labels: Iterable[str]) -> Votes:
    """Count the labels of each item. ``items`` and ``labels`` have one entry for each item and annotator."""
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
    """The category of each item: ``None`` if at most half of its annotators marked it (no error), and
    :data:`NO_MAJORITY` if it is an error but no category has more than half of the votes."""
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
        counts: int64, *Shape:* (items, labels), number of raters who gave the item the label.

    Returns: κ, at most 1; ``None`` if there are no items, fewer than two raters, or only one label.

    Raises:
        InputError: items have different numbers of raters.
    """
    if not len(counts):
        return None
    raters = counts.sum(axis=1)
    n = int(raters[0])
    if (raters != n).any():
        raise InputError(
            "Fleiss' kappa needs the same number of annotators for each item; the items have "
            f"{', '.join(map(str, sorted(set(raters.tolist()))))} annotators; complete the annotations"
        )
    if n < 2:
        return None
    found = float(_kappa(np.ones((1, len(counts)), np.int64), counts, n)[0])
    return None if np.isnan(found) else found


def _kappa(weights: Indices, counts: Indices, raters: int) -> Values:
    """κ of samples of items. *Shape:* (samples, items), (items, labels) → (samples,); NaN with one label alone."""
    agreed = ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))
    items = weights.sum(axis=1)
    chance = ((weights @ counts / (items * raters)[:, None]) ** 2).sum(axis=1)
    return ratio(weights @ agreed / items - chance, 1 - chance)


def _line(counts: Indices, texts: Indices, resamples: int) -> dict[str, Any]:
    """κ with its interval over texts. ``texts``: the text of each item, *Shape:* (items,)."""
    kappa = fleiss_kappa(counts)
    ends = None
    if kappa is not None:
        raters, codes = int(counts[0].sum()), np.unique(texts, return_inverse=True)[1]
        ends = drawn_interval(
            lambda weights: _kappa(weights[:, codes], counts, raters), int(codes.max()) + 1, resamples
        )
    return {"kappa": kappa, "n": len(counts), "interval": ends}


def agreement(votes: Votes, texts: Sequence[str] | None = None, resamples: int = RESAMPLES) -> dict[str, Any]:
    """Fleiss' κ over the items to which every annotator gave a category, and over all items, where "not marked" is a
    label too.

    ``texts``: the text of each item, for the intervals; by default every item is one of its own.
    """
    typed = (votes.count(NO_ERROR) == 0) & (votes.count(NO_TYPE) == 0)
    names = np.arange(len(votes.items)) if texts is None else np.unique(list(texts), return_inverse=True)[1]
    return {
        "annotators": int(votes.annotators.max(initial=0)),
        "fleiss_kappa": {
            "typed_by_all": _line(votes.counts[typed], names[typed], resamples),
            "all_items": _line(votes.counts, names, resamples),
            "published": PUBLISHED_KAPPA,
        },
    }
