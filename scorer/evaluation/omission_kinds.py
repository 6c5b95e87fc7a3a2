"""Omitted facts by kind, said wrongly or left out, against counts of slots. The gold has the numbers of a row's facts
with another value in the text (``valerr``) and without any (``missing``), but not the facts, so rows are compared."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from ..metric import ColumnNames
from ..stats.intervals import Rate, rate
from .gold import Scored, finite

GOLD = {"said_wrongly": "valerr", "left_out": "missing"}
"""The kinds, and the counts of their gold; a column may have the prefix ``gold_``."""
COLUMNS = ("omitted", "contradicted")


class KindFigures(TypedDict):
    """Figures of one kind of omitted facts."""

    gold: str
    """Column of the gold counts."""
    rows: int
    """Rows with omitted facts of this kind by the gold."""
    precision: Rate
    """Share of right rows among those with such facts by the metric."""
    recall: Rate
    """Share of right rows among those with such facts by the gold."""


def kind_figures(scored: Scored, names: ColumnNames) -> dict[str, KindFigures] | None:
    """Figures of each kind over the rows with known contradicted facts and gold; ``None`` where there are none."""
    gold_names = {kind: next(filter(scored.has, (f"gold_{name}", name)), None) for kind, name in GOLD.items()}
    columns = [names.output(name) for name in COLUMNS]
    if None in gold_names.values() or not all(map(scored.has, columns)):
        return None
    omitted, wrong = (_lengths(scored, name) for name in columns)
    counts = {kind: finite(scored.array(name), name) for kind, name in gold_names.items() if name is not None}
    is_judged = (wrong >= 0) & np.all([~np.isnan(count) for count in counts.values()], axis=0)
    if not is_judged.any():
        return None
    predictions = {"said_wrongly": wrong > 0, "left_out": omitted > wrong}
    return {
        kind: _figures(gold_names[kind] or "", (counts[kind] > 0)[is_judged], predictions[kind][is_judged])
        for kind in GOLD
    }


def _figures(name: str, gold: npt.NDArray[np.bool_], predicted: npt.NDArray[np.bool_]) -> KindFigures:
    hits = int((gold & predicted).sum())
    return {
        "gold": name,
        "rows": int(gold.sum()),
        "precision": rate(hits, int(predicted.sum())),
        "recall": rate(hits, int(gold.sum())),
    }


def _lengths(scored: Scored, name: str) -> npt.NDArray[np.int64]:
    """The length of each list, -1 for null. int64, *Shape:* (rows,)."""
    lengths = pc.fill_null(pc.list_value_length(scored.array(name)), -1)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)
