"""Scores against human ratings: correlations by sentence and by system, and all metrics of a file next to one another,
marked where they see references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Literal, TypedDict

import numpy as np
import pyarrow as pa

from ..errors import ColumnError
from ..metric import ColumnNames
from ..metric.verdict import FINE, ROUGH
from ..scoring.output_columns import label_codes, list_reduced
from . import correlation
from .correlation import Correlation, Estimate, Levels
from .gold import Scored, finite, human_ratings
from .label_figures import Floats, Indices, Mask

Level = Literal["sentence", "system"]
RATINGS = (
    *("human_semantics", "human_correctness", "human_coverage", "human_relevance", "human_fluency"),
    *("human_grammar", "human_textstructure", "human_quality", "human_naturalness"),
)
"""Names of rating columns that are used without an option, those about content first."""
ALL = "all"
OURS = ("confidence", "min:fact_entailment", "mean:fact_entailment", "text_entailment")
_REFERENCES = (
    *("sacrebleu_bleu", "sacrebleu_chrf", "sacrebleu_ter", "nist", "rouge_l", "cider", "meteor_exact_stem"),
    *("bertscore_precision", "bertscore_recall", "bertscore_f1", "bleu", "meteor", "ter", "chrf"),
)
"""Of ``benchmarks/paper/rivals`` and of the data's files."""
_ERROR_RATES = ("sacrebleu_ter", "ter", "slot_error_rate")
_WITHOUT = ("entities", "slot_error_rate")
HAS_TEXT = "has_text"
"""1 where the text is not empty: a metric that looks at nothing else."""
_REDUCTIONS = ("min", "mean", "neg")


class CorrelationLine(Correlation):
    """A metric with a rating. All names are ``None`` in the line that stands for no correlation."""

    metric: str | None
    """Name of the metric."""
    human: str | None
    """Column of the rating."""
    level: Level | None
    """Rows, or means of systems."""


class MetricLine(TypedDict):
    """A metric with a rating."""

    metric: str
    """Name of the metric."""
    human: str
    """Column of the rating."""
    references: bool | None
    """Whether the metric uses references; ``None`` for an unknown metric."""
    pooled: Estimate
    """Correlation over the rows with a text."""
    pooled_with_empty: Estimate
    """Correlation over all rows, without an interval."""
    within: Estimate
    """Mean over inputs of the correlation within the input, of rows with a text."""
    system: Estimate
    """Correlation of the systems' means of all rows."""


def rating_columns(names: list[str], requested: tuple[str, ...]) -> list[str]:
    """The columns of human ratings: the requested ones, otherwise the known names that exist."""
    return list(requested) if requested else [name for name in RATINGS if name in names]


def base_column(metric: str) -> str:
    """``min:fact_entailment`` → ``fact_entailment``, ``neg:ter`` → ``ter``."""
    reduction, colon, column = metric.partition(":")
    return column if colon and reduction in _REDUCTIONS else metric


def known_metrics(columns: Iterable[str], names: ColumnNames) -> list[str]:
    """The metrics that a file with these columns has, as ``--metric`` names them. ``names``: columns of its run."""
    existing = set(columns)
    metrics = [name for name in OURS if {base_column(name), names.output(base_column(name))} & existing]
    return metrics + [
        f"neg:{name}" if name in _ERROR_RATES else name for name in (*_WITHOUT, *_REFERENCES) if name in existing
    ]


class Ratings:
    """Metrics and human ratings of one table, each float64, *Shape:* (rows,), NaN where there is no value.

    Attributes:
        scored: the table.
        names: column names of the run.
        columns: columns of human ratings.
        levels: correlations by level.
    """

    def __init__(
        self, scored: Scored, names: ColumnNames, columns: list[str], system: str, inputs: Indices, resamples: int
    ) -> None:
        self.scored, self.names, self.columns = scored, names, columns
        self.levels = Levels(inputs, scored.groups(system)[0] if scored.has(system) else None, resamples)

    def metric(self, name: str, *, required: bool = True) -> Floats | None:
        """A score column; an output column takes precedence over another of the same name. ``fine`` and ``rough`` are 1
        for OK and 0 otherwise.

        Raises:
            ColumnError: missing although ``required``, or not numeric.
        """
        column = base_column(name)
        stored = next(filter(self.scored.has, (self.names.output(column), column)), None)
        if stored is None:
            if not required:
                return None
            raise ColumnError(f"--metric {name!r}: the scored files have no column {column!r}; name one that they have")
        array = self.scored.array(stored)
        if name in ("fine", "rough"):
            codes = label_codes(array, FINE if name == "fine" else ROUGH, stored)
            return np.where(codes < 0, np.nan, codes == 0)
        if name.startswith("neg:"):
            return -finite(array, stored)
        if column == name:
            return finite(array, stored)
        kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_null)
        if not pa.types.is_list(array.type) or not any(is_kind(array.type.value_type) for is_kind in kinds):
            raise ColumnError(f"--metric {name!r}: column {stored!r} is {array.type}, not a list of numbers")
        return finite(pa.array(list_reduced(array, name.partition(":")[0])), stored)

    def correlations(self, metrics: Sequence[str]) -> list[CorrelationLine]:
        """Every metric with every rating, by sentence and by system."""
        lines = []
        for name, column in product(metrics, self.columns):
            value, rating, levels = self.metric(name), human_ratings(self.scored, column), self.levels
            assert value is not None
            by_sentence = correlation.correlate(value, rating, levels.inputs, levels.resamples)
            lines.append(CorrelationLine(metric=name, human=column, level="sentence", **by_sentence))
            if levels.systems is not None:
                metric_means, rating_means = correlation.system_means([value, rating], levels.systems)
                by_system = correlation.correlate(metric_means, rating_means)
                if levels.resamples and by_system["spearman"] is not None:
                    by_system["interval"] = {"spearman": levels.by_system(value, rating)["interval"]}
                lines.append(CorrelationLine(metric=name, human=column, level="system", **by_system))
        return lines

    def table(self, metrics: Sequence[str], has_text: Mask) -> list[MetricLine]:
        """A line for each metric and column of ratings. ``has_text``: bool, *Shape:* (rows,)."""
        lines = []
        for column, name in product(self.columns, dict.fromkeys([*metrics, HAS_TEXT])):
            human = human_ratings(self.scored, column)
            value = has_text.astype(np.float64) if name == HAS_TEXT else self.metric(name)
            if value is None or np.isnan(value).all():
                continue
            base, shown = base_column(name), np.where(has_text, value, np.nan)
            is_known = name in (HAS_TEXT, *OURS) or base in (*_WITHOUT, *_REFERENCES)
            line = MetricLine(
                metric=name,
                human=column,
                references=base in _REFERENCES if is_known else None,
                pooled=self.levels.pooled(shown, human),
                pooled_with_empty=self.levels.pooled(value, human, with_interval=False),
                within=self.levels.within(shown, human),
                system=self.levels.by_system(value, human),
            )
            lines.append(line)
        return lines
