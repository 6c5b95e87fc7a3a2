"""How large a change must be for a gate against the baseline to find it, and how often it fails without any.

Two runs of ``rows`` rows each, all of them new, of which shares ``before`` and ``before + difference`` are bad. The
gate fails when the difference of the two observed shares is above its threshold ``t``. By the normal approximation it
finds a difference d with 80 % power when d = t + 0.84 · √(p(1 − p)/n + (p + d)(1 − p − d)/n); here the two binomial
distributions are taken as they are. Rows that did not change have the label they had, so that real runs, where most
rows are kept, vary less than this.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .gates import ROUNDING

POWER = 0.8
MOST_ROWS = 5_000
"""Rows for which callers compute; larger runs vary less, and their distributions take longer."""
_STEPS = 40

Floats = npt.NDArray[np.floating[Any]]


def rings(rows: int, threshold: float, before: float, difference: float) -> float:
    """Probability that a gate fails.

    Args:
        rows: of each run.
        threshold: the largest increase of the share that still passes.
        before: true share of the baseline.
        difference: true increase since then.
    """
    now = min(max(before + difference, 0.0), 1.0)
    one, other = _binomial(rows, before), np.cumsum(_binomial(rows, now))
    # Of k bad rows in the baseline, the most that still pass.
    most = np.floor(np.arange(rows + 1) + rows * (threshold + ROUNDING)).astype(np.int64)
    passing = np.where(most >= rows, 1.0, other[np.clip(most, 0, rows)])
    return float(1.0 - (one * passing).sum())


def detectable(rows: int, threshold: float, before: float, power: float = POWER) -> float | None:
    """The smallest true increase that the gate finds with this power; ``None`` when none does. See :func:`rings`."""
    low, high = 0.0, 1.0 - before
    if rings(rows, threshold, before, high) < power:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if rings(rows, threshold, before, middle) >= power else (middle, high)
    return high


def _binomial(n: int, p: float) -> Floats:
    """P(k of n). float64, *Shape:* (n + 1,)."""
    k = np.arange(n + 1)
    if p <= 0 or p >= 1:
        return (k == (0 if p <= 0 else n)).astype(np.float64)
    factorial = np.array([math.lgamma(i + 1) for i in range(n + 1)])
    return np.asarray(np.exp(factorial[n] - factorial - factorial[::-1] + k * math.log(p) + (n - k) * math.log1p(-p)))
