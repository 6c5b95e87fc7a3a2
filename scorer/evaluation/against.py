"""Two metrics on the same gold: the difference of their accuracies, and of their correlations with ratings.

Both have judged the same texts, so that rows are pairs: McNemar's test for accuracies, and a paired bootstrap over
inputs for correlations, which depend on each other because they share the rating (Graham & Baldwin, EMNLP 2014).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Literal, TypedDict

import numpy as np
import pyarrow as pa

from ..errors import ColumnError, UsageError
from ..scoring.output_columns import NO_LABEL
from ..scoring.outputs import Output
from ..stats.paired import PairedRate, paired_rate, pairs_of
from . import correlation
from .gold import Scored, finite, human_ratings, load, predicted
from .label_figures import Codes, Ends, Floats, Labels, Mask, bootstrap_rows, percentiles
from .ratings import Ratings

_SIDES = {"omission": 1, "hallucination": 2}
"""The bit of a FINE code."""


class CorrelationDifference(TypedDict):
    """Correlations of two metrics with one rating, over rows that have all three.

    Attributes:
        human: column of the rating.
        kind: of the coefficient.
        n: rows.
        first: of the first metric.
        second: of the second.
        difference: of the first minus the second.
        interval: 95 %, by a paired bootstrap over inputs; ``None`` without inputs or resamples.
    """

    human: str
    kind: Literal["pearson", "spearman"]
    n: int
    first: float | None
    second: float | None
    difference: float | None
    interval: Ends


class AgainstBlock(TypedDict):
    """Output of ``scorer evaluate --against``.

    Attributes:
        path: the other output.
        signature: of the other output.
        rows: that both have, and whose gold is known.
        missing: rows with gold that the other output lacks.
        accuracy: of ``rough``, ``fine``, and of each side, of both; the first is OUT.
        correlations: of both confidences with each rating.
    """

    path: str
    signature: str | None
    rows: int
    missing: int
    accuracy: dict[str, PairedRate]
    correlations: list[CorrelationDifference]


class Compared:
    """The rows of an output that another one has, too. ``places``: their numbers in the other, -1 where it lacks
    one. int64, *Shape:* (rows,)."""

    def __init__(self, scored: Scored, prefix: str, other: Output) -> None:
        key, self.prefix = "row_key", other.columns.prefix
        self.other = load(other, [self.prefix + name for name in ("fine", "rough", "confidence", key)])
        for table, column, name in ((scored, prefix + key, "OUT"), (self.other, self.prefix + key, other.name)):
            if not table.has(column):
                raise ColumnError(
                    f"--against needs the column {column!r}, which says which rows agree; {name} has none"
                )
        waiting: dict[bytes, list[int]] = defaultdict(list)
        for row, value in enumerate(_keys(self.other, self.prefix + key)):
            waiting[value].append(row)
        places = [waiting[value].pop(0) if waiting[value] else -1 for value in _keys(scored, prefix + key)]
        self.places = np.array(places, np.int64)

    def codes(self) -> tuple[Codes | None, Codes]:
        """FINE and ROUGH labels of the other metric for the rows here; -1 where it has none."""
        fine, rough = predicted(self.other, self.prefix)
        return None if fine is None else self._here(fine), self._here(rough)

    def confidence(self) -> Floats:
        """Its confidence; NaN where it has none. float64, *Shape:* (rows,)."""
        column = self.prefix + "confidence"
        if not self.other.has(column):
            return np.full(len(self.places), np.nan)
        values = finite(self.other.array(column), column)
        return np.where(self.places < 0, np.nan, values[self.places])

    def _here(self, codes: Codes) -> Codes:
        return np.where(self.places < 0, NO_LABEL, codes[self.places]).astype(np.int8)


def _keys(scored: Scored, column: str) -> list[bytes]:
    return [value or b"" for value in scored.array(column).cast(pa.binary()).to_pylist()]


def compare_metrics(
    scored: Scored, labels: Labels | None, ratings: Ratings, other: Output, note: Callable[[str], None]
) -> AgainstBlock:
    """Compare the metric of an output with that of another one of the same rows.

    Args:
        labels: predictions and gold; ``None`` without gold labels.
        ratings: human ratings, with the prefix of the output columns.

    Raises:
        ColumnError: one output has no row keys. UsageError: they share no row.
    """
    rows = Compared(scored, ratings.prefix, other)
    is_shared = rows.places >= 0
    if not is_shared.any():
        raise UsageError(f"--against {other.name} has none of these rows; score the same file with the other metric")
    judged = is_shared if labels is None else is_shared & (labels.gold_rough >= 0)
    missing = int(((labels.gold_rough >= 0) & ~is_shared).sum()) if labels is not None else int((~is_shared).sum())
    if missing:
        note(f"{other.name} lacks {missing:,} of the rows, which are left out of the comparison")
    lines: list[CorrelationDifference] = []
    if (own := ratings.metric("confidence", required=False)) is not None:
        for column in ratings.columns:
            lines += _correlations(column, human_ratings(scored, column), own, rows.confidence(), ratings.levels)
    return AgainstBlock(
        path=other.name,
        signature=rows.other.signature,
        rows=int(judged.sum()),
        missing=missing,
        accuracy=_accuracies(labels, rows, judged) if labels is not None and judged.any() else {},
        correlations=lines,
    )


def _accuracies(labels: Labels, rows: Compared, judged: Mask) -> dict[str, PairedRate]:
    """Shares of right labels of both metrics. A row without a label is not_OK, and wrong for FINE and its sides."""
    fine, rough = rows.codes()
    right = {"rough": [np.where(codes < 0, 1, codes) == labels.gold_rough for codes in (labels.rough, rough)]}
    if labels.gold_fine is not None and labels.fine is not None and fine is not None:
        gold = labels.gold_fine
        right["fine"] = [codes == gold for codes in (labels.fine, fine)]
        for side, bit in _SIDES.items():
            right[side] = [(codes >= 0) & ((codes & bit) == (gold & bit)) for codes in (labels.fine, fine)]
        has_gold = judged & (gold >= 0)
    else:
        has_gold = judged
    return {
        name: paired_rate(pairs_of(one[where], two[where], labels.inputs[where]))
        for name, (one, two) in right.items()
        if (where := judged if name == "rough" else has_gold).any()
    }


def _correlations(
    column: str, human: Floats, first: Floats, second: Floats, levels: correlation.Levels
) -> list[CorrelationDifference]:
    there = ~(np.isnan(human) | np.isnan(first) | np.isnan(second))
    values = human[there], first[there], second[there]
    kinds: tuple[Literal["spearman", "pearson"], ...] = ("spearman", "pearson")
    statistics = {kind: correlation.statistic(kind) for kind in kinds}
    draws: dict[str, list[float]] = {kind: [] for kind in kinds}
    has_interval = correlation.MINIMUM <= len(values[0]) <= correlation.INTERVAL_ROWS["spearman"]
    resamples = levels.resamples if has_interval and correlation.available() else 0
    for rows in bootstrap_rows(levels.inputs[there], resamples) if resamples else ():
        rating, one, other = (array[rows] for array in values)
        for kind, compute in statistics.items():
            draws[kind].append(compute(one, rating) - compute(other, rating))
    lines: list[CorrelationDifference] = []
    for kind, compute in statistics.items():
        own, others = (_plain(compute(metric, values[0])) for metric in values[1:])
        difference = None if own is None or others is None else own - others
        ends = percentiles(np.array(draws[kind])) if draws[kind] else None
        lines.append(
            CorrelationDifference(
                human=column,
                kind=kind,
                n=len(values[0]),
                first=own,
                second=others,
                difference=difference,
                interval=ends,
            )
        )
    return lines


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value
