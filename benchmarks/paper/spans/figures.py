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
from scorer.evaluation.label_figures import RESAMPLES, Floats, Indices, drawn_interval, ratio
from scorer.stats.intervals import share_interval

CATEGORIES = (
    "incorrect", "contradictory", "misleading", "number", "name", "word", "context", "not_checkable", "incoherent",
    "repetitive", "other", "no_majority",
)  # fmt: skip
LEVELS = {"sentences": "sentence", "by_text": "text"}
Figures = dict[str, Any]


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
        "agreement": None if options.annotations is None else _agreement(options.annotations, options.resamples),
    }


def _agreement(path: Path, resamples: int) -> Figures:
    votes, texts = read_votes(path)
    joined = majority(votes)
    categories = {name: joined.count(name) for name in CATEGORIES if name in joined}
    return {
        **agreement(votes, texts, resamples),
        "majority": {"items": len(joined), "errors": len(joined) - joined.count(None), "categories": categories},
    }


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
    """Counts of each text. ``columns``: by name, int64, *Shape:* (texts,).

    Args:
        flags: the spans of one way of flagging.
        sentences: all sentences of the texts.
        clusters: by text, the name of its input; texts of one input are drawn together. ``None``: each is its own.
    """

    def __init__(
        self, flags: Spans, gold: Gold, texts: list[str], sentences: Spans, clusters: dict[str, str] | None
    ) -> None:
        names = texts if clusters is None else [clusters[text] for text in texts]
        self._inputs = np.unique(np.array(names, object), return_inverse=True)[1]
        self._number = {text: i for i, text in enumerate(texts)}
        self.columns: dict[str, Ints] = {}
        chosen = self._within(gold.errors)
        errors, category = gold.errors.take(chosen), np.array(gold.categories, object)[chosen]
        given = flags.take(self._within(flags))
        found = overlaps(errors, given) > 0
        self.names = [name for name in CATEGORIES if (category == name).any()]
        self.names += sorted(set(category.tolist()) - set(CATEGORIES))
        self._count("errors", errors)
        self._count("found", errors.take(found))
        self._count("flags", given)
        self._count("right", given.take(overlaps(given, errors) > 0))
        for name in self.names:
            self._count(f"errors:{name}", errors.take(category == name))
            self._count(f"found:{name}", errors.take(found & (category == name)))
        whole = np.zeros(len(texts), np.int64)
        self._count_units("text", Spans(texts, whole, whole), self.columns["errors"] > 0, self.columns["flags"] > 0)
        there = sentences.take(self._within(sentences))
        self._count_units("sentence", there, overlaps(there, errors) > 0, overlaps(there, given) > 0)

    def _within(self, spans: Spans) -> npt.NDArray[np.bool_]:
        """Whether each span is of a text that is evaluated."""
        return np.array([text in self._number for text in spans.texts], bool)

    def _count(self, name: str, spans: Spans) -> None:
        owners = np.array([self._number[text] for text in spans.texts], np.int64)
        self.columns[name] = np.bincount(owners, minlength=len(self._number)).astype(np.int64)

    def _count_units(self, unit: str, spans: Spans, wrong: np.ndarray, flagged: np.ndarray) -> None:
        every = np.ones(len(spans), bool)
        for name, mask in (("all", every), ("wrong", wrong), ("flagged", flagged), ("right", wrong & flagged)):
            self._count(f"{unit}:{name}", spans.take(mask))

    def figures(self, resamples: int) -> Figures:
        """Of all texts. ``resamples``: number of bootstrap samples; 0 for no intervals."""
        return {
            "all": self.spans(resamples),
            "categories": {name: self._category(name, resamples) for name in self.names},
            "units": self.units("sentence", resamples),
        }

    def spans(self, resamples: int) -> Figures:
        """Flags against errors."""
        shares = self._shares(("right", "flags", "found", "errors"), resamples)
        return {"errors": self._sum("errors"), "found": self._sum("found"), **shares}

    def units(self, unit: str, resamples: int) -> Figures:
        """Flagged sentences (or texts) against those with an error. ``unit``: ``sentence`` or ``text``."""
        right, flagged, wrong, every = (f"{unit}:{name}" for name in ("right", "flagged", "wrong", "all"))
        shares = self._shares((right, flagged, right, wrong), resamples)
        return {"units": self._sum(every), "with_error": self._sum(wrong), **shares}

    def _category(self, name: str, resamples: int) -> Figures:
        part, whole = f"found:{name}", f"errors:{name}"
        errors, found = self._sum(whole), self._sum(part)
        recall, interval = _plain(ratio(found, errors)), self._interval(part, whole, resamples)
        return {"n": errors, "found": found, "recall": recall, "interval": interval}

    def _shares(self, names: tuple[str, str, str, str], resamples: int) -> Figures:
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
        """Counts of each input. Texts or inputs are drawn, not sentences, since those of one are not independent.
        *Shape:* (inputs,)."""
        return np.bincount(self._inputs, self.columns[name]).astype(np.int64)

    def _sum(self, name: str) -> int:
        return int(self.columns[name].sum())


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
