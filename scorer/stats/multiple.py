"""Many tests at once: Holm's correction, and the p-value that belongs to a 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .intervals import Z


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values (Holm, Scandinavian Journal of Statistics 6, 1979); ``None`` is no test and stays ``None``."""
    order = sorted((p, place) for place, p in enumerate(values) if p is not None)
    found: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        found[place] = largest
    return found


def p_of_interval(value: float, low: float, high: float, null: float) -> float:
    """Two-sided p-value of ``null``: the distance to it in standard errors of the interval's side towards it.

    It is below .05 exactly where the 95 % interval does not contain ``null``.
    """
    if value == null:
        return 1.0
    side = (value - low if null < value else high - value) / Z
    return math.erfc(abs(value - null) / side / math.sqrt(2)) if side > 0 else 0.0
