"""Direct standardisation: the share that a run would have with the group sizes of an earlier run.

It is Σ w·p over the groups, with the earlier run's shares of rows as weights (Fleiss, Levin & Paik, Statistical Methods
for Rates and Proportions, 3rd edition 2003, chapter 19). The interval of a difference combines the groups' intervals by
the square root of Σ (w · distance to the limit)² (Zou, Huang & Zhang, Computational Statistics & Data Analysis 53,
2009, 1080-1085).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stratum:
    """A group in both runs."""

    weight: float
    """Number of rows that it represents, above 0."""
    now: float
    """Share in the later run."""
    before: float
    """Share in the earlier run."""
    low: float | None = None
    """Lower limit of the 95 % interval of the difference; ``None`` without an interval."""
    high: float | None = None
    """Upper limit of the 95 % interval of the difference."""


@dataclass(frozen=True)
class Standardised:
    """Shares of two runs at one mix of groups, and the 95 % interval of their difference."""

    now: float
    """Share of the later run."""
    before: float
    """Share of the earlier run."""
    low: float | None
    """Lower limit of the difference; ``None`` where a group has no interval."""
    high: float | None
    """Upper limit of the difference."""


def standardise(strata: Sequence[Stratum], effect: float = 1.0) -> Standardised | None:
    """Both shares at the mix of the strata's weights; ``None`` without a stratum.

    Args:
        effect: variance of the weighted sum over that of independent groups, for groups that share inputs.
    """
    total = sum(stratum.weight for stratum in strata)
    if not total:
        return None
    later = sum(stratum.weight * stratum.now for stratum in strata) / total
    earlier = sum(stratum.weight * stratum.before for stratum in strata) / total
    below = above = 0.0
    for stratum in strata:
        if stratum.low is None or stratum.high is None:
            return Standardised(later, earlier, None, None)
        difference = stratum.now - stratum.before
        below += (stratum.weight * (difference - stratum.low)) ** 2
        above += (stratum.weight * (stratum.high - difference)) ** 2
    down, up = (math.sqrt(effect * squares) / total for squares in (below, above))
    return Standardised(later, earlier, max(-1.0, later - earlier - down), min(1.0, later - earlier + up))
