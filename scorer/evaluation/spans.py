"""Flagged spans compared with gold error spans: recall of each category of errors, and precision of the flags.

A flag matches an error if they have a character in common. Recall is over errors, precision over flags, since a metric
does not name the category of an error. If all units that a metric checked are known (all sentences), the figures of
flagging every unit are shown alongside. Rivals are other ways of flagging the same texts: every sentence,
other annotators, and the spans of a file; their table counts spans, sentences and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..system.arguments import check_fields
from ..system.formats import EVALUATION_SCHEMA as SCHEMA
from .agreement import PUBLISHED_KAPPA, agreement, majority
from .bootstrap import RESAMPLES
from .span_counts import CATEGORIES, SpanCounts
from .span_files import Flags, Spans, read_flags, strings
from .span_gold import Annotators, Gold, read_annotators, read_votes
from .span_report import AgreementBlock, GroupLine, PublishedFigures, RivalLine, SpanReport

PUBLISHED: PublishedFigures = {
    "source": "Thomson & Reiter (INLG 2020)",
    "metric": "RG, on the paper's own 21 basketball texts; the paper counts in two ways, both shown here",
    "recall": [0.343, 0.388],
    "precision": [0.571, 0.755],
    "fleiss_kappa": PUBLISHED_KAPPA,
}
REAL_WORLD = (
    "the gold counts errors about the real world; this metric finds what the facts in the data do not support. Errors "
    "that the data cannot show (not_checkable) are counted separately; errors of the data itself cannot be found"
)
DATA_CATEGORIES = ("incorrect", "contradictory")
"""Categories of gold that was marked with the data in view."""
AGAINST_DATA = (
    "the gold was marked with the data in view: incorrect (contradictory) spans contradict it, not_checkable ones "
    "cannot be checked in it"
)


@dataclass(frozen=True)
class SpanOptions:
    """``below``: flag sentences whose P(entailment) is below it. ``annotations``: file with each annotator's labels.

    ``by``: columns of the gold to group texts by. ``inputs``: column of the gold that names the input of a text; texts
    of one input are drawn together. ``None``: each text is its own. ``rivals``: file of other metrics' spans, in the
    form of the gold, with a column ``annotator`` that names each.
    """

    gold: Path
    id_column: str = "text_id"
    system: str = "system"
    prefix: str | None = None
    below: float = 0.5
    annotations: Path | None = None
    resamples: int = RESAMPLES
    by: tuple[str, ...] = ()
    inputs: str | None = None
    rivals: Path | None = None

    def __post_init__(self) -> None:
        check_fields(self)


def evaluate_spans(path: Path, options: SpanOptions, note: Callable[[str], None] = lambda message: None) -> SpanReport:
    """Evaluate flagged sentences or spans.

    Args:
        note: called with each remark for the reader of the figures.

    Raises:
        ScorerError: nothing to read, columns missing, or no text that is in both files.
    """
    flags = read_flags(
        path, id_column=options.id_column, system=options.system, prefix=options.prefix, below=options.below
    )
    annotators = read_annotators(options.gold, flags.contents, options.id_column)
    gold = annotators.main
    clusters = gold.column(options.inputs, "--input-column") if options.inputs is not None else None
    texts = sorted(gold.mentioned if flags.known is None else gold.mentioned.intersection(flags.known))
    if not texts:
        raise InputError(
            f"{path} and {options.gold} have no {options.id_column} in common; use the same ids in both files"
        )
    _tell(flags, gold, texts, options, note)
    systems = {**gold.columns.get(options.system, {}), **flags.systems}
    groups = {options.system: {text: systems.get(text, "(unknown)") for text in texts}} if systems else {}
    groups |= {name: gold.column(name, "--by") for name in options.by}
    every, sentences = _all_flagged(flags), flags.units if flags.complete else None

    def count(flagged: Flags, chosen: list[str]) -> SpanCounts:
        return SpanCounts(flagged, gold, chosen, sentences, clusters)

    def group(value: str, chosen: list[str]) -> GroupLine:
        return {
            "value": value,
            "texts": len(chosen),
            **count(flags, chosen).figures(options.resamples),
            "flag_everything": None if every is None else count(every, chosen).spans(0),
        }

    def rival(name: str, kind: str, flagged: Flags) -> RivalLine:
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

    counted = count(flags, texts)
    return {
        "schema": SCHEMA,
        "path": str(path),
        "gold": str(options.gold),
        "signature": flags.signature,
        "finished": flags.finished,
        "flagged_below": options.below if flags.known is not None else None,
        "texts": len(texts),
        "not_in_gold": 0 if flags.known is None else len(flags.known) - len(texts),
        "unjudged": flags.unjudged,
        "unlocated": gold.unlocated,
        "located_by_sentence": gold.by_sentence,
        "resamples": options.resamples,
        **counted.figures(options.resamples),
        "by": {
            name: [group(value, _with(texts, values, value)) for value in sorted({values[text] for text in texts})]
            for name, values in groups.items()
        },
        "rivals": [rival(*one) for one in _rivals(flags, every, annotators, options)],
        "published": PUBLISHED,
        "about": AGAINST_DATA if set(DATA_CATEGORIES) & set(counted.names) else REAL_WORLD,
        "agreement": _agreement(options) if options.annotations is not None else None,
    }


def _with(texts: list[str], values: dict[str, str], value: str) -> list[str]:
    return [text for text in texts if values[text] == value]


def _all_flagged(flags: Flags) -> Flags | None:
    """Every unit flagged; ``None`` where only the flagged ones are known."""
    return Flags(flags.units, np.ones(len(flags.units), bool), True, flags.known) if flags.complete else None


def _rivals(
    flags: Flags, every: Flags | None, annotators: Annotators, options: SpanOptions
) -> Iterator[tuple[str, str, Flags]]:
    """Name, kind and flags of every way of flagging, the output's first."""
    yield "this output", "output", flags
    if every is not None:
        yield "every sentence", "everything", every
    for name, other in annotators.others.items():
        yield f"annotator {name}", "annotator", _marked(other.errors, sorted(other.mentioned))
    if options.rivals is not None:
        found = read_annotators(options.rivals, flags.contents, options.id_column)
        for name, one in ((found.name, found.main), *found.others.items()):
            yield name, "rival", _marked(one.errors, sorted(one.mentioned))


