"""Omitted facts by kind, said wrongly or left out, against counts of slots: the gold says how many of a row's facts
have another value in the text (``valerr``) and how many are ``missing``, not which ones, so that rows are compared."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from ..stats.intervals import Rate, rate
from .gold import Scored, finite

GOLD = {"said_wrongly": "valerr", "left_out": "missing"}
"""The kinds, and the counts of their gold; a column may have the prefix ``gold_``."""
COLUMNS = ("omitted", "contradicted")


class KindFigures(TypedDict):
    """``gold``: the column. ``rows``: that have omitted facts of this kind by the gold. ``precision``: of rows that
    have some by the metric; ``recall``: of those that have some by the gold."""

    gold: str
    rows: int
    precision: Rate
    recall: Rate


def kind_figures(scored: Scored, prefix: str) -> dict[str, KindFigures] | None:
    """Figures of each kind over the rows whose contradicted facts are known; ``None`` without such rows or gold."""
    names = {kind: next(filter(scored.has, (f"gold_{name}", name)), None) for kind, name in GOLD.items()}
    columns = [prefix + name for name in COLUMNS]
    if None in names.values() or not all(map(scored.has, columns)):
        return None
    omitted, wrong = (_lengths(scored, name) for name in columns)
    counts = {kind: finite(scored.array(name), name) for kind, name in names.items() if name is not None}
    known = (wrong >= 0) & np.all([~np.isnan(one) for one in counts.values()], axis=0)
    if not known.any():
        return None
    found = {"said_wrongly": wrong > 0, "left_out": omitted > wrong}
    return {kind: _figures(names[kind] or "", (counts[kind] > 0)[known], found[kind][known]) for kind in GOLD}


def _figures(name: str, gold: npt.NDArray[np.bool_], found: npt.NDArray[np.bool_]) -> KindFigures:
    hits = int((gold & found).sum())
    return {
        "gold": name,
        "rows": int(gold.sum()),
        "precision": rate(hits, int(found.sum())),
        "recall": rate(hits, int(gold.sum())),
    }


def _lengths(scored: Scored, name: str) -> npt.NDArray[np.int64]:
    """The length of each list, -1 for null. int64, *Shape:* (rows,)."""
    lengths = pc.fill_null(pc.list_value_length(scored.array(name)), -1)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)
