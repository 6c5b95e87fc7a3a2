"""Facts that a text says wrongly against those that it leaves out, on E2E: by fact, and by row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.quality.labels import score
from benchmarks.quality.sets import E2E, E2E_TEMPLATES, Row, read_file, sample
from scorer.evaluation.calibration import ranking
from scorer.evaluation.challenge_set import TEMPLATES
from scorer.evaluation.gold import Scored
from scorer.evaluation.label_figures import Ends, Mask
from scorer.evaluation.omission_kinds import KindFigures, kind_figures
from scorer.metric import ColumnNames
from scorer.metric.fact_templates import Templates
from scorer.metric.facts import Triple
from scorer.metric.verdict import CONTRADICTION, passes
from scorer.scoring.scorer import Scorer
from scorer.stats.intervals import Rate, share_rate

FURTHER_THRESHOLD = 0.9
Say = Callable[[str], None]


class AbsentFact(NamedTuple):
    """A fact that its text does not say, by the gold."""

    input: str
    text: str
    triple: Triple
    wrong: bool
    """Whether the text says another value."""


class ThresholdShares(NamedTuple):
    """Shares of absent facts that are called contradicted from a threshold on."""

    threshold: float
    wrong: Rate
    """Of the facts with another value in the text."""
    left_out: Rate
    """Of the facts that the text leaves out."""


class FactFigures(NamedTuple):
    """Facts of E2E that fail their check and are absent by the gold, under one template file."""

    templates: str
    """Whose templates they are."""
    shares: list[ThresholdShares]
    auc: float | None
    """Area under the ROC curve of P(contradiction), wrong values against facts left out."""
    interval: Ends
    passed: int
    """Absent facts that pass their check, which are left out of all figures."""


def absent_facts(rows: list[Row]) -> list[AbsentFact]:
    """The facts that the text has fewer times than the input, by ``gold_diff``: slot → value → count. A fact is wrong
    where the text has another value of its slot."""
    facts = []
    for row in rows:
        slots: dict[str, dict[str, int]] = json.loads(row["gold_diff"])
        for fact in row["triples"]:
            counts = slots.get(fact["predicate"], {})
            if counts.get(fact["object"], 0) < 0:
                wrong = any(count > 0 for count in counts.values())
                facts.append(AbsentFact(row["mr"], row["text"], Triple(**fact), wrong))
    return facts


def by_fact(data: Path, bundle: str, say: Say, **options: Any) -> list[FactFigures]:
    """Shares of the absent facts of all public rows that are called contradicted, by template file."""
    facts = absent_facts(read_file(data / E2E).to_pylist())
    say(f"{len(facts):,} facts")
    files = {"challenge set": TEMPLATES, "paper": data / E2E_TEMPLATES}
    with Scorer(bundle, log=say, **options) as scorer:
        return [_by_fact(scorer, facts, name, Templates.load(file)) for name, file in files.items()]


def _by_fact(scorer: Scorer, facts: list[AbsentFact], name: str, templates: Templates) -> FactFigures:
    measured = scorer.engine.bundle.contradiction
    probabilities = scorer.score_pairs(
        [fact.text for fact in facts], [templates.fill(fact.triple).text for fact in facts]
    )
    fails = ~passes(probabilities) & ~np.isnan(probabilities[:, CONTRADICTION])
    contradiction = probabilities[fails, CONTRADICTION].astype(np.float64)
    wrong = np.array([fact.wrong for fact in facts])[fails]
    inputs = np.unique([fact.input for fact in facts], return_inverse=True)[1][fails]
    thresholds = [FURTHER_THRESHOLD] if measured is None else [measured.threshold, FURTHER_THRESHOLD]
    shares = [_shares(threshold, contradiction, wrong, inputs) for threshold in thresholds]
    area = ranking(-contradiction, wrong, inputs)
    return FactFigures(name, shares, area["roc_auc"], area.get("interval"), int((~fails).sum()))


def _shares(
    threshold: float, contradiction: npt.NDArray[np.float64], wrong: Mask, inputs: npt.NDArray[np.int64]
) -> ThresholdShares:
    called = contradiction >= np.float32(threshold)
    of_kind = (share_rate(called[kind], inputs[kind]) for kind in (wrong, ~wrong))
    return ThresholdShares(threshold, *of_kind)


def by_row(data: Path, rows: int, bundle: str, say: Say) -> dict[str, dict[str, KindFigures] | None]:
    """Figures of :func:`.kind_figures` for a sample of the public rows, and for all rows with a wrong value."""
    table = read_file(data / E2E)
    wrong = table.filter(pa.array([count > 0 for count in table["gold_valerr"].to_pylist()]))
    parts = {f"{rows:,} rows": sample(table, rows), "rows with a wrong value": wrong}
    figures = {}
    for name, part in parts.items():
        kept = part.select(["id", "triples", "text", "gold_valerr", "gold_missing"])
        scored = score(kept, bundle, say, templates=data / E2E_TEMPLATES, checks="omission")
        figures[name] = kind_figures(Scored(scored.combine_chunks(), None, True), ColumnNames())
    return figures
