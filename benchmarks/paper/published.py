"""The figures that the papers print, next to those of a scored output.

The rows are the same only if the data is complete: the published figures are of 13,230 (E2E), 2,230 (WebNLG17) and
2,848 rows (WebNLG20). The metric is the same only with the papers' model, ``roberta-large-mnli``, and their templates.
FactSpotter's figures are taken as Pearson, Spearman and Kendall of means by system, without the human one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from scorer.evaluation import EvaluateOptions
from scorer.evaluation.correlation import correlate
from scorer.evaluation.gold import load
from scorer.evaluation.report import LabelReport, evaluate
from scorer.scoring.outputs import Output

HUMAN_SYSTEM = "webnlg"
"""The references of WebNLG17 among the rated systems."""
_RATING = {"webnlg17": "human_semantics", "webnlg20": "human_correctness"}
EMBEDDED_NOTE = (
    "the embedded model is not the papers' roberta-large-mnli, which has twenty times as many parameters; it was "
    "trained neither on E2E nor on WebNLG"
)


class PublishedRow(msgspec.Struct, frozen=True):
    """A printed row. ``figures``: by the name of the figure in a report of ``scorer evaluate``."""

    source: str
    data: Literal["e2e", "webnlg17", "webnlg20"]
    row: str
    figures: dict[str, float]


ROWS = msgspec.json.decode(Path(__file__).with_name("published.json").read_bytes(), type=tuple[PublishedRow, ...])


class Comparison(NamedTuple):
    """A printed figure, ours (``None`` where undefined), and the rows or systems that ours is of."""

    source: str
    row: str
    figure: str
    published: float
    ours: float | None
    n: int


def against(path: Path) -> list[Comparison]:
    """The published rows about the data of a scored output; none if no paper used it."""
    names = set(Output.open(path).names)
    lines: list[Comparison] = []
    if "gold_fine" in names:
        lines += _labelled("e2e", evaluate(path, EvaluateOptions(human=(), resamples=0)))
    for data, rating in _RATING.items():
        if rating in names:
            lines += _rated(data, path, rating, names)
    return lines


def errors_by_facts(path: Path) -> dict[str, Any] | None:
    """Spearman's correlation of the number of facts with whether the label is that of the gold, and n; ``None`` without
    gold labels.

    Dušek & Kasner print −.05 and −.08 for their two data sets.
    """
    scored = load(Output.open(path), ["fine", "gold_fine", "gold_rough", "fact_entailment", "error"])
    gold = next((name for name in ("gold_fine", "gold_rough") if scored.has(name)), None)
    if gold is None:
        return None
    expected, labels, facts = (scored.array(name).to_pylist() for name in (gold, "fine", "fact_entailment"))
    if gold == "gold_rough":
        labels = [None if one is None else "OK" if one == "OK" else "not_OK" for one in labels]
    rows = [row for row in range(len(labels)) if None not in (expected[row], labels[row], facts[row])]
    counts = np.array([len(facts[row]) for row in rows], np.float64)
    right = np.array([labels[row] == expected[row] for row in rows], np.float64)
    found = correlate(counts, right, kinds=("spearman",))
    return {"gold": gold, "n": found["n"], "spearman": found["spearman"]}


Found = tuple[float | None, int] | None
"""Ours and n; ``None`` where a published figure is not looked for."""


def _compare(data: str, ours: Callable[[str], Found]) -> Iterator[Comparison]:
    """The published figures about a data set next to ours by name."""
    for row in ROWS:
        for name, published in row.figures.items() if row.data == data else ():
            if (found := ours(name)) is not None:
                yield Comparison(row.source, row.row, name, published, *found)


def _labelled(data: str, report: LabelReport) -> Iterator[Comparison]:
    def ours(name: str) -> Found:
        block, _, figure = name.partition(".")
        if not figure:
            return None
        n = report["fine" if block == "fine" else "rough"]["n"]
        return report[block][figure], n

    return _compare(data, ours)


def _rated(data: str, path: Path, rating: str, names: set[str]) -> Iterator[Comparison]:
    if data == "webnlg17":
        report = evaluate(path, EvaluateOptions(human=(rating,), threshold=2.5, resamples=0))
        yield from _labelled(data, report)
        rho = report["correlation"]
        yield from _compare(data, lambda name: (rho["spearman"], rho["n"]) if name == "rho" else None)
    overlap = tuple(sorted({"bleu", "meteor"} & names))
    if overlap:
        found = evaluate(path, EvaluateOptions(human=(rating,), metrics=overlap, resamples=0))["correlations"]
        lines = {line["metric"]: line for line in found if line["level"] == "sentence"}
        yield from _compare(data, lambda name: (lines[name]["spearman"], lines[name]["n"]) if name in lines else None)
    if "system" in names:
        systems = set(load(Output.open(path), ["system"]).array("system").to_pylist())
        excluded = (HUMAN_SYSTEM,) if HUMAN_SYSTEM in systems else ()
        found = evaluate(path, EvaluateOptions(exclude_systems=excluded, resamples=0))["correlations"]
        line: Any = next(line for line in found if (line["human"], line["level"]) == (rating, "system"))
        kinds = ("pearson", "spearman", "kendall")
        yield from _compare(data, lambda name: (line[name], line["n"]) if name in kinds else None)
