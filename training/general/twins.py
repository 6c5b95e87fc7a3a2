"""A true pair and a false one that differ in as little as their kind allows.

Counterfactual pairs (Kaushik, Hovy & Lipton, ICLR 2020, "Learning the Difference that Makes a Difference"): with the
same draws the names, the wordings and the other facts are the same, and what is left to learn is what was changed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def twins(make: Callable[[bool, random.Random], T], rng: random.Random) -> tuple[T, T]:
    """What `make` makes for True and for False, each from the same state of `rng`."""
    drawn = rng.getstate()
    true = make(True, rng)
    rng.setstate(drawn)
    return true, make(False, rng)
