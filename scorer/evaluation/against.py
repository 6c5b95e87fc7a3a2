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
from ..metric import ColumnNames
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
        kind: kind of coefficient.
        n: number of rows.
        first: coefficient of the first metric.
        second: coefficient of the second metric.
        difference: the first coefficient minus the second.
        interval: 95 % interval of the difference, by a paired bootstrap over inputs; ``None`` without inputs or
            resamples.
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
        path: the rival output.
        signature: signature of the rival output.
        rows: rows with gold that both outputs have.
        missing: rows with gold that the rival output does not have.
        accuracy: accuracies of both outputs by ``rough``, ``fine`` and side; the first is OUT.
        correlations: correlations of both confidences with each rating.
    """

    path: str
    signature: str | None
    rows: int
    missing: int
    accuracy: dict[str, PairedRate]
    correlations: list[CorrelationDifference]


class Compared:
    """The rows of an output, paired with those of a rival output.

    Attributes:
        rival: columns of the rival output.
        names: column names of the rival output.
        positions: number of each row in the rival output, -1 for a row that it does not have. int64, *Shape:* (rows,).
    """

    def __init__(self, scored: Scored, names: ColumnNames, rival: Output) -> None:
        self.names = rival.columns
        key, rival_key = names.output("row_key"), self.names.output("row_key")
        self.rival = load(rival, [self.names.output(name) for name in ("fine", "rough", "confidence", "row_key")])
        for table, column, name in ((scored, key, "OUT"), (self.rival, rival_key, rival.name)):
            if not table.has(column):
                raise ColumnError(
                    f"--against needs the column {column!r}, which says which rows agree; {name} has none"
                )
        unmatched: dict[bytes, list[int]] = defaultdict(list)
        for row, value in enumerate(_keys(self.rival, rival_key)):
            unmatched[value].append(row)
        positions = [unmatched[value].pop(0) if unmatched[value] else -1 for value in _keys(scored, key)]
        self.positions = np.array(positions, np.int64)

    def codes(self) -> tuple[Codes | None, Codes]:
        """FINE and ROUGH labels of the rival for the rows of the output; -1 without one."""
        fine, rough = predicted(self.rival, self.names)
        return None if fine is None else self._align(fine), self._align(rough)

    def confidence(self) -> Floats:
        """Confidence of the rival for the rows of the output; NaN without one. float64, *Shape:* (rows,)."""
        column = self.names.output("confidence")
        if not self.rival.has(column):
            return np.full(len(self.positions), np.nan)
        values = finite(self.rival.array(column), column)
        return np.where(self.positions < 0, np.nan, values[self.positions])

    def _align(self, codes: Codes) -> Codes:
        return np.where(self.positions < 0, NO_LABEL, codes[self.positions]).astype(np.int8)


def _keys(scored: Scored, column: str) -> list[bytes]:
    return [value or b"" for value in scored.array(column).cast(pa.binary()).to_pylist()]


def compare_metrics(
    scored: Scored, labels: Labels | None, ratings: Ratings, rival: Output, note: Callable[[str], None]
) -> AgainstBlock:
    """Compare the metrics of two outputs of the same rows.

    Args:
        scored: the output.
        labels: predictions and gold of the output; ``None`` without gold labels.
        ratings: human ratings, with the column names of the output.
        rival: the output of the other metric.
        note: called with each remark for the reader of the figures.

    Raises:
        ColumnError: one output has no row keys.
        UsageError: the outputs share no row.
    """
    rows = Compared(scored, ratings.names, rival)
    is_shared = rows.positions >= 0
    if not is_shared.any():
        raise UsageError(f"--against {rival.name} has none of these rows; score the same file with the other metric")
    judged = is_shared if labels is None else is_shared & (labels.gold_rough >= 0)
    missing = int(((labels.gold_rough >= 0) & ~is_shared).sum()) if labels is not None else int((~is_shared).sum())
    if missing:
        note(f"{rival.name} lacks {missing:,} of the rows, which are left out of the comparison")
    lines: list[CorrelationDifference] = []
    if (confidence := ratings.metric("confidence", required=False)) is not None:
        for column in ratings.columns:
            lines += _correlations(column, human_ratings(scored, column), confidence, rows.confidence(), ratings.levels)
    return AgainstBlock(
        path=rival.name,
        signature=rows.rival.signature,
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
        name: paired_rate(pairs_of(first[mask], second[mask], labels.inputs[mask]))
        for name, (first, second) in right.items()
        if (mask := judged if name == "rough" else has_gold).any()
    }


def _correlations(
    column: str, human: Floats, first: Floats, second: Floats, levels: correlation.Levels
) -> list[CorrelationDifference]:
    is_complete = ~(np.isnan(human) | np.isnan(first) | np.isnan(second))
    values = human[is_complete], first[is_complete], second[is_complete]
    kinds: tuple[Literal["spearman", "pearson"], ...] = ("spearman", "pearson")
    statistics = {kind: correlation.statistic(kind) for kind in kinds}
    draws: dict[str, list[float]] = {kind: [] for kind in kinds}
    has_interval = correlation.MINIMUM <= len(values[0]) <= correlation.INTERVAL_ROWS["spearman"]
    resamples = levels.resamples if has_interval and correlation.available() else 0
    for rows in bootstrap_rows(levels.inputs[is_complete], resamples) if resamples else ():
        rating, first_draw, second_draw = (array[rows] for array in values)
        for kind, compute in statistics.items():
            draws[kind].append(compute(first_draw, rating) - compute(second_draw, rating))
    lines: list[CorrelationDifference] = []
    for kind, compute in statistics.items():
        first_value, second_value = (_plain(compute(metric, values[0])) for metric in values[1:])
        difference = None if first_value is None or second_value is None else first_value - second_value
        ends = percentiles(np.array(draws[kind])) if draws[kind] else None
        lines.append(
            CorrelationDifference(
                human=column,
                kind=kind,
                n=len(values[0]),
                first=first_value,
                second=second_value,
                difference=difference,
                interval=ends,
            )
        )
    return lines


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value
