"""How often a gate fails although nothing changed, and how large a change it finds.

The hits among the changed rows of two runs are a sum of independent parts: an added row adds its hit, a removed one
takes its own away, and a rewritten one, a pair, does both. Kept rows have the labels they had. The distribution of the
sum is the inverse Fourier transform of its characteristic function, which is a product; large runs take the normal
distribution. Rows that are correlated count as fewer, by their design effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from .gates import ROUNDING

POWER = 0.8
NIGHTS = 30
_MOST = 5_000
"""Changed rows up to which the distribution is exact."""
_STEPS = 24

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Rows:
    """What may change in a group from one run to the next.

    ``n``: rows that the rate is over. ``added``, ``removed``: those that are new and that went; ``pairs``: those with
    another text for the same facts. ``correlation``: of the hits of both halves of a pair. ``effect``: design effect.
    """

    n: float
    added: float
    removed: float
    pairs: float = 0.0
    correlation: float = 0.0
    effect: float = 1.0

    @classmethod
    def all_new(cls, n: float, effect: float = 1.0) -> Rows:
        """Two runs of ``n`` rows that share none."""
        return cls(n, n, n, effect=effect)


def rings(rows: Rows, threshold: float, before: float, difference: float = 0.0) -> float:
    """Probability that a gate on the increase of a rate fails.

    Args:
        threshold: the largest increase of the rate that still passes.
        before: true rate of the rows that change, before.
        difference: true increase of the rate over all ``n`` rows, which only added and rewritten rows make.
    """
    added, removed, pairs = (round(one / rows.effect) for one in (rows.added, rows.removed, rows.pairs))
    n, fresh = rows.n / rows.effect, added + pairs
    now = min(1.0, max(0.0, before + (difference * n / fresh if fresh else 0.0)))
    both = before * now + rows.correlation * math.sqrt(before * (1 - before) * now * (1 - now))
    gained, lost = (max(0.0, one - min(both, one)) for one in (now, before))
    # What is more than `threshold` above the rate before, whatever the sizes of the two runs.
    most = n * (threshold + ROUNDING) + (added - removed) * before
    if added + removed + pairs > _MOST:
        mean = added * now - removed * before + pairs * (gained - lost)
        variance = added * now * (1 - now) + removed * before * (1 - before)
        variance += pairs * (gained + lost - (gained - lost) ** 2)
        return 0.5 * math.erfc((most - mean) / math.sqrt(2 * variance)) if variance else float(mean > most)
    chances = _distribution(added, now, removed, before, pairs, gained, lost)
    first = math.floor(most) + 1 + removed + pairs
    return float(min(1.0, max(0.0, chances[max(first, 0) :].sum())))


def detectable(rows: Rows, threshold: float, before: float, power: float = POWER) -> float | None:
    """The smallest true increase that the gate finds with this power; ``None`` when none does. See :func:`rings`."""
    fresh = rows.added + rows.pairs
    low, high = 0.0, (1.0 - before) * min(1.0, fresh / rows.n if rows.n else 0.0)
    if rings(rows, threshold, before, high) < power:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if rings(rows, threshold, before, middle) >= power else (middle, high)
    return high


def threshold_of(rows: Rows, before: float, chance: float) -> float:
    """The smallest threshold that chance alone passes at most that often."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if rings(rows, middle, before) <= chance else (middle, high)
    return high


@dataclass(frozen=True)
class Spread:
    """Standard deviation and skewness of values between 0 and 1, from a histogram."""

    deviation: float
    skewness: float

    @classmethod
    def of(cls, histogram: Sequence[int]) -> Spread:
        """From counts in bins of equal width, at least one. The deviation is the largest that values in these bins can
        have: each is taken to be at the end of its bin that is farther from the mean."""
        width = 1 / len(histogram)
        share = np.array(histogram) / sum(histogram)
        centres = (np.arange(len(histogram)) + 0.5) * width
        away = centres - float(share @ centres)
        deviation = math.sqrt(float(share @ (np.abs(away) + width / 2) ** 2))
        return cls(deviation, float(share @ away**3) / deviation**3)


def mean_falls(rows: Rows, threshold: float, spread: Spread) -> float:
    """Probability that a mean falls by more than ``threshold`` by chance: the normal distribution with Edgeworth's
    first correction, for the skewness. The halves of pairs count as independent, which is too often."""
    changed = rows.added + rows.removed + 2 * rows.pairs
    if not changed:
        return 0.0
    z = -threshold / _deviation(rows, spread)
    skewness = spread.skewness * (rows.added - rows.removed) / math.sqrt(changed**3 / rows.effect)
    normal = NormalDist()
    return min(1.0, max(0.0, normal.cdf(z) - skewness * (z * z - 1) * normal.pdf(z) / 6))


def detectable_fall(rows: Rows, threshold: float, spread: Spread, power: float = POWER) -> float:
    """The smallest true fall of a mean that a gate finds with this power. See :func:`mean_falls`."""
    return threshold + NormalDist().inv_cdf(power) * _deviation(rows, spread)


def _deviation(rows: Rows, spread: Spread) -> float:
    """Of the difference of two means."""
    return spread.deviation * math.sqrt((rows.added + rows.removed + 2 * rows.pairs) * rows.effect) / rows.n


def index_exceeds(rows: Rows, threshold: float) -> float:
    """Probability that the stability index of ten buckets exceeds ``threshold`` by chance: with (1/n + 1/m) as its
    unit it has a chi-squared distribution of nine degrees of freedom (Yurdakul & Naranjo 2020, Statistical properties
    of the population stability index, Journal of Risk Model Validation 14)."""
    changed = (rows.added + rows.removed + 2 * rows.pairs) * rows.effect
    if not changed:
        return 0.0
    x = threshold * rows.n**2 / changed
    series = 1 + x / 3 + x**2 / 15 + x**3 / 105
    return math.erfc(math.sqrt(x / 2)) + math.sqrt(2 * x / math.pi) * math.exp(-x / 2) * series


def scaled(rows: Rows, n_before: float) -> Rows:
    """For a baseline of another size: as many removed rows as vary as much on the scale of this run's ``n``."""
    return replace(rows, removed=rows.removed * (rows.n / n_before) ** 2) if n_before else rows


def any_of(chances: Iterable[float]) -> float:
    """The chance of at least one of independent failures."""
    passes = 1.0
    for chance in chances:
        passes *= 1.0 - chance
    return 1.0 - passes


def in_nights(chance: float, nights: int = NIGHTS) -> float:
    """The chance of at least one failure in so many nights."""
    return 1.0 - (1.0 - chance) ** nights


def _distribution(
    added: int, now: float, removed: int, before: float, pairs: int, gained: float, lost: float
) -> Floats:
    """Probabilities of the sum of hits, from -(removed + pairs) to added + pairs."""
    size = added + removed + 2 * pairs + 1
    angle = 2 * np.pi * np.arange(size) / size
    up, down = np.exp(-1j * angle), np.exp(1j * angle)
    terms = (1 - now + now * up) ** added * (1 - before + before * down) ** removed
    terms = terms * (1 - gained - lost + gained * up + lost * down) ** pairs
    # Shifted, so that the smallest sum comes first.
    return np.asarray(np.fft.ifft(terms * up ** (removed + pairs)).real)
