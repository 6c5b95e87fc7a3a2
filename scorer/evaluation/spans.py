"""Flagged spans compared with gold error spans: recall of each category of errors, and precision of the flags.

A flag matches an error if they have a character in common. Recall is over errors, precision over flags, since a metric
does not name the category of an error. If all units that a metric checked are known (all sentences), the figures of
flagging every unit are shown alongside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..system.arguments import check_fields
from ..system.formats import EVALUATION_SCHEMA as SCHEMA
from .agreement import PUBLISHED_KAPPA, agreement, majority
from .bootstrap import RESAMPLES, SEED, ends_of, percentiles
from .span_files import Flags, Ints, Spans, read_flags
from .span_gold import Gold, read_annotators, read_votes
from .span_report import (
    AgreementBlock,
    AnnotatorLine,
    CategoryRecall,
    Ends,
    GroupLine,
    PublishedFigures,
    SpanBlocks,
    SpanFigures,
    SpanReport,
    SystemLine,
    UnitFigures,
)

CATEGORIES = ("incorrect", "misleading", "number", "name", "word", "context", "not_checkable", "other", "no_majority")
NOT_CHECKABLE = "not_checkable"
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
DATA_CATEGORY = "incorrect"
"""A category of gold that was marked with the data in view."""
AGAINST_DATA = (
    "the gold was marked with the data in view: incorrect contradicts it, not_checkable cannot be checked in it"
)


@dataclass(frozen=True)
class SpanOptions:
    """``below``: flag sentences whose P(entailment) is below it. ``annotations``: file with each annotator's labels.

    ``by``: columns of the gold to group texts by. ``inputs``: column of the gold that names the input of a text; texts
    of one input are drawn together. ``None``: each text is its own.
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

    def __post_init__(self) -> None:
        check_fields(self)


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
    groups = {name: gold.column(name, "--by") for name in options.by}
    texts = sorted(gold.mentioned if flags.known is None else gold.mentioned.intersection(flags.known))
    if not texts:
        raise InputError(
            f"{path} and {options.gold} have no {options.id_column} in common; use the same ids in both files"
        )
    _tell(flags, gold, texts, options, note)
    counted = _Counted(flags, gold, texts, clusters)
    everything = _Counted(_all_flagged(flags), gold, texts, clusters) if flags.complete else None
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
        "flag_everything": everything.figures(0) if everything is not None else None,
        "by_system": counted.by_system({**gold.columns.get(options.system, {}), **flags.systems}),
        "by": {name: _by(flags, gold, texts, values, clusters, options) for name, values in groups.items()},
        "other_annotators": [
            _other(name, other, gold, clusters, options.resamples) for name, other in annotators.others.items()
        ],
        "published": PUBLISHED,
        "about": AGAINST_DATA if DATA_CATEGORY in counted.names else REAL_WORLD,
        "agreement": _agreement(options.annotations) if options.annotations is not None else None,
    }


