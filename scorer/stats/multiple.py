"""Many tests at once: the corrections of Holm and of Benjamini and Hochberg, and the p-value of a 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

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


def benjamini_hochberg(p: Sequence[float]) -> npt.NDArray[np.float64]:
    """p-values corrected so that the expected share of false alarms among the alarms is bounded.

    Benjamini & Hochberg (1995), Journal of the Royal Statistical Society B 57, 289-300. *Shape:* (n,) → (n,).
    """
    values = np.asarray(p, np.float64)
    n = len(values)
    order = np.argsort(values)[::-1]
    scaled = values[order] * n / np.arange(n, 0, -1)
    corrected = np.empty(n)
    corrected[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return corrected


def p_of_interval(value: float, low: float, high: float, null: float) -> float:
    """Two-sided p-value of ``null``: the distance to it in standard errors of the interval's side towards it.

    It is below .05 exactly where the 95 % interval does not contain ``null``.
    """
    if value == null:
        return 1.0
    side = (value - low if null < value else high - value) / Z
    return math.erfc(abs(value - null) / side / math.sqrt(2)) if side > 0 else 0.0
