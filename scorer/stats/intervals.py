"""Shares with their 95 % intervals.

A share has Wilson's score interval (1927), which stays within [0, 1] and is valid at 0 and 1. The interval of a
difference between disjoint samples combines the squared distances to their Wilson limits (Newcombe 1998, Statistics in
Medicine 17, 873-890, method 10).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypedDict

Z = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""


class Rate(TypedDict):
    """``count`` of ``n`` rows or facts, their share, and its 95 % interval (Wilson)."""

    count: int
    n: int
    value: float | None
    low: float | None
    high: float | None


def wilson(count: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of the share ``count`` / ``n``, for ``n`` > 0."""
    low, high = wilson_of_share(count / n, n)
    return (0.0 if count == 0 else low), (1.0 if count == n else high)


def wilson_of_share(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of ``n`` rows; ``n`` may be an effective number, 0 or infinite."""
    if n == 0:
        return 0.0, 1.0
    if math.isinf(n):
        return share, share
    z2 = Z * Z
    centre = share + z2 / (2 * n)
    half = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    low, high = (centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n)
    return max(0.0, low), min(1.0, high)


def rate(count: int, n: int) -> Rate:
    """A share with its interval; nulls when ``n`` is 0."""
    count, n = int(count), int(n)
    if n == 0:
        return Rate(count=count, n=0, value=None, low=None, high=None)
    low, high = wilson(count, n)
    return Rate(count=count, n=n, value=count / n, low=low, high=high)


def combined(difference: float, parts: Iterable[tuple[float, int, int]], variance: float = 0.0) -> tuple[float, float]:
    """Interval of a difference that is a weighted sum of shares of disjoint samples, and of a constant.

    Args:
        parts: (weight, count, n) of each sample; a negative weight subtracts. Samples without rows are ignored.
        variance: of any other uncertainty in the difference, assumed to be normal.
    """
    below = above = (Z * Z) * variance
    for weight, count, n in parts:
        if n == 0:
            continue
        share = count / n
        low, high = wilson(count, n)
        down, up = (share - low, high - share) if weight >= 0 else (high - share, share - low)
        below += (weight * down) ** 2
        above += (weight * up) ** 2
    return max(-1.0, difference - math.sqrt(below)), min(1.0, difference + math.sqrt(above))
