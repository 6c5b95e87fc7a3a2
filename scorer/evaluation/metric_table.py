"""All metrics of a scored file next to one another: ``scorer evaluate OUT --metric all``.

A metric that sees references has an advantage over one that does not, and one that was trained on a domain over one
that was not; so both are marked. No line says that one metric is better than another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from .correlation import Levels
from .human import Ratings, base_column
from .label_report import MetricLine

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


def known_metrics(names: Iterable[str], prefix: str) -> list[str]:
    """The metrics that a file with these columns has, as ``--metric`` names them."""
    there = set(names)
    found = [name for name in OURS if {base_column(name), prefix + base_column(name)} & there]
    return found + [
        f"neg:{name}" if name in _ERROR_RATES else name for name in (*_WITHOUT, *_REFERENCES) if name in there
    ]


def metric_lines(
    ratings: Ratings,
    metrics: Sequence[str],
    trained: Sequence[str],
    has_text: npt.NDArray[np.bool_],
    resamples: int,
) -> list[MetricLine]:
    """A line for each metric and column of ratings.

    Args:
        trained: metrics that were trained on this domain, as the user says.
        has_text: bool, *Shape:* (rows,).
    """
    levels = Levels(ratings.inputs, ratings.systems, resamples)
    lines = []
    for column in ratings.columns:
        human = ratings.human(column)
        for name in dict.fromkeys([*metrics, HAS_TEXT]):
            value = has_text.astype(np.float64) if name == HAS_TEXT else ratings.metric(name)
            if value is None or np.isnan(value).all():
                continue
            base = base_column(name)
            shown = np.where(has_text, value, np.nan)
            known = name == HAS_TEXT or base in (*_WITHOUT, *_REFERENCES)
            lines.append(
                MetricLine(
                    metric=name,
                    human=column,
                    references=base in _REFERENCES if known or name in OURS else None,
                    trained=True if name in trained else False if known else None,
                    pooled=levels.pooled(shown, human),
                    pooled_with_empty=levels.pooled(value, human, resamples=0),
                    within=levels.within(shown, human),
                    system=levels.by_system(value, human),
                )
            )
    return lines
