"""How often a gate fails although nothing changed, and how large a change it finds.

The hits among the changed rows of two runs are a sum of independent parts: an added row adds its hit, a removed one
takes its own away, and a rewritten one, a pair, does both. Kept rows have the labels they had. The distribution of the
sum is the inverse Fourier transform of its characteristic function, which is a product; large runs take the normal
distribution. Rows that are correlated count as fewer, by their design effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
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
