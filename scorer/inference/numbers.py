"""Check numbers that were read from a file, since a user may have edited it."""

from __future__ import annotations

from math import isfinite
from typing import Any


def finite(value: Any) -> float | None:
    """A finite number that JSON gave as a number, else ``None``: no string, no bool, no NaN."""
    if type(value) not in (int, float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if isfinite(found) else None
