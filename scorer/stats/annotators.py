"""Human labels are sometimes wrong: how often, from rows labelled twice, and the rate that this leaves.

With ``miss`` the share of wrong rows that a person labels right, and ``alarm`` the share of right rows labelled wrong,
a share q of labels means a true share p = (q − alarm) / (1 − miss − alarm) (Rogan & Gladen, American Journal of
Epidemiology 107, 1978). Both are estimated from the rows that two people labelled independently. The classes of the
metric have different true shares, which identifies them (Hui & Walter, Biometrics 36, 1980). All unknowns have
Jeffreys' prior, with miss and alarm below a half; the interval is the middle 95 % of the rate's posterior, so it
has the uncertainty about the annotators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from .intervals import wilson

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ERRORS = 40
_SHARES = 160
_DRAWS = 4_000
_SEED = 1978


@dataclass(frozen=True)
class LabelCounts:
    """Labels of one class of the metric. ``weight``: its share of all rows. ``ones`` of ``labels``: of the rows that
    were labelled once (an effective number). ``both``, ``one``, ``none``: rows labelled twice, by how many said 1."""

    weight: float
    ones: float
    labels: float
    both: float = 0.0
    one: float = 0.0
    none: float = 0.0


@dataclass(frozen=True)
class LabelErrors:
    """The posterior of (miss, alarm) on a grid. ``mass``: *Shape:* (cells,), sum 1."""

    mass: Floats

    def mean(self) -> tuple[float, float]:
        """The expected miss and alarm."""
        miss, alarm, _ = _grid()
        return float((self.mass * miss).sum()), float((self.mass * alarm).sum())


def label_errors(classes: Sequence[LabelCounts]) -> LabelErrors:
    """How often people are wrong, from all labels."""
    log = sum((_log_total(_log_likelihood(one)) for one in classes), np.zeros(_ERRORS**2))
    mass = np.exp(log - log.max())
    return LabelErrors(mass / mass.sum())


def corrected(classes: Sequence[LabelCounts], errors: LabelErrors) -> tuple[float, float, float]:
    """The true rate: the median of its posterior, and its 95 % interval."""
    rng = np.random.default_rng(_SEED)
    cells = np.searchsorted(np.cumsum(errors.mass), (np.arange(_DRAWS) + rng.random()) / _DRAWS)
    cells = np.minimum(cells, _ERRORS**2 - 1)
    shares = _grid()[2]
    rate = np.zeros(_DRAWS)
    for one in classes:
        log = _log_likelihood(one)[cells]
        mass = np.cumsum(np.exp(log - log.max(axis=1, keepdims=True)), axis=1)
        at = rng.permutation(_DRAWS) + rng.random(_DRAWS)
        chosen = (mass < (at / _DRAWS * mass[:, -1])[:, None]).sum(axis=1)
        rate += one.weight * shares[np.minimum(chosen, _SHARES - 1)]
    low, value, high = np.quantile(rate, (0.025, 0.5, 0.975)).tolist()
    return value, low, high


def krippendorff(first: Ints, second: Ints) -> tuple[float | None, float | None, float | None]:
    """Krippendorff's α of two annotators for nominal labels (Content Analysis, 1980), with its 95 % interval.

    The interval is that of the share of disagreements (Wilson), over the disagreement that chance gives.
    ``None`` where all labels are the same, which leaves nothing to disagree about. *Shape:* (rows,) each.
    """
    n = 2 * len(first)
    if n < 4:
        return None, None, None
    counts = np.unique(np.concatenate([first, second]), return_counts=True)[1].astype(float)
    chance = float((counts * (n - counts)).sum()) / (n * (n - 1))
    if chance == 0:
        return None, None, None
    different = int((first != second).sum())
    low, high = wilson(different, len(first))
    return 1 - different / len(first) / chance, 1 - high / chance, 1 - low / chance


@cache
def _grid() -> tuple[Floats, Floats, Floats]:
    """Miss and alarm of every cell, *Shape:* (cells,), and shares, *Shape:* (shares,); equally likely by Jeffreys."""
    below_half = np.sin((np.arange(_ERRORS) + 0.5) / _ERRORS * (np.pi / 4)) ** 2
    shares = np.sin((np.arange(_SHARES) + 0.5) / _SHARES * (np.pi / 2)) ** 2
    return np.repeat(below_half, _ERRORS), np.tile(below_half, _ERRORS), shares


def _log_likelihood(one: LabelCounts) -> Floats:
    """Of each cell and share. *Shape:* (cells, shares)."""
    miss, alarm, p = _grid()
    miss, alarm = miss[:, None], alarm[:, None]
    said = p * (1 - miss) + (1 - p) * alarm
    both = p * (1 - miss) ** 2 + (1 - p) * alarm**2
    none = p * miss**2 + (1 - p) * (1 - alarm) ** 2
    mixed = 2 * (p * miss * (1 - miss) + (1 - p) * alarm * (1 - alarm))
    terms = ((one.ones, said), (one.labels - one.ones, 1 - said), (one.both, both), (one.one, mixed), (one.none, none))
    return np.asarray(sum(count * np.log(chance) for count, chance in terms if count > 0) + np.zeros_like(said))


def _log_total(log: Floats) -> Floats:
    """Sum over the shares. *Shape:* (cells, shares) → (cells,)."""
    most = log.max(axis=1)
    return np.asarray(most + np.log(np.exp(log - most[:, None]).sum(axis=1)))
