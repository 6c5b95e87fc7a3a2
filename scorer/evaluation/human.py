"""Scores against human ratings: the columns that hold them, and correlations by sentence and by system."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import ColumnError
from ..metric.verdict import FINE, ROUGH
from ..scoring.output_columns import group_codes, label_codes, list_reduced, numbers
from . import correlation
from .bootstrap import Floats, Indices
from .gold import Scored
from .label_report import (
    ComparisonLine,
    CorrelationLine,
    Differences,
    Level,
    RatingBlocks,
)

RATINGS = (
    "human_semantics",
    "human_correctness",
    "human_coverage",
    "human_relevance",
    "human_fluency",
    "human_grammar",
    "human_textstructure",
    "human_quality",
    "human_naturalness",
)
"""Names of rating columns that are used without an option, those about content first."""

LEVELS: tuple[Level, ...] = ("sentence", "system")

_REDUCTIONS = ("min", "mean", "neg")


def rating_columns(names: list[str], given: tuple[str, ...]) -> list[str]:
    """The columns of human ratings: the given ones, otherwise the known names that exist."""
    return list(given) if given else [name for name in RATINGS if name in names]


def base_column(metric: str) -> str:
    """The column that a metric is computed from: ``min:fact_entailment`` → ``fact_entailment``, ``neg:ter`` →
    ``ter``."""
    how, colon, column = metric.partition(":")
    return column if colon and how in _REDUCTIONS else metric


def _is_number(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_floating, pa.types.is_integer, pa.types.is_null))


def _finite(values: Floats) -> Floats:
    """A value that is not finite is none."""
    return np.where(np.isfinite(values), values, np.nan)


class Ratings:
    """Metrics and human ratings of one table, each float64, *Shape:* (rows,), NaN where there is no value."""

    def __init__(self, scored: Scored, prefix: str, columns: list[str], system: str, inputs: Indices) -> None:
        self.scored, self.prefix, self.columns, self.inputs = scored, prefix, columns, inputs
        self.systems: Indices | None = None
        self.system_names: list[Any] = []
        if scored.has(system):
            self.systems, self.system_names = group_codes(scored.array(system))

    def human(self, column: str) -> Floats:
        """A column of ratings.

        Raises:
            ColumnError: missing or not numeric.
        """
        if not self.scored.has(column):
            raise ColumnError(f"no column {column!r} of human ratings; name an existing column with --human")
        return _finite(numbers(self.scored.array(column), column))

    def metric(self, name: str, *, required: bool = True) -> Floats | None:
        """A score column; an output column takes precedence over another of the same name. ``fine`` and ``rough`` are 1
        for OK and 0 otherwise.

        Raises:
            ColumnError: missing although ``required``, or not numeric.
        """
        column = base_column(name)
        found = next((c for c in (self.prefix + column, column) if self.scored.has(c)), None)
        if found is None:
            if not required:
                return None
            raise ColumnError(f"--metric {name!r}: the scored files have no column {column!r}; name one that they have")
        array = self.scored.array(found)
        if column in ("fine", "rough") and column == name:
            codes = label_codes(array, FINE if column == "fine" else ROUGH, found)
            return np.where(codes < 0, np.nan, codes == 0)
        if name.startswith("neg:"):
            return _finite(-numbers(array, found))
        if column != name:
            if not pa.types.is_list(array.type) or not _is_number(array.type.value_type):
                raise ColumnError(f"--metric {name!r}: column {found!r} is {array.type}, not a list of numbers")
            return _finite(list_reduced(array, name.partition(":")[0]))
        return _finite(numbers(array, found))

    def blocks(self, metrics: list[str], resamples: int) -> RatingBlocks:
        """The JSON blocks of ratings: ``correlation`` of the first metric with the first rating, all ``correlations``,
        and the comparisons of the first metric with the others."""
        values: dict[str, Floats] = {}
        for name in metrics:
            found = self.metric(name, required=bool(self.columns))
            if found is not None:
                values[name] = found
        lines = [
            line
            for name, value in values.items()
            for column in self.columns
            for line in self.lines(name, value, column, resamples)
        ]
        nothing = CorrelationLine(metric=None, human=None, level=None, n=0, pearson=None, spearman=None, kendall=None)
        return RatingBlocks(
            correlation=lines[0] if lines else nothing,
            correlations=lines,
            comparisons=self._comparisons(values),
        )

    def lines(self, name: str, value: Floats, column: str, resamples: int = 0) -> list[CorrelationLine]:
        """One metric with one rating, by sentence and by system."""
        rating = self.human(column)
        by_sentence = correlation.correlate(value, rating, self.inputs, resamples)
        lines = [CorrelationLine(metric=name, human=column, level="sentence", **by_sentence)]
        if self.systems is not None:
            one, other = correlation.system_means([value, rating], self.systems, len(self.system_names))
            by_system = correlation.correlate(one, other)
            if resamples and by_system["spearman"] is not None:
                ends = correlation.Levels(self.inputs, self.systems, resamples).by_system(value, rating)["interval"]
                by_system["interval"] = {"spearman": ends}
            lines.append(CorrelationLine(metric=name, human=column, level="system", **by_system))
        return lines

    def _comparisons(self, values: dict[str, Floats]) -> list[ComparisonLine]:
        """The first metric compared with every other one, by their correlations with the first rating."""
        names = list(values)
        if not self.columns or len(names) < 2:
            return []
        column = self.columns[0]
        rating = self.human(column)
        lines = []
        for level in LEVELS if self.systems is not None else LEVELS[:1]:
            found = [self._compared(values[names[0]], values[other], rating, level) for other in names[1:]]
            for other, one in zip(names[1:], correlation.corrected(found), strict=True):
                lines.append(ComparisonLine(first=names[0], second=other, human=column, level=level, **one))
        return lines

    def _compared(self, first: Floats, second: Floats, rating: Floats, level: Level) -> Differences:
        if level == "sentence" or self.systems is None:
            return correlation.compare(first, second, rating, self.inputs)
        one, other, human = correlation.system_means([first, second, rating], self.systems, len(self.system_names))
        return correlation.compare(one, other, human)
