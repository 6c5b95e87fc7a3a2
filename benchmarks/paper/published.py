"""The figures that the papers print, next to those of a scored output.

The published figures are of 13,230 (E2E), 2,230 (WebNLG17) and 2,848 rows (WebNLG20), ``roberta-large-mnli`` and the
papers' templates; FactSpotter's are Pearson, Spearman and Kendall of means by system, without the human one.
"""

from __future__ import annotations

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


Figures = dict[str, tuple[float | None, int]]
"""By the name of a figure, ours and n, as in :class:`Comparison`."""


def against(path: Path) -> list[Comparison]:
    names = set(Output.open(path).names)
    ours: dict[str, Figures] = {}
    if "gold_fine" in names:
        ours["e2e"] = label_figures(evaluate(path, EvaluateOptions(human=(), resamples=0)))
    for data, rating in _RATING.items():
        if rating in names:
            ours[data] = _rating_figures(data, path, rating, names)
    return [
        Comparison(row.source, row.row, name, published, *ours[row.data][name])
        for row in ROWS
        for name, published in row.figures.items()
        if name in ours.get(row.data, {})
    ]


def label_figures(report: LabelReport) -> Figures:
    found: Figures = {
        f"{block}.{name}": (report[block][name], report[block]["n"])
        for block, names in (("fine", ("accuracy",)), ("rough", ("accuracy", "recall", "precision", "f1")))
        for name in names
    }
    rho = report["correlation"]
    return found if rho is None else found | {"rho": (rho["spearman"], rho["n"])}


def _rating_figures(data: str, path: Path, rating: str, names: set[str]) -> Figures:
    found: Figures = {}
    if data == "webnlg17":
        found = label_figures(evaluate(path, EvaluateOptions(human=(rating,), threshold=2.5, resamples=0)))
    overlap = tuple(sorted({"bleu", "meteor"} & names))
    if overlap:
        lines = evaluate(path, EvaluateOptions(human=(rating,), metrics=overlap, resamples=0))["correlations"]
        found |= {line["metric"]: (line["spearman"], line["n"]) for line in lines if line["level"] == "sentence"}
    if "system" in names:
        systems = set(load(Output.open(path), ["system"]).array("system").to_pylist())
        excluded = (HUMAN_SYSTEM,) if HUMAN_SYSTEM in systems else ()
        lines = evaluate(path, EvaluateOptions(exclude_systems=excluded, resamples=0))["correlations"]
        line: Any = next(line for line in lines if (line["human"], line["level"]) == (rating, "system"))
        found |= {name: (line[name], line["n"]) for name in ("pearson", "spearman", "kendall")}
    return found


def errors_by_facts(path: Path) -> dict[str, Any] | None:
    """Spearman's correlation of the number of facts with right labels; ``None`` without gold labels."""
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
