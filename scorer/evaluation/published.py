"""The figures printed in the papers, with ours and the difference.

The rows are the same only if the data is complete: the published figures are of 13,230, 2,230 and 2,848 rows. The
metric is the same only with the model of the papers, ``roberta-large-mnli``, and their templates. Each line has its
``n``, and the notes say what differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..inference.choices import BUILTIN_BUNDLES
from ..scoring.output_columns import from_scores
from ..scoring.signature import Signature
from .correlation import KINDS
from .gold import Scored
from .human import Ratings
from .label_report import Against, CorrelationLine, PublishedLine, figure
from .labels import Labels

NLI = "Dušek & Kasner (INLG 2020)"
FACTSPOTTER = "Zhang, Balalau & Manolescu (FactSpotter, Findings of EMNLP 2023)"
SHIMORINA = "Shimorina (2018), as Dušek & Kasner quote it"

COLUMNS = ("bleu", "meteor")
"""Columns of the data itself that are compared with published figures."""

HUMAN_SYSTEM = "webnlg"  # the references of WebNLG17 among the rated systems

_ROUGH = ("rough.accuracy", "rough.recall", "rough.precision", "rough.f1")


@dataclass(frozen=True)
class Row:
    """A printed row. ``figures``: by the name of the figure in our report."""

    source: str
    name: str
    figures: dict[str, float]


TABLE_1 = tuple(
    Row(f"{NLI}, Table 1", name, dict(zip((*_ROUGH, "rho"), values, strict=True)))
    for name, values in {
        "WebNLG Default": (0.775, 0.772, 0.796, 0.784, 0.628),
        "WebNLG Backoff": (0.768, 0.760, 0.793, 0.776, 0.637),
    }.items()
)
TABLE_2 = tuple(
    Row(f"{NLI}, Table 2", name, dict(zip(("fine.accuracy", *_ROUGH), values, strict=True)))
    for name, values in {
        "E2E Default": (0.911, 0.933, 0.895, 0.910, 0.903),
        "E2E Backoff": (0.846, 0.874, 0.913, 0.768, 0.834),
    }.items()
)
OVERLAP = (
    Row(SHIMORINA, "WebNLG17 BLEU, human semantics, Spearman", {"bleu": 0.59}),
    Row(SHIMORINA, "WebNLG17 METEOR, human semantics, Spearman", {"meteor": 0.73}),
)
FACTSPOTTER_20, FACTSPOTTER_17 = (
    Row(f"{FACTSPOTTER}, {table}", name, dict(zip(KINDS, values, strict=True)))
    for table, name, values in (
        ("Table 2", "WebNLG20 correctness", (0.94, 0.80, 0.64)),
        ("Table 3", "WebNLG17 semantics", (0.97, 0.93, 0.85)),
    )
)

GENERAL_NOTE = (
    "the embedded model is not the papers' roberta-large-mnli, which has twenty times as many parameters; it was "
    "trained neither on E2E nor on WebNLG"
)
PART_NOTE = "n differs from the paper's: these are other rows, or only some of them"
OPTIONAL_NOTE = "in this run and its gold, some facts are optional (--optional); in the papers' figures, none is"
LEVEL_NOTE = (
    "FactSpotter's figures are taken as system-level Pearson, Spearman and Kendall; that paper used nine systems of "
    "WebNLG17, without the human one, and so does the line here"
)


def against(labels: Labels | None, ratings: Ratings, scored: Scored) -> Against:
    """The published rows about this data: each figure with ours, the difference and n; no lines if no paper used it."""
    lines: list[PublishedLine] = []
    notes = []
    e2e = labels is not None and labels.gold_fine is not None and scored.has("gold_fine")
    rows_of: dict[str, int] = {}
    if e2e and labels is not None:
        lines += _labelled(_chosen(TABLE_2, scored), labels, None)
        rows_of = {NLI: 13230}
    if "human_semantics" in ratings.columns:
        lines += _webnlg17(labels, ratings, scored)
        rows_of = {NLI: 2230}
    if "human_correctness" in ratings.columns:
        lines += _system_level(FACTSPOTTER_20, ratings, "human_correctness", np.ones(len(scored.table), bool))
    if any(line["n"] != rows_of.get(NLI) for line in lines if line["source"].startswith(NLI)):
        notes.append(PART_NOTE)
    if scored.optional and lines:
        notes.append(OPTIONAL_NOTE)
    if any(line["source"].startswith(FACTSPOTTER) for line in lines):
        notes.append(LEVEL_NOTE)
    model = Signature(scored.signature).model if scored.signature else None
    if model is not None:
        notes += notes_of(model)
    if not lines:
        notes.append("no table of the papers is about this data: it has neither E2E gold nor WebNLG ratings")
    return Against(lines=lines, notes=notes)


def notes_of(model: str) -> list[str]:
    """What to know of a model that ships before its figures are compared with the papers'; nothing of any other model.

    ``model``: its name in signatures.
    """
    return [GENERAL_NOTE] if model == BUILTIN_BUNDLES["embedded"].model else []


def _webnlg17(labels: Labels | None, ratings: Ratings, scored: Scored) -> list[PublishedLine]:
    rating = ratings.human("human_semantics")
    confidence = ratings.metric("confidence", required=False)
    lines: list[PublishedLine] = []
    for threshold in (2.5, 2.0):
        if labels is None:
            break
        judged = Labels(labels.fine, labels.rough, None, from_scores(rating, threshold), labels.inputs)
        extra = None
        if confidence is not None and threshold == 2.5:
            extra = ratings.lines("confidence", confidence, "human_semantics")[0]
        for line in _labelled(_chosen(TABLE_1, scored), judged, extra):
            line["threshold"] = threshold
            lines.append(line)
    for row in OVERLAP:
        (name,) = row.figures
        values = ratings.metric(name, required=False)
        if values is not None:
            found = ratings.lines(name, values, "human_semantics")[0]
            line = _line(row, name, found["spearman"], found["n"])
            line["level"] = "sentence"
            lines.append(line)
    machines = np.ones(len(scored.table), bool)
    if ratings.systems is not None and HUMAN_SYSTEM in ratings.system_names:
        machines = ratings.systems != ratings.system_names.index(HUMAN_SYSTEM)
    return lines + _system_level(FACTSPOTTER_17, ratings, "human_semantics", machines)


def _labelled(rows: Iterable[Row], labels: Labels, rho: CorrelationLine | None) -> list[PublishedLine]:
    figures = labels.figures()
    lines = []
    for row in rows:
        for path in row.figures:
            if path == "rho":
                if rho is not None:
                    lines.append(_line(row, path, rho["spearman"], rho["n"]))
                continue
            block, name = path.split(".")
            n = figures["fine"]["n"] if block == "fine" else figures["rough"]["n"]
            lines.append(_line(row, path, figure(figures, block, name), n))
    return lines


def _system_level(row: Row, ratings: Ratings, column: str, where: np.ndarray) -> list[PublishedLine]:
    confidence = ratings.metric("confidence", required=False)
    if confidence is None or ratings.systems is None:
        return []
    found = ratings.lines("confidence", np.where(where, confidence, np.nan), column)[-1]
    lines = [_line(row, kind, found[kind], found["n"]) for kind in KINDS]
    for line in lines:
        line["level"] = "system"
    return lines


def _line(row: Row, name: str, ours: float | None, n: int) -> PublishedLine:
    printed = row.figures[name]
    difference = None if ours is None else ours - printed
    return PublishedLine(
        source=row.source, row=row.name, figure=name, published=printed, ours=ours, difference=difference, n=n
    )


def _chosen(rows: tuple[Row, ...], scored: Scored) -> list[Row]:
    """The row Default or Backoff, whichever the run corresponds to; both if this is not known."""
    if scored.summary is None or not scored.summary.counts.facts.all:
        return list(rows)
    wanted = "Default" if scored.summary.counts.facts.template else "Backoff"
    return [row for row in rows if row.name.endswith(wanted)]
