"""fp32 labels at the speed of a faster variant: what is too close to call runs again in fp32.

A pair's label can differ from fp32's only where a variant moves its two highest logits past each other, that is where
they lie within twice the largest movement of a logit (for schemes with a threshold: where the logit lies that near to
the threshold's, :meth:`.schemes.Scheme.margins`). That movement is measured on pairs of the very data, in the way
they are run, and taken half as large again, since the largest of a sample is not the largest of all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..system.codec import Count, Magnitude, OpenRecord
from .batches import Batch
from .schemes import Scheme

FACTOR = 1.5
PAIRS = 4096
"""Pairs that the bound is measured on, at least, where the data has so many."""


class ExactBound(OpenRecord, frozen=True):
    """``largest``: the largest |Δlogit| between a variant and fp32 seen on ``pairs`` pairs."""

    pairs: Count
    largest: Magnitude

    @property
    def margin(self) -> float:
        """Pairs whose two highest logits are nearer than this run again."""
        return 2 * FACTOR * self.largest


def bound_of(
    fast: npt.NDArray[np.float32], fp32: npt.NDArray[np.float32], at_least: float, seen: ExactBound | None = None
) -> ExactBound:
    """The bound of two variants' logits, both float32, *Shape:* (pairs, labels), joined to what was seen before.

    Pairs that are not finite in either count for nothing: they run again in any case. ``at_least``: the bound of the
    bundle's probes, which holds as long as fewer than :data:`PAIRS` pairs were seen.
    """
    difference = np.abs(fast - fp32).max(axis=1, initial=0.0)
    difference = difference[np.isfinite(difference)]
    pairs = len(difference) + (seen.pairs if seen else 0)
    largest = max(float(difference.max(initial=0.0)), seen.largest if seen else 0.0)
    return ExactBound(pairs, largest if pairs >= PAIRS else max(largest, at_least))


def doubtful(logits: npt.NDArray[np.float32], margin: float, scheme: Scheme) -> npt.NDArray[np.bool_]:
    """Which pairs are too close to call, or not finite. float32, *Shape:* (pairs, labels) → bool, *Shape:* (pairs,)."""
    return (scheme.margins(logits) < margin) | ~np.isfinite(logits).all(axis=1)


def fixed_shapes(chosen: npt.NDArray[np.int64], padded: npt.NDArray[np.int64], size: int) -> list[Batch]:
    """Calls of exactly ``size`` pairs of one padded length that cover the ``chosen`` ones, the last pair repeated where
    a call would be short. ``padded``: int64, *Shape:* (pairs,), padded length of every pair."""
    calls = []
    lengths = padded[chosen]
    for length in np.unique(lengths)[::-1].tolist():
        group = chosen[lengths == length]
        for start in range(0, len(group), size):
            part = group[start : start + size]
            calls.append(Batch(np.concatenate([part, np.repeat(part[-1:], size - len(part))]), length))
    return calls
