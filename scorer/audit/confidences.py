"""Confidences by group in rising order. Rows without one are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .document import BINS, Confidence

QUANTILES = (0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Confidences:
    """``values``: float32, *Shape:* (rows with one,), by group, rising in each. ``ends``: int64, *Shape:*
    (groups + 1,)."""

    values: Floats
    ends: npt.NDArray[np.int64]

    def __getitem__(self, group: int) -> Floats:
        """Of one group, in rising order."""
        return self.values[self.ends[group] : self.ends[group + 1]]

    def distribution(self, group: int) -> Confidence:
        """As the document shows it."""
        values = self[group]
        cuts = quantiles(values) if len(values) else [None] * len(QUANTILES)
        return Confidence(
            n=len(values),
            mean=float(values.mean(dtype=np.float64)) if len(values) else None,
            quantiles={f"{q:.2f}": cut for q, cut in zip(QUANTILES, cuts, strict=True)},
            histogram=np.histogram(values, BINS, (0.0, 1.0))[0].tolist(),
        )


def quantiles(values: Floats) -> list[float | None]:
    """:data:`QUANTILES` of rising values, at least one, interpolated in float64 as :func:`numpy.quantile` does."""
    place = (len(values) - 1) * np.array(QUANTILES)
    below = np.floor(place).astype(np.int64)
    low, high = (values[np.minimum(at, len(values) - 1)].astype(np.float64) for at in (below, below + 1))
    part, step = place - below, high - low
    found: list[float | None] = np.where(part < 0.5, low + step * part, high - step * (1 - part)).tolist()
    return found