class _Counted:
    """Counts of each text; every figure is a ratio of their sums. ``columns``: by name, int64, *Shape:* (texts,).

    ``clusters``: by text, what its input is; texts of one input are drawn together. ``None``: each is its own.
    """

    def __init__(self, flags: Flags, gold: Gold, texts: list[str], clusters: dict[str, str] | None) -> None:
        self.texts = texts
        self.clusters = clusters
        number = {text: i for i, text in enumerate(texts)}
        units, unit_owner, unit_chosen = _within(flags.units, number)
        errors, error_owner, error_chosen = _within(gold.errors, number)
        flagged = flags.flagged[unit_chosen]
        category = np.array(gold.categories, object)[error_chosen]
        checkable = category != NOT_CHECKABLE
        found = overlaps(errors, _part(units, flagged)) > 0
        wrong = overlaps(units, errors) > 0
        wrong_checkable = overlaps(units, _part(errors, checkable)) > 0
        # Without the errors that cannot be checked, a unit that has only such errors counts neither as right nor as
        # wrong.
        kept = wrong_checkable | ~wrong

        def by_text(owner: Ints, mask: npt.NDArray[np.bool_]) -> Ints:
            return np.bincount(owner[mask], minlength=len(texts)).astype(np.int64)

        every = np.ones(len(error_owner), bool)
        self.names = [name for name in CATEGORIES if (category == name).any()]
        self.names += sorted(set(category.tolist()) - set(CATEGORIES))
        self.complete = flags.complete
        self.columns = {
            "errors": by_text(error_owner, every),
            "found": by_text(error_owner, found),
            "errors:checkable": by_text(error_owner, checkable),
            "found:checkable": by_text(error_owner, found & checkable),
            "flags": by_text(unit_owner, flagged),
            "right": by_text(unit_owner, flagged & wrong),
            "flags:checkable": by_text(unit_owner, flagged & kept),
            "right:checkable": by_text(unit_owner, flagged & wrong_checkable),
            "units": by_text(unit_owner, np.ones(len(unit_owner), bool)),
            "wrong": by_text(unit_owner, wrong),
        }
        for name in self.names:
            self.columns[f"errors:{name}"] = by_text(error_owner, category == name)
            self.columns[f"found:{name}"] = by_text(error_owner, found & (category == name))

    def figures(self, resamples: int) -> SpanBlocks:
        drawn = self._drawn(resamples)
        return {
            "all": self._block("", drawn),
            "without_not_checkable": self._block(":checkable", drawn),
            "categories": {name: self._category(name, drawn) for name in self.names},
            "units": self._units() if self.complete else None,
        }

    def by_system(self, systems: dict[str, str]) -> list[SystemLine]:
        """Errors and flags per text, by system; texts of unknown systems last."""
        groups: dict[str | None, list[int]] = {}
        for i, text in enumerate(self.texts):
            groups.setdefault(systems.get(text), []).append(i)
        lines: list[SystemLine] = []
        for system in sorted(groups, key=lambda name: (name is None, name or "")):
            rows = groups[system]
            mean = {name: float(column[rows].mean()) for name, column in self.columns.items()}
            lines.append(
                {
                    "system": system,
                    "texts": len(rows),
                    "errors_per_text": mean["errors"],
                    "errors_per_text_without_not_checkable": mean["errors:checkable"],
                    "flags_per_text": mean["flags"],
                    "categories_per_text": {name: mean[f"errors:{name}"] for name in self.names},
                    "recall": _divide(mean["found"], mean["errors"]),
                    "precision": _divide(mean["right"], mean["flags"]),
                }
            )
        return lines

    def _block(self, which: str, drawn: npt.NDArray[np.int64] | None) -> SpanFigures:
        errors, found = f"errors{which}", f"found{which}"
        flags, right = f"flags{which}", f"right{which}"
        recall, precision = self._ratio(found, errors), self._ratio(right, flags)
        return {
            "errors": self._sum(errors),
            "found": self._sum(found),
            "recall": recall,
            "recall_interval": self._interval(found, errors, drawn),
            "flags": self._sum(flags),
            "right": self._sum(right),
            "precision": precision,
            "precision_interval": self._interval(right, flags, drawn),
            "f1": _f1(precision, recall),
        }

    def _category(self, name: str, drawn: npt.NDArray[np.int64] | None) -> CategoryRecall:
        errors, found = f"errors:{name}", f"found:{name}"
        line: CategoryRecall = {
            "n": self._sum(errors),
            "found": self._sum(found),
            "recall": self._ratio(found, errors),
        }
        if drawn is not None:
            line["interval"] = self._interval(found, errors, drawn)
        return line

    def _units(self) -> UnitFigures:
        precision, recall = self._ratio("right", "flags"), self._ratio("right", "wrong")
        return {
            "units": self._sum("units"),
            "with_error": self._sum("wrong"),
            "flagged": self._sum("flags"),
            "precision": precision,
            "recall": recall,
            "f1": _f1(precision, recall),
        }

    def _ratio(self, part: str, whole: str) -> float | None:
        return _divide(self._sum(part), self._sum(whole))

    def _interval(self, part: str, whole: str, drawn: npt.NDArray[np.int64] | None) -> Ends:
        if drawn is None:
            return None
        parts, wholes = drawn @ self.columns[part], (drawn @ self.columns[whole]).astype(np.float64)
        shares = np.divide(parts, wholes, out=np.full(len(wholes), np.nan), where=wholes > 0)
        return ends_of(percentiles(shares))

    def _sum(self, name: str) -> int:
        return int(self.columns[name].sum())

    def _drawn(self, resamples: int) -> npt.NDArray[np.int64] | None:
        """How often each text is drawn in each sample, int64, *Shape:* (samples, texts).

        Texts or inputs are drawn, not sentences, since what belongs to one of them is not independent.
        """
        names = [self.clusters[text] for text in self.texts] if self.clusters is not None else self.texts
        distinct = {name: number for number, name in enumerate(dict.fromkeys(names))}
        n = len(distinct)
        if not resamples or n < 2:
            return None
        drawn = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=resamples)
        return np.asarray(drawn[:, [distinct[name] for name in names]], np.int64)


