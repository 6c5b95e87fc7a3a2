"""Long sweeps: the fast suite takes a sample of their values, the slow one the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], one_of: int) -> list[Any]:
    """Every `one_of`-th value as it is, the others marked as slow. A tuple gives several parameters."""
    found = []
    for i, value in enumerate(values):
        parts = value if isinstance(value, tuple) else (value,)
        found.append(pytest.param(*parts, marks=[pytest.mark.slow] if i % one_of else []))
    return found
