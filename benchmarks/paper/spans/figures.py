"""Flagged spans compared with gold error spans: recall of each category of errors, and precision of the flags.

A flag matches an error if they have a character in common. Recall is over errors, precision over flags, since a metric
does not name the category of an error; of sentences and of texts it is over those with an error and those with a flag.
Every figure is a ratio of sums over inputs, which are drawn for its interval: the spans of one are not independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.paper.spans.agreement import agreement, majority
from benchmarks.paper.spans.files import read_annotators, read_flags, read_votes
from scorer.errors import InputError
from scorer.evaluation.label_figures import RESAMPLES, Floats, Indices, bootstrap_interval, ratio
from scorer.stats.intervals import share_interval

LEVELS = ("spans", "sentences", "texts")
_WHOLE = 1 << 31
"""The end of a span that is a whole text."""
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
    """Evaluate flagged sentences. Shares are from 0 to 1, ``None`` without a denominator; intervals are 95 %.

    Returns: ``texts``, ``sentences``, ``categories`` (recall of each), ``agreement`` of the annotators, and ``lines``:
    of this output, of every sentence, of other annotators and rivals at each of :data:`LEVELS`, and of this output's
    spans by group. ``note``: told what is left out.

    Raises:
        ScorerError: nothing to read, columns missing, or no text that is in both files.
    """
    flags, annotators = read_flags(path, options.below), read_annotators(options.gold)
    gold = next(iter(annotators.values()))
    texts = sorted(gold.mentioned.intersection(flags.known))
    if not texts:
        raise InputError(f"{path} and {options.gold} have no text_id in common; use the same ids in both files")
    for left, reason in (
        (len(flags.known) - len(texts), "texts: the gold does not mention them, not even as texts without errors"),
        (flags.unjudged, "texts: they have no sentences, because their rows have errors"),
        (gold.unlocated, "errors: they have no offsets"),
    ):
        if left:
            note(f"left out: {left} {reason}")
    names = dict(zip(texts, texts, strict=True)) if options.inputs is None else gold.column(options.inputs)
    clusters = {text: names[text] for text in texts}
    flagged = flags.sentences.filter(flags.sentences["flagged"])

    def lines(name: str, spans: pa.Table, known: Collection[str], *levels: str) -> list[Figures]:
        chosen = {text: clusters[text] for text in texts if text in known}
        return [
            {"name": name, "level": level, "texts": len(chosen),
             **_compare(spans, gold.errors, _units(level, chosen, flags.sentences), chosen, options.resamples)}
            for level in levels
        ]  # fmt: skip

    def recall_of(category: str) -> Figures:
        errors = gold.errors.filter(pc.equal(gold.errors["category"], category))
        found = _compare(flagged, errors, None, clusters, options.resamples)
        return {key: found[key] for key in ("errors", "found", "recall")} | {"interval": found["interval"]["recall"]}

    found = lines("this output", flagged, texts, *LEVELS) + lines("every sentence", flags.sentences, texts, *LEVELS)
    others = {f"annotator {name}": one for name, one in list(annotators.items())[1:]}
    others |= read_annotators(options.rivals) if options.rivals is not None else {}
    for name, one in others.items():
        found += lines(name, one.errors, one.mentioned, *LEVELS)
    for column in options.by:
        values = gold.column(column)
        for value in sorted({values[text] for text in texts}):
            found += lines(f"{column} {value}", flagged, {text for text in texts if values[text] == value}, "spans")
    return {
        "signature": flags.signature,
        "texts": len(texts),
        "sentences": len(_of(flags.sentences, clusters)),
        "categories": {name: recall_of(name) for name in sorted(gold.errors["category"].unique().to_pylist())},
        "lines": found,
        "agreement": None if options.annotations is None else _agreement(options.annotations),
    }


def _units(level: str, texts: Mapping[str, str], sentences: pa.Table) -> pa.Table | None:
    """Units that are counted at a level; ``None`` where spans themselves are."""
    if level == "texts":
        ids, (start, end) = pa.array(list(texts), pa.string()), (pa.repeat(at, len(texts)) for at in (0, _WHOLE))
        return pa.table({"text_id": ids, "char_start": start, "char_end": end})
    return sentences if level == "sentences" else None


def _of(spans: pa.Table, texts: Collection[str]) -> pa.Table:
    return spans.filter(pc.is_in(spans["text_id"], pa.array(list(texts), pa.string())))


def _compare(
    flags: pa.Table, errors: pa.Table, units: pa.Table | None, clusters: Mapping[str, str], resamples: int
) -> Figures:
    """Flags against errors; or, given units, those with a flag against those with an error.

    Args:
        clusters: by text, the name of its input; other texts are left out.
        resamples: number of bootstrap samples; 0 for no intervals.
    """
    names = {name: number for number, name in enumerate(sorted(set(clusters.values())))}
    flags, errors = _of(flags, clusters), _of(errors, clusters)

    def count(spans: pa.Table, chosen: Any = slice(None)) -> Indices:
        """Spans of each input. *Shape:* (inputs,)."""
        owners = np.array([names[clusters[text]] for text in spans["text_id"].to_pylist()], np.int64)
        return np.bincount(owners[chosen], minlength=len(names)).astype(np.int64)

    if units is None:
        right, every = count(flags, overlaps(flags, errors) > 0), count(flags)
        found, wrong = count(errors, overlaps(errors, flags) > 0), count(errors)
    else:
        units = _of(units, clusters)
        has_error, has_flag = overlaps(units, errors) > 0, overlaps(units, flags) > 0
        right = found = count(units, has_error & has_flag)
        every, wrong = count(units, has_flag), count(units, has_error)

    def f1(times: Indices) -> Floats:
        precision, recall = ratio(times @ right, times @ every), ratio(times @ found, times @ wrong)
        return ratio(2 * precision * recall, precision + recall)

    return {
        "errors": int(wrong.sum()),
        "found": int(found.sum()),
        "flags": int(every.sum()),
        "right": int(right.sum()),
        "precision": _plain(ratio(right.sum(), every.sum())),
        "recall": _plain(ratio(found.sum(), wrong.sum())),
        "f1": _plain(f1(np.ones((1, len(names)), np.int64))[0]),
        "interval": {
            "precision": share_interval(right, every) if resamples else None,
            "recall": share_interval(found, wrong) if resamples else None,
            "f1": bootstrap_interval(f1, len(names), resamples),
        },
    }


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _agreement(path: Path) -> Figures:
    votes = read_votes(path)
    joined = majority(votes)
    categories = Counter(name for name in joined if name is not None)
    return {**agreement(votes), "items": len(joined), "errors": categories.total(), "categories": categories}


def overlaps(spans: pa.Table, others: pa.Table) -> Indices:
    """For each span, the number of ``others`` that it shares a character with. int64, *Shape:* (spans,).

    An empty span counts as the one character after it.
    """
    texts = pa.chunked_array([*spans["text_id"].chunks, *others["text_id"].chunks], pa.string()).unique()
    stride = 2 + max((pc.max(which["char_end"]).as_py() or 0) for which in (spans, others))

    def bounds(which: pa.Table) -> tuple[Indices, Indices]:
        start, end = (which[name].to_numpy().astype(np.int64) for name in ("char_start", "char_end"))
        owner = pc.index_in(which["text_id"], texts).to_numpy().astype(np.int64) * stride
        return owner + start, owner + np.maximum(end, start + 1)

    starts, ends = bounds(spans)
    other_starts, other_ends = (np.sort(bound) for bound in bounds(others))
    # The others that begin before this span ends, minus those that end before it begins.
    return np.searchsorted(other_starts, ends, side="left") - np.searchsorted(other_ends, starts, side="right")