def _by(
    flags: Flags,
    gold: Gold,
    texts: list[str],
    values: dict[str, str],
    clusters: dict[str, str] | None,
    options: SpanOptions,
) -> list[GroupLine]:
    """The figures of each group of texts, in the order of its values."""
    lines: list[GroupLine] = []
    for value in sorted({values[text] for text in texts}):
        chosen = [text for text in texts if values[text] == value]
        counted = _Counted(flags, gold, chosen, clusters)
        everything = _Counted(_all_flagged(flags), gold, chosen, clusters).figures(0) if flags.complete else None
        lines.append(
            {
                "value": value,
                "texts": len(chosen),
                **counted.figures(options.resamples),
                "flag_everything": everything,
            }
        )
    return lines


def _other(name: str, other: Gold, main: Gold, clusters: dict[str, str] | None, resamples: int) -> AnnotatorLine:
    """Another annotator's spans as flags, on the texts that both annotated: a ceiling for any metric."""
    texts = sorted(other.mentioned & main.mentioned)
    flags = Flags(other.errors, np.ones(len(other.errors), bool), False, None)
    return {"annotator": name, "texts": len(texts), **_Counted(flags, main, texts, clusters).figures(resamples)}


def _within(spans: Spans, number: dict[str, int]) -> tuple[Spans, Ints, Ints]:
    """The spans of the evaluated texts, the number of the text of each, and their positions among all spans."""
    chosen = np.array([i for i, text in enumerate(spans.texts) if text in number], np.int64)
    kept = _part(spans, chosen)
    return kept, np.array([number[text] for text in kept.texts], np.int64), chosen


def _part(spans: Spans, chosen: npt.NDArray[Any]) -> Spans:
    positions = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    return Spans([spans.texts[i] for i in positions.tolist()], spans.starts[positions], spans.ends[positions])


def _all_flagged(flags: Flags) -> Flags:
    return Flags(flags.units, np.ones(len(flags.units), bool), True, flags.known)


def _agreement(annotations: Path) -> AgreementBlock:
    votes, _ = read_votes(annotations)
    joined = majority(votes)
    found = agreement(votes)
    categories = {name: joined.count(name) for name in CATEGORIES if name in joined}
    return {
        **found,
        "majority": {"items": len(joined), "errors": len(joined) - joined.count(None), "categories": categories},
    }


def _tell(flags: Flags, gold: Gold, texts: list[str], options: SpanOptions, note: Callable[[str], None]) -> None:
    if not flags.finished:
        note("the run has no _SUCCESS: the figures cover only the shards that are done")
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


def _divide(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _f1(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None or precision + recall == 0:
        return None
    return 2 * precision * recall / (precision + recall)
