"""The figures that the papers print, next to those of a scored output.

The rows are the same only if the data is complete: the published figures are of 13,230 (E2E), 2,230 (WebNLG17) and
2,848 rows (WebNLG20). The metric is the same only with the papers' model, ``roberta-large-mnli``, and their templates.
FactSpotter's figures are taken as Pearson, Spearman and Kendall of means by system, without the human one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from scorer.evaluation import EvaluateOptions
from scorer.evaluation.correlation import correlate
from scorer.evaluation.gold import load
from scorer.evaluation.report import LabelReport, evaluate
from scorer.scoring.outputs import Output

Data = Literal["e2e", "webnlg17", "webnlg20"]
HUMAN_SYSTEM = "webnlg"
"""The references of WebNLG17 among the rated systems."""
_RATING = {"webnlg17": "human_semantics", "webnlg20": "human_correctness"}
EMBEDDED_NOTE = (
    "the embedded model is not the papers' roberta-large-mnli, which has twenty times as many parameters; it was "
    "trained neither on E2E nor on WebNLG"
)


class Row(msgspec.Struct, frozen=True):
    """A printed row. ``figures``: by the name of the figure in a report of ``scorer evaluate``."""

    source: str
    data: Data
    row: str
    figures: dict[str, float]


ROWS = msgspec.json.decode(Path(__file__).with_name("published.json").read_bytes(), type=tuple[Row, ...])


@dataclass(frozen=True)
class Line:
    """A printed figure, ours (``None`` where undefined), and the rows or systems that ours is of."""

    source: str
    row: str
    figure: str
    published: float
    ours: float | None
    n: int


def against(path: Path) -> list[Line]:
    """The published rows about the data of a scored output; none if no paper used it."""
    names = set(Output.open(path).names)
    lines: list[Line] = []
    if "gold_fine" in names:
        lines += _labelled("e2e", evaluate(path, EvaluateOptions(human=(), resamples=0)))
    for data, rating in _RATING.items():
        if rating in names:
            lines += _rated(data, path, rating, names)
    return lines


def errors_by_facts(path: Path) -> dict[str, Any]:
    """Spearman's correlation of the number of facts with whether the label is that of the gold, and n.

    Dušek & Kasner print −.05 and −.08 for their two data sets.
    """
    scored = load(Output.open(path), ["fine", "gold_fine", "gold_rough", "fact_entailment", "error"])
    gold, kind = ("gold_fine", "fine") if scored.has("gold_fine") else ("gold_rough", "rough")
    wanted, said, facts = (scored.array(name).to_pylist() for name in (gold, "fine", "fact_entailment"))
    if kind == "rough":
        said = [None if one is None else "OK" if one == "OK" else "not_OK" for one in said]
    rows = [row for row in range(len(said)) if None not in (wanted[row], said[row], facts[row])]
    counts = np.array([len(facts[row]) for row in rows], np.float64)
    right = np.array([said[row] == wanted[row] for row in rows], np.float64)
    found = correlate(counts, right, kinds=("spearman",))
    return {"gold": gold, "n": found["n"], "spearman": found["spearman"]}


def _labelled(data: str, report: LabelReport) -> Iterator[Line]:
    for row in ROWS:
        for name, published in row.figures.items():
            block, _, figure = name.partition(".")
            if row.data == data and figure:
                n = report["fine" if block == "fine" else "rough"]["n"]
                yield Line(row.source, row.row, name, published, report[block][figure], n)


def _rated(data: str, path: Path, rating: str, names: set[str]) -> Iterator[Line]:
    if data == "webnlg17":
        report = evaluate(path, EvaluateOptions(human=(rating,), threshold=2.5, resamples=0))
        yield from _labelled(data, report)
        rho = report["correlation"]
        for row in ROWS:
            if row.data == data and "rho" in row.figures:
                yield Line(row.source, row.row, "rho", row.figures["rho"], rho["spearman"], rho["n"])
    for row in ROWS:
        overlap = sorted({"bleu", "meteor"} & names & set(row.figures))
        if row.data == data and overlap:
            report = evaluate(path, EvaluateOptions(human=(rating,), metrics=tuple(overlap), resamples=0))
            found = {line["metric"]: line for line in report["correlations"] if line["level"] == "sentence"}
            for name in overlap:
                line = found[name]
                yield Line(row.source, row.row, name, row.figures[name], line["spearman"], line["n"])
        if row.data == data and "kendall" in row.figures and "system" in names:
            lines = evaluate(path, _without_references(path))["correlations"]
            line = next(line for line in lines if (line["human"], line["level"]) == (rating, "system"))
            for kind, published in row.figures.items():
                ours = line[kind]  # type: ignore[literal-required]
                yield Line(row.source, row.row, kind, published, ours, line["n"])


def _without_references(path: Path) -> EvaluateOptions:
    systems = set(load(Output.open(path), ["system"]).array("system").to_pylist())
    return EvaluateOptions(exclude_systems=(HUMAN_SYSTEM,) if HUMAN_SYSTEM in systems else (), resamples=0)
