"""Confidences by group in sorted order: four bytes a row, and no index of rows.

Rows without a confidence (NaN) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .document import BINS, Confidence

QUANTILES = (0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)
_BLOCK = 1 << 20

Floats = npt.NDArray[np.float32]
Groups = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Confidences:
    """``values``: float32, *Shape:* (rows with one,), by group, rising in each. ``ends``: int64, *Shape:*
    (groups + 1,). ``means``: of each group, ``None`` without rows."""

    values: Floats
    ends: npt.NDArray[np.int64]
    means: list[float | None]

    @classmethod
    def of(
        cls, confidence: Floats, groups: Groups, count: int, chosen: npt.NDArray[np.bool_] | None = None
    ) -> Confidences:
        """Of the rows of a run, or of the ``chosen`` ones. *Shape:* (rows,) each."""
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(confidence), _BLOCK)]
        sizes = np.zeros(count, np.int64)
        for block in blocks:
            sizes += np.bincount(_group(confidence, groups, chosen, block)[0], minlength=count)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        values = np.empty(int(ends[-1]), np.float32)
        cursor = ends[:-1].copy()
        for block in blocks:
            group, found = _group(confidence, groups, chosen, block)
            order = np.argsort(group, kind="stable")
            here = np.bincount(group, minlength=count)
            first = np.cumsum(here) - here
            values[np.arange(len(group)) + np.repeat(cursor - first, here)] = found[order]
            cursor += here
        slices = [values[start:end] for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
        # In the order of the rows, since the last digits of a sum depend on it.
        means = [float(one.mean(dtype=np.float64)) if len(one) else None for one in slices]
        for one in slices:
            one.sort()
        return cls(values, ends, means)

    def __getitem__(self, group: int) -> Floats:
        """Of one group, in rising order."""
        return self.values[self.ends[group] : self.ends[group + 1]]

    def distribution(self, group: int) -> Confidence:
        """As the document shows it."""
        values = self[group]
        cuts = quantiles(values) if len(values) else [None] * len(QUANTILES)
        return Confidence(
            n=len(values),
            mean=self.means[group],
            quantiles={f"{q:.2f}": cut for q, cut in zip(QUANTILES, cuts, strict=True)},
            histogram=np.histogram(values, BINS, (0.0, 1.0))[0].tolist(),
        )


def _group(confidence: Floats, groups: Groups, chosen: npt.NDArray[np.bool_] | None, block: slice) -> tuple[Any, Any]:
    """Groups and confidences of the rows of a block that count."""
    values = confidence[block]
    there = ~np.isnan(values)
    if chosen is not None:
        there &= chosen[block]
    return groups[block][there], values[there]


def quantiles(values: Floats) -> list[float | None]:
    """:data:`QUANTILES` of rising values, at least one, interpolated in float64 as :func:`numpy.quantile` does."""
    place = (len(values) - 1) * np.array(QUANTILES)
    below = np.floor(place).astype(np.int64)
    low, high = (values[np.minimum(at, len(values) - 1)].astype(np.float64) for at in (below, below + 1))
    part, step = place - below, high - low
    found: list[float | None] = np.where(part < 0.5, low + step * part, high - step * (1 - part)).tolist()
    return found
