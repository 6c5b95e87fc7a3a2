"""The challenge set scored: by a bundle, or by a baseline of the literature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...metric.inputs import ColumnNames, find_columns
from ...metric.triples import Triple
from ...scoring.output_columns import fine_codes, numbers
from ...scoring.scorer import Scorer
from ..baselines.judges import Judge, KeywordsJudge, SlotsJudge
from .build import TRIPLES
from .case import Case
from .domains import RESTAURANT

WINDOW = 512
BASELINES = ("keywords", "e2e-slots")
Row = tuple[tuple[Triple, ...], str]


@dataclass(frozen=True)
class Answers:
    """What a metric says of rows. ``fine``: int8, -1 for an error, *Shape:* (rows,). ``facts``: by row, P(entailment)
    of each fact, ``None`` where not known. ``text``: P(entailment) of all facts → text, NaN where not known,
    float64, *Shape:* (rows,)."""

    fine: npt.NDArray[np.int8]
    facts: list[list[float | None] | None]
    text: npt.NDArray[np.float64]


class Metric(Protocol):
    """A metric that can be challenged. ``name``: for people. ``signature``: what its scores depend on."""

    name: str
    signature: str

    def fits(self, case: Case) -> bool:
        """Whether it can judge such facts at all."""
        ...

    def answer(self, rows: Sequence[Row], progress: Callable[[int], None]) -> Answers:
        """Judge rows; ``progress`` is told how many were judged each time."""
        ...


class BundleMetric:
    """A bundle, opened with the templates of the challenge set."""

    def __init__(self, name: str, scorer: Scorer) -> None:
        self.name, self.signature, self._scorer = name, scorer.signature, scorer

    def fits(self, case: Case) -> bool:
        return True

    def answer(self, rows: Sequence[Row], progress: Callable[[int], None]) -> Answers:
        found = []
        for table in self._scorer.score_batches(_table(rows[i : i + WINDOW]) for i in range(0, len(rows), WINDOW)):
            found.append(table)
            progress(len(table))
        whole = pa.concat_tables(found, promote_options="permissive").combine_chunks()
        return _answers({name: whole[name].combine_chunks() for name in ("fine", "fact_entailment", "text_entailment")})


class BaselineMetric:
    """A baseline by its name. ``e2e-slots`` knows restaurants alone."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._judge: Judge = KeywordsJudge() if name == "keywords" else SlotsJudge()
        self.signature = f"baseline:{self._judge.name}"

    def fits(self, case: Case) -> bool:
        slots = {attribute.predicate for attribute in RESTAURANT.attributes}
        one_name = len({triple.subject for triple in case.triples}) == 1
        return self.name != "e2e-slots" or (one_name and all(triple.predicate in slots for triple in case.triples))

    def answer(self, rows: Sequence[Row], progress: Callable[[int], None]) -> Answers:
        table = _table(rows)
        columns = find_columns(table.schema, ColumnNames())
        progress(len(rows))
        return _answers(dict(self._judge.columns(columns.rows(table), table)))


def _table(rows: Sequence[Row]) -> pa.Table:
    return pa.table(
        {
            "triples": pa.array([[triple._asdict() for triple in triples] for triples, _ in rows], TRIPLES),
            "text": [text for _, text in rows],
        }
    )


def _answers(columns: dict[str, pa.Array]) -> Answers:
    return Answers(
        fine_codes(columns["fine"], "fine"),
        columns["fact_entailment"].to_pylist(),
        numbers(columns["text_entailment"], "text_entailment"),
    )
