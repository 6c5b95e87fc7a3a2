"""Flagged spans compared with gold error spans: recall of each category of errors, and precision of the flags.

A flag matches an error if they have a character in common. Recall is over errors, precision over flags, since a metric
does not name the category of an error. Rivals are other ways of flagging the same texts: every sentence, other
annotators, and the spans of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.paper.spans.agreement import agreement, majority
from benchmarks.paper.spans.figures import CATEGORIES, SpanCounts
from benchmarks.paper.spans.gold import Flags, Gold, read_annotators, read_flags, read_votes
from scorer.errors import InputError
from scorer.evaluation.label_figures import RESAMPLES


@dataclass(frozen=True)
class SpanOptions:
    """``below``: flag sentences whose P(entailment) is below it. ``annotations``: file with each annotator's labels.

    ``by``: columns of the gold to group texts by. ``inputs``: column of the gold that names the input of a text; texts
    of one input are drawn together. ``None``: each text is its own. ``rivals``: file of other metrics' spans, in the
    form of the gold, with a column ``annotator`` that names each.
    """

    gold: Path
    system: str = "system"
    below: float = 0.5
    annotations: Path | None = None
    resamples: int = RESAMPLES
    by: tuple[str, ...] = ()
    inputs: str | None = None
    rivals: Path | None = None


def evaluate_spans(
    path: Path, options: SpanOptions, note: Callable[[str], None] = lambda message: None
) -> dict[str, Any]:
    """Evaluate flagged sentences or spans. Shares are from 0 to 1, ``None`` without a denominator; intervals are 95 %
    over texts.

    Args:
        note: called with each remark for the reader of the figures.

    Raises:
        ScorerError: nothing to read, columns missing, or no text that is in both files.
    """
    flags = read_flags(path, system=options.system, below=options.below)
    annotators = read_annotators(options.gold)
    gold = next(iter(annotators.values()))
    clusters = gold.column(options.inputs) if options.inputs is not None else None
    texts = sorted(gold.mentioned if flags.known is None else gold.mentioned.intersection(flags.known))
    if not texts:
        raise InputError(f"{path} and {options.gold} have no text_id in common; use the same ids in both files")
    _tell(flags, gold, texts, note)
    systems = {**gold.columns.get(options.system, {}), **flags.systems}
    groups = {options.system: {text: systems.get(text, "(unknown)") for text in texts}} if systems else {}
    groups |= {name: gold.column(name) for name in options.by}
    sentences = flags.units if flags.complete else None

    def count(flagged: Flags, chosen: list[str]) -> SpanCounts:
        return SpanCounts(flagged, gold, chosen, sentences, clusters)

    def group(value: str, chosen: list[str]) -> dict[str, Any]:
        return {"value": value, "texts": len(chosen), **count(flags, chosen).figures(options.resamples)}

    def rival(name: str, kind: str, flagged: Flags) -> dict[str, Any]:
        known = texts if flagged.known is None else sorted(set(texts).intersection(flagged.known))
        counts = count(flagged, known)
        return {
            "name": name,
            "kind": kind,
            "texts": len(known),
            "spans": counts.spans(options.resamples),
            "sentences": counts.units("sentence", options.resamples) if counts.has_sentences else None,
            "by_text": counts.units("text", options.resamples),
        }

    return {
        "path": str(path),
        "gold": str(options.gold),
        "signature": flags.signature,
        "flagged_below": options.below if flags.known is not None else None,
        "texts": len(texts),
        "not_in_gold": 0 if flags.known is None else len(flags.known) - len(texts),
        "unjudged": flags.unjudged,
        "unlocated": gold.unlocated,
        **count(flags, texts).figures(options.resamples),
        "by": {
            name: [
                group(value, [text for text in texts if values[text] == value])
                for value in sorted({values[text] for text in texts})
            ]
            for name, values in groups.items()
        },
        "rivals": [rival(*one) for one in _rivals(flags, annotators, options)],
        "agreement": None if options.annotations is None else _agreement(options.annotations, options.resamples),
    }


def _rivals(flags: Flags, annotators: dict[str, Gold], options: SpanOptions) -> Iterator[tuple[str, str, Flags]]:
    """Name, kind and flags of every way of flagging, the output's first."""
    yield "this output", "output", flags
    if flags.complete:
        yield "every sentence", "everything", Flags.all_of(flags.units, flags.known, complete=True)
    for name, other in list(annotators.items())[1:]:
        yield f"annotator {name}", "annotator", Flags.all_of(other.errors, sorted(other.mentioned))
    for name, one in read_annotators(options.rivals).items() if options.rivals is not None else ():
        yield name, "rival", Flags.all_of(one.errors, sorted(one.mentioned))


def _agreement(path: Path, resamples: int) -> dict[str, Any]:
    votes, items = read_votes(path)
    joined = majority(votes)
    texts = [str(name) for name in items["text_id"].to_pylist()] if "text_id" in items.column_names else None
    categories = {name: joined.count(name) for name in CATEGORIES if name in joined}
    return {
        **agreement(votes, texts, resamples),
        "majority": {"items": len(joined), "errors": len(joined) - joined.count(None), "categories": categories},
    }


def _tell(flags: Flags, gold: Gold, texts: list[str], note: Callable[[str], None]) -> None:
    if flags.known is not None and len(flags.known) > len(texts):
        left = len(flags.known) - len(texts)
        note(f"{left} texts are left out: the gold does not mention them, not even as texts without errors")
    if flags.unjudged:
        note(f"{flags.unjudged} texts have no sentences (their rows have errors); they are left out")
    if gold.unlocated:
        note(f"{gold.unlocated} errors are left out: they have no offsets")