def _marked(spans: Spans, known: list[str] | None) -> Flags:
    return Flags(spans, np.ones(len(spans), bool), False, known)


def _agreement(options: SpanOptions) -> AgreementBlock:
    assert options.annotations is not None
    votes, items = read_votes(options.annotations)
    joined = majority(votes)
    named = options.id_column in items.column_names
    texts = [str(name) for name in strings(items[options.id_column])] if named else None
    found = agreement(votes, texts, options.resamples)
    categories = {name: joined.count(name) for name in CATEGORIES if name in joined}
    return {
        **found,
        "majority": {"items": len(joined), "errors": len(joined) - joined.count(None), "categories": categories},
    }


def _tell(flags: Flags, gold: Gold, texts: list[str], options: SpanOptions, note: Callable[[str], None]) -> None:
    if not flags.finished:
        note("the run is not finished: the figures cover only the shards that are done")
    if flags.known is not None and len(flags.known) > len(texts):
        left = len(flags.known) - len(texts)
        note(f"{left} texts are left out: the gold does not mention them, not even as texts without errors")
    if flags.unjudged:
        note(f"{flags.unjudged} texts have no sentences (their rows have errors); they are left out")
    if gold.unlocated:
        note(f"{gold.unlocated} errors are left out: they have no offsets, and their sentence is not in the text")
    if not flags.complete:
        note(
            "only flagged spans are known, so the figures of flagging everything are left out; a column `flagged` lets "
            "the file list the other spans too"
        )
