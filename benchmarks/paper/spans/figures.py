"""Flags and gold errors counted by text; every figure is a ratio of sums of these counts.

A flag matches an error if they have a character in common. Recall is over errors, precision over flags.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.paper.spans.gold import Flags, Gold, Ints, Spans
from scorer.evaluation.label_figures import Floats, Indices, drawn_interval, ratio
from scorer.stats.design_effect import share_interval

CATEGORIES = (
    "incorrect", "contradictory", "misleading", "number", "name", "word", "context", "not_checkable", "incoherent",
    "repetitive", "other", "no_majority",
)  # fmt: skip
NOT_CHECKABLE = "not_checkable"
Figures = dict[str, Any]


def overlaps(spans: Spans, others: Spans) -> Ints:
    """For each span, the number of ``others`` that it shares a character with. int64, *Shape:* (spans,).

    Takes O(n log n) time: starts and ends are sorted. An empty span counts as the one character after it.
    """
    numbers: dict[str, int] = {}
    one, other = (np.array([numbers.setdefault(t, len(numbers)) for t in s.texts], np.int64) for s in (spans, others))
    stride = max(int(spans.ends.max(initial=0)), int(others.ends.max(initial=0))) + 2

    def bounds(owner: Ints, which: Spans) -> tuple[Ints, Ints]:
        return owner * stride + which.starts, owner * stride + np.maximum(which.ends, which.starts + 1)

    starts, ends = bounds(one, spans)
    other_starts, other_ends = (np.sort(bound) for bound in bounds(other, others))
    # The others that begin before this span ends, minus those that end before it begins.
    return np.searchsorted(other_starts, ends, side="left") - np.searchsorted(other_ends, starts, side="right")


class SpanCounts:
    """Counts of each text. ``columns``: by name, int64, *Shape:* (texts,).

    Args:
        flags: one way of flagging; its spans that are not flagged are not looked at.
        sentences: all sentences of the texts, where known.
        clusters: by text, what its input is; texts of one input are drawn together. ``None``: each is its own.
    """

    def __init__(
        self, flags: Flags, gold: Gold, texts: list[str], sentences: Spans | None, clusters: dict[str, str] | None
    ) -> None:
        self.texts, self.has_sentences = texts, sentences is not None
        names = texts if clusters is None else [clusters[text] for text in texts]
        self._inputs = np.unique(np.array(names, object), return_inverse=True)[1]
        number = {text: i for i, text in enumerate(texts)}
        units, unit_owner, unit_chosen = _within(flags.units, number)
        errors, error_owner, error_chosen = _within(gold.errors, number)
        flagged = flags.flagged[unit_chosen]
        given = _part(units, flagged)
        category = np.array(gold.categories, object)[error_chosen]
        checkable = category != NOT_CHECKABLE
        found = overlaps(errors, given) > 0
        right, right_checkable = overlaps(given, errors) > 0, overlaps(given, _part(errors, checkable)) > 0
        # Without the errors that cannot be checked, a flag that has only such errors counts neither as right nor as
        # wrong.
        kept = right_checkable | ~right

        def by_text(owner: Ints, mask: npt.NDArray[np.bool_] | None = None) -> Ints:
            return np.bincount(owner if mask is None else owner[mask], minlength=len(texts)).astype(np.int64)

        given_owner = unit_owner[flagged]
        self.names = [name for name in CATEGORIES if (category == name).any()]
        self.names += sorted(set(category.tolist()) - set(CATEGORIES))
        self.columns = {
            "errors": by_text(error_owner),
            "found": by_text(error_owner, found),
            "errors:checkable": by_text(error_owner, checkable),
            "found:checkable": by_text(error_owner, found & checkable),
            "flags": by_text(given_owner),
            "right": by_text(given_owner, right),
            "flags:checkable": by_text(given_owner, kept),
            "right:checkable": by_text(given_owner, right_checkable),
        }
        for name in self.names:
            self.columns[f"errors:{name}"] = by_text(error_owner, category == name)
            self.columns[f"found:{name}"] = by_text(error_owner, found & (category == name))
        has_error, has_flag = self.columns["errors"] > 0, self.columns["flags"] > 0
        self._agreeing("text", np.arange(len(texts)), has_error, has_flag)
        if sentences is not None:
            there, owner, _ = _within(sentences, number)
            self._agreeing("sentence", owner, overlaps(there, errors) > 0, overlaps(there, given) > 0)

    def _agreeing(self, unit: str, owner: Ints, wrong: npt.NDArray[np.bool_], flagged: npt.NDArray[np.bool_]) -> None:
        every = np.ones(len(owner), bool)
        for name, mask in (("all", every), ("wrong", wrong), ("flagged", flagged), ("right", wrong & flagged)):
            self.columns[f"{unit}:{name}"] = np.bincount(owner[mask], minlength=len(self.texts)).astype(np.int64)

    def figures(self, resamples: int) -> Figures:
        """Of all texts. ``resamples``: number of bootstrap samples; 0 for no intervals."""
        return {
            "all": self.spans(resamples),
            "without_not_checkable": self.spans(resamples, ":checkable"),
            "categories": {name: self._category(name, resamples) for name in self.names},
            "units": self.units("sentence", resamples) if self.has_sentences else None,
        }

    def spans(self, resamples: int, which: str = "") -> Figures:
        """Flags against errors. ``which``: ``:checkable`` leaves out the errors that cannot be checked."""
        names = [f"{name}{which}" for name in ("right", "flags", "found", "errors")]
        return {"errors": self._sum(names[3]), "found": self._sum(names[2]), **self._shares(names, resamples)}

    def units(self, unit: str, resamples: int) -> Figures:
        """Flagged sentences (or texts) against those with an error. ``unit``: ``sentence`` or ``text``."""
        names = [f"{unit}:{name}" for name in ("right", "flagged", "right", "wrong")]
        every, wrong = self._sum(f"{unit}:all"), self._sum(names[3])
        return {"units": every, "with_error": wrong, **self._shares(names, resamples)}

    def _category(self, name: str, resamples: int) -> Figures:
        errors, found = self._sum(f"errors:{name}"), self._sum(f"found:{name}")
        line: Figures = {"n": errors, "found": found, "recall": _plain(ratio(found, errors))}
        if resamples:
            line["interval"] = self._interval(f"found:{name}", f"errors:{name}", resamples)
        return line

    def _shares(self, names: list[str], resamples: int) -> Figures:
        """Precision (first of ``names`` over second), recall (third over fourth), F1, and their intervals."""
        right, flags, found, errors = (self._by_input(name) for name in names)

        def f1(times: Indices) -> Floats:
            precision, recall = ratio(times @ right, times @ flags), ratio(times @ found, times @ errors)
            return ratio(2 * precision * recall, precision + recall)

        return {
            "flags": int(flags.sum()),
            "right": int(right.sum()),
            "precision": _plain(ratio(right.sum(), flags.sum())),
            "recall": _plain(ratio(found.sum(), errors.sum())),
            "f1": _plain(f1(np.ones((1, len(right)), np.int64))[0]),
            "interval": {
                "precision": self._interval(names[0], names[1], resamples),
                "recall": self._interval(names[2], names[3], resamples),
                "f1": drawn_interval(f1, len(right), resamples),
            },
        }

    def _interval(self, part: str, whole: str, resamples: int) -> list[float] | None:
        return share_interval(self._by_input(part), self._by_input(whole)) if resamples else None

    def _by_input(self, name: str) -> Indices:
        """Counts of each input. Texts or inputs are drawn, not sentences, since what belongs to one of them is not
        independent. *Shape:* (inputs,)."""
        return np.bincount(self._inputs, self.columns[name]).astype(np.int64)

    def _sum(self, name: str) -> int:
        return int(self.columns[name].sum())


def _within(spans: Spans, number: dict[str, int]) -> tuple[Spans, Ints, Ints]:
    """The spans of the evaluated texts, the number of the text of each, and their positions among all spans."""
    chosen = np.array([i for i, text in enumerate(spans.texts) if text in number], np.int64)
    kept = _part(spans, chosen)
    return kept, np.array([number[text] for text in kept.texts], np.int64), chosen


def _part(spans: Spans, chosen: npt.NDArray[Any]) -> Spans:
    positions = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    return Spans([spans.texts[i] for i in positions.tolist()], spans.starts[positions], spans.ends[positions])


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
