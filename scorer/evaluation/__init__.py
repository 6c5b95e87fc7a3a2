"""Scores compared with gold labels and human ratings: the figures of the papers; rows to label, and true rates.

Only the correlations need more than the run-time dependencies: the extra ``stats``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..storage.location import StoreUri
from ..system.arguments import CheckedFields, option


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(CheckedFields):
    """Options of an evaluation: gold, ratings, metrics, groups, intervals."""

    against: Path | StoreUri | None = None
    """Output of the same rows by another metric, to compare with."""
    gold_fine: str | None = option("Column of FINE gold labels. Default: gold_fine, if it exists.", "NAME", None)
    gold_rough: str | None = option("Column of ROUGH gold labels. Default: gold_rough, if it exists.", "NAME", None)
    human: tuple[str, ...] = option("Column of human ratings. Repeatable. Default: all known ones.", "NAME", ())
    threshold: float | None = option(
        "Use OK as the gold label where the first human rating is at least X; exits 2 without ratings.", "X", None
    )
    metrics: tuple[str, ...] = option(
        "Column to correlate with ratings: NAME, min:NAME or mean:NAME of lists, neg:NAME of an error rate. "
        "Repeatable. all: all known metrics, next to one another. Default: confidence.",
        "NAME",
        (),
        name="--metric",
    )
    by: tuple[str, ...] = option("Further column to group by. Repeatable.", "NAME", ())
    system: str = option("Column that names the system.", "NAME", "system", name="--system-column")
    exclude_systems: tuple[str, ...] = option("Exclude this system. Repeatable.", "NAME", (), name="--exclude-system")
    calibration: bool = option(
        "Show how often rows of each confidence are OK, also after isotonic regression.", default=False
    )
    resamples: int = option("Number of bootstrap samples of inputs; 0 for no intervals.", "N", 1000, min=0)
    inputs: str | None = option(
        "Column that identifies the input. Default: the facts.", "NAME", None, name="--input-column"
    )
    prefix: str | None = option("Prefix of the run's output columns. Default: from its plan.", "P", None)
    allow_partial: bool = option("Accept an output that is not finished, or of which parts are missing.", default=False)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(CheckedFields):
    """Options of a comparison."""

    by: str = option("Column that names the system.", "COLUMN", "system")
    inputs: str | None = option(
        "Column that identifies the input. Default: the facts.", "NAME", None, name="--input-column"
    )
    exclude_notes: tuple[str, ...] = option(
        "Leave out texts with this note, for example other_language. Repeatable.", "NOTE", (), name="--exclude-note"
    )
    allow_partial: bool = option("Accept an output that is not finished, or of which parts are missing.", default=False)


@dataclass(frozen=True, kw_only=True)
class RowQuery:
    """Rows of an output to list, and in which order."""

    not_ok: bool = option("Only rows that are not OK, or have an error.", default=False)
    labels: tuple[str, ...] = option("Only rows with this FINE label. Repeatable.", "LABEL", (), name="--label")
    where: str | None = option("Only rows for which this condition holds, as DuckDB reads it.", "SQL", None)
    sort: str | None = option("Column to sort by, for example confidence; -COLUMN: falling.", "COLUMN", None)
    limit: int | None = option("Maximum number of rows. Default: 20, or all for a format.", "N", None, min=0)
    columns: str | None = option(
        "Comma-separated columns, by their names or the usual ones. Default: label and text, or all for a format.",
        "NAMES",
        None,
    )
    allow_partial: bool = option("Accept an output that is not finished, or of which parts are missing.", default=False)
