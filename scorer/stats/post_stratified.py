"""A rate from a few human labels and a metric's label of every row, by post-stratification.

It is prediction-powered inference at its best weight (PPI++, Angelopoulos, Duchi & Zrnic 2023, section 6). Each class
of the metric has Wilson's interval, or the exact one (Clopper & Pearson 1934) where none or all of its labels count,
with a finite-population correction; limits are combined by MOVER (Zou & Donner, Statistics in Medicine 27, 2008).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..system.codec import Record
from .intervals import wilson_of_share

_TAIL = 0.025


class LabelledClass(Record, frozen=True, kw_only=True):
    """Rows that the metric gives one label: a stratum of the estimate."""

    label: str
    """The metric's label."""
    rows: int
    """Number of rows."""
    labels: int
    """Rows with a human label."""
    count: int
    """Rows with a human label that count for the rate."""
    assumed: float = 0.0
    """Share of rows that count where none has a human label."""

    @property
    def share(self) -> float:
        """Share of its rows that count."""
        return self.count / self.labels if self.labels else self.assumed

    @property
    def limits(self) -> tuple[float, float]:
        """The 95 % interval of :attr:`share`, which it contains."""
        return self.limits_of(effective_labels(self.labels, self.rows))

    def limits_of(self, size: float) -> tuple[float, float]:
        """The 95 % interval of :attr:`share`, of labels that say as much as ``size`` of an infinite population."""
        if not self.labels or math.isinf(size):
            return (self.share, self.share) if self.labels else (0.0, 1.0)
        if self.count in (0, self.labels):
            away = 1.0 - _TAIL ** (1.0 / size)
            return (0.0, away) if self.count == 0 else (1.0 - away, 1.0)
        return wilson_of_share(self.share, size)


def effective_labels(labels: int, rows: int) -> float:
    """Labels of an infinite population that say as much as these of ``rows`` rows, drawn without replacement."""
    return labels * (rows - 1) / (rows - labels) if labels < rows else math.inf


def estimate(classes: Sequence[LabelledClass]) -> tuple[float, float, float]:
    """The rate over all rows, and the limits of its 95 % interval."""
    rows = sum(stratum.rows for stratum in classes)
    value = sum(stratum.rows * stratum.share for stratum in classes) / rows
    below = sum((stratum.rows * (stratum.share - stratum.limits[0])) ** 2 for stratum in classes)
    above = sum((stratum.rows * (stratum.limits[1] - stratum.share)) ** 2 for stratum in classes)
    return value, max(0.0, value - math.sqrt(below) / rows), min(1.0, value + math.sqrt(above) / rows)


def random_labels(value: float, width: float, rows: int) -> int:
    """Size of a simple random sample that has as narrow an interval without a metric, at most all rows."""
    low, high = 1, rows
    while low < high:
        middle = (low + high) // 2
        limits = wilson_of_share(value, effective_labels(middle, rows))
        low, high = (middle + 1, high) if limits[1] - limits[0] > width else (low, middle)
    return low
