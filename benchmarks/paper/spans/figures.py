"""Flagged spans compared with gold error spans: recall of each category of errors, and precision of the flags.

A flag matches an error if they have a character in common. Recall is over errors, precision over flags, since a metric
does not name the category of an error. Flags and errors are counted by text, and every figure is a ratio of sums of
these counts. Rivals are other ways of flagging the same texts: every sentence, other annotators, the spans of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.paper.spans.agreement import agreement, majority
from benchmarks.paper.spans.files import Gold, Ints, Spans, read_annotators, read_flags, read_votes
from scorer.errors import InputError
from scorer.evaluation.label_figures import RESAMPLES, Floats, Indices, bootstrap_interval, ratio
from scorer.stats.intervals import share_interval

CATEGORIES = (
    "incorrect", "contradictory", "misleading", "number", "name", "word", "context", "not_checkable", "incoherent",
    "repetitive", "other", "no_majority",
)  # fmt: skip
LEVELS = {"sentences": "sentence", "by_text": "text"}
Figures = dict[str, Any]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SpanOptions:
    """``below``: flag sentences whose P(entailment) is below it. ``annotations``: file with each annotator's labels.

    ``by``: columns of the gold to group texts by. ``inputs``: column of the gold that names the input of a text; texts
    of one input are drawn together. ``None``: each text is its own. ``rivals``: file of other metrics' spans, in the
    form of the gold, with a column ``annotator`` that names each.
    """

    gold: Path
    below: float = 0.5
    annotations: Path | None = None
    resamples: int = RESAMPLES
    by: tuple[str, ...] = ()
    inputs: str | None = None
    rivals: Path | None = None


def evaluate_spans(path: Path, options: SpanOptions, note: Callable[[str], None] = lambda message: None) -> Figures:
    """Evaluate flagged sentences. Shares are from 0 to 1, ``None`` without a denominator; intervals are 95 %
    over texts.

    Args:
        note: called with each remark for the reader of the figures.

    Raises:
        ScorerError: nothing to read, columns missing, or no text that is in both files.
    """
    flags, annotators = read_flags(path, options.below), read_annotators(options.gold)
    gold = next(iter(annotators.values()))
    clusters = gold.column(options.inputs) if options.inputs is not None else None
    texts = sorted(gold.mentioned.intersection(flags.known))
    if not texts:
        raise InputError(f"{path} and {options.gold} have no text_id in common; use the same ids in both files")
    not_in_gold = len(flags.known) - len(texts)
    for left, reason in (
        (not_in_gold, "texts: the gold does not mention them, not even as texts without errors"),
        (flags.unjudged, "texts: they have no sentences, because their rows have errors"),
        (gold.unlocated, "errors: they have no offsets"),
    ):
        if left:
            note(f"left out: {left} {reason}")
    systems = {**gold.columns.get("system", {}), **flags.systems}
    groups = {"system": {text: systems.get(text, "(unknown)") for text in texts}} if systems else {}
    groups |= {name: gold.column(name) for name in options.by}
    flagged = flags.sentences.take(flags.flagged)

    def count(spans: Spans, chosen: list[str]) -> SpanCounts:
        return SpanCounts(spans, gold, chosen, flags.sentences, clusters)

    def group(value: str, chosen: list[str]) -> Figures:
        return {"value": value, "texts": len(chosen), **count(flagged, chosen).figures(options.resamples)}

    def rival(name: str, kind: str, spans: Spans, known: Iterable[str]) -> Figures:
        chosen = sorted(set(texts).intersection(known))
        counts = count(spans, chosen)
        units = {level: counts.units(unit, options.resamples) for level, unit in LEVELS.items()}
        return {"name": name, "kind": kind, "texts": len(chosen), "spans": counts.spans(options.resamples), **units}

    rivals = [
        rival("this output", "output", flagged, texts),
        rival("every sentence", "everything", flags.sentences, texts),
    ]
    others = [(f"annotator {name}", "annotator", one) for name, one in list(annotators.items())[1:]]
    if options.rivals is not None:
        others += [(name, "rival", one) for name, one in read_annotators(options.rivals).items()]
    rivals += [rival(name, kind, one.errors, one.mentioned) for name, kind, one in others]
    return {
        "path": str(path),
        "gold": str(options.gold),
        "signature": flags.signature,
        "texts": len(texts),
        "not_in_gold": not_in_gold,
        "unjudged": flags.unjudged,
        "unlocated": gold.unlocated,
        **count(flagged, texts).figures(options.resamples),
        "by": {
            name: [
                group(value, [text for text in texts if values[text] == value])
                for value in sorted({values[text] for text in texts})
            ]
            for name, values in groups.items()
        },
        "rivals": rivals,
        "agreement": None if options.annotations is None else _agreement(options.annotations),
    }


def _agreement(path: Path) -> Figures:
    votes = read_votes(path)
    joined = majority(votes)
    categories = {name: joined.count(name) for name in CATEGORIES if name in joined}
    found = {"items": len(joined), "errors": len(joined) - joined.count(None), "categories": categories}
    return {**agreement(votes), "majority": found}


def overlaps(spans: Spans, others: Spans) -> Ints:
    """For each span, the number of ``others`` that it shares a character with. int64, *Shape:* (spans,).

    Takes O(n log n) time: starts and ends are sorted. An empty span counts as the one character after it.
    """
    numbers: dict[str, int] = {}
    stride = max(int(spans.ends.max(initial=0)), int(others.ends.max(initial=0))) + 2

    def bounds(which: Spans) -> tuple[Ints, Ints]:
        owner = np.array([numbers.setdefault(text, len(numbers)) for text in which.texts], np.int64) * stride
        return owner + which.starts, owner + np.maximum(which.ends, which.starts + 1)

    starts, ends = bounds(spans)
    other_starts, other_ends = (np.sort(bound) for bound in bounds(others))
    # The others that begin before this span ends, minus those that end before it begins.
    return np.searchsorted(other_starts, ends, side="left") - np.searchsorted(other_ends, starts, side="right")


class SpanCounts:
    """Counts of each input: texts or inputs are drawn, not sentences, since those of one are not independent.

    Args:
        flags: the spans of one way of flagging.
        sentences: all sentences of the texts.
        clusters: by text, the name of its input; texts of one input are drawn together. ``None``: each is its own.
    """

    def __init__(
        self, flags: Spans, gold: Gold, texts: list[str], sentences: Spans, clusters: dict[str, str] | None
    ) -> None:
        names = texts if clusters is None else [clusters[text] for text in texts]
        inputs = np.unique(np.array(names, object), return_inverse=True)[1]
        self._input, self._size = dict(zip(texts, inputs.tolist(), strict=True)), int(inputs.max(initial=-1)) + 1
        category = np.array(gold.categories, object)[self._known(gold.errors)]
        errors, flags, sentences = (spans.take(self._known(spans)) for spans in (gold.errors, flags, sentences))
        found, right = overlaps(errors, flags) > 0, overlaps(flags, errors) > 0
        self._spans = self._count(flags, right), self._count(flags), self._count(errors, found), self._count(errors)
        present = set(category.tolist())
        self._categories = {
            name: (self._count(errors, found & (category == name)), self._count(errors, category == name))
            for name in [*(name for name in CATEGORIES if name in present), *sorted(present - set(CATEGORIES))]
        }
        starts = np.zeros(len(texts), np.int64)
        wrong, flagged = (np.isin(np.array(texts, object), np.array(spans.texts, object)) for spans in (errors, flags))
        self._units = {
            "text": self._unit_counts(Spans(texts, starts, starts), wrong, flagged),
            "sentence": self._unit_counts(sentences, overlaps(sentences, errors) > 0, overlaps(sentences, flags) > 0),
        }

    def _known(self, spans: Spans) -> Mask:
        """Whether each span is of a text that is evaluated."""
        return np.array([text in self._input for text in spans.texts], bool)

    def _count(self, spans: Spans, chosen: Mask | None = None) -> Indices:
        """Spans of each input. *Shape:* (inputs,)."""
        owners = np.array([self._input[text] for text in spans.texts], np.int64)
        return np.bincount(owners if chosen is None else owners[chosen], minlength=self._size).astype(np.int64)

    def _unit_counts(self, spans: Spans, wrong: Mask, flagged: Mask) -> tuple[Indices, ...]:
        """All units, those with an error, those flagged, and those with both."""
        return tuple(self._count(spans, chosen) for chosen in (None, wrong, flagged, wrong & flagged))

    def figures(self, resamples: int) -> Figures:
        """Of all texts. ``resamples``: number of bootstrap samples; 0 for no intervals."""
        return {
            "all": self.spans(resamples),
            "categories": {
                name: {"n": int(n.sum()), "found": int(found.sum()), "recall": _plain(ratio(found.sum(), n.sum())),
                       "interval": share_interval(found, n) if resamples else None}
                for name, (found, n) in self._categories.items()
            },
            "units": self.units("sentence", resamples),
        }  # fmt: skip

    def spans(self, resamples: int) -> Figures:
        """Flags against errors."""
        _, _, found, errors = self._spans
        return {"errors": int(errors.sum()), "found": int(found.sum()), **_shares(*self._spans, resamples)}

    def units(self, unit: str, resamples: int) -> Figures:
        """Flagged sentences (or texts) against those with an error. ``unit``: ``sentence`` or ``text``."""
        every, wrong, flagged, right = self._units[unit]
        shares = _shares(right, flagged, right, wrong, resamples)
        return {"units": int(every.sum()), "with_error": int(wrong.sum()), **shares}


def _shares(right: Indices, flags: Indices, found: Indices, errors: Indices, resamples: int) -> Figures:
    """Precision (right of flags), recall (found of errors), F1, and their intervals."""

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
            "precision": share_interval(right, flags) if resamples else None,
            "recall": share_interval(found, errors) if resamples else None,
            "f1": bootstrap_interval(f1, len(right), resamples),
        },
    }


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
