"""True rates of all rows and of groups, with intervals, alongside the metric's own and the labels' alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...stats import post_stratified as post
from ...stats.intervals import Z, wilson_of_share
from ...stats.post_stratified import ClassShare
from .population import RATES, Bools, Floats, Ints, Population
from .sampling import Drawn

_SIDE = {"omission_rate": 1, "hallucination_rate": 2}


@dataclass(frozen=True)
class Labelled:
    """Rows with a label of people. ``rows``: their numbers; ``strata``: positions in ``design``, int64; ``fine``: int8,
    -1 where only ``rough`` is known; ``rough``: int8. *Shape:* (labels,) each. ``designed``: drawn by ``scorer
    sample``, otherwise taken to be a simple random sample. ``skipped``: rows of the sample that nobody labelled."""

    rows: Ints
    strata: Ints
    fine: npt.NDArray[np.int8]
    rough: npt.NDArray[np.int8]
    design: list[Drawn]
    designed: bool
    skipped: int = 0

    def truth(self, rate: str) -> tuple[Floats, Bools]:
        """Whether each labelled row counts for a rate, 0 or 1, and which labels say so."""
        if rate == RATES[0]:
            return (self.rough > 0).astype(np.float64), self.rough >= 0
        return (self.fine & _SIDE[rate] > 0).astype(np.float64), self.fine >= 0


@dataclass(frozen=True)
class Interval:
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class TrueRate:
    """One rate of one group.

    ``rows``, ``labels``: of the group. ``metric``: the metric's own rate. ``true``: the estimate. ``labels_alone``:
    from the labels without the metric. ``classes``: what the labels say of the rows that the metric calls 0 and 1.
    """

    rate: str
    group: str | None
    rows: int
    labels: int
    metric: float
    true: Interval
    labels_alone: Interval
    classes: tuple[ClassShare, ...]

    @property
    def metric_inside(self) -> bool:
        """Whether the metric's own rate is in the interval."""
        return self.true.low <= self.metric <= self.true.high

    @property
    def alone_for_same_width(self) -> int:
        """Labels of random rows that would give as narrow an interval without the metric."""
        return _random_labels(self.true, self.rows)

    @property
    def saved(self) -> int:
        """How many labels the metric saved; negative where a plain random sample would have been better."""
        return self.alone_for_same_width - self.labels

    @property
    def more_to_halve(self) -> int | None:
        """Further labels, drawn in the same way, that would halve the interval; ``None`` if all rows do not suffice."""
        times = post.times_to_halve(self.classes)
        more = math.ceil((times - 1) * self.labels) if math.isfinite(times) else self.rows
        return more if more <= self.rows - self.labels else None


def true_rates(population: Population, labelled: Labelled, by: str | None = None) -> list[TrueRate]:
    """The rates of all rows, then of each group of a column in order; groups without any label are left out."""
    found = [rate for name in population.rates for rate in _of(population, labelled, name, None, None)]
    if by is None:
        return found
    codes, names = population.groups(by)
    pooled = {rate.rate: rate.classes for rate in found}
    for code, name in enumerate(names):
        for rate in population.rates:
            if rate in pooled:
                found += _of(population, labelled, rate, codes == code, str(name), pooled[rate])
    return found


def _of(
    population: Population,
    labelled: Labelled,
    rate: str,
    group: Bools | None,
    name: str | None,
    pooled: tuple[ClassShare, ...] = (),
) -> Iterator[TrueRate]:
    """The rate of a group; nothing where it has no label. ``pooled``: the classes of all rows."""
    inside = np.ones(len(population), bool) if group is None else group
    truth, known = labelled.truth(rate)
    rows, strata, truth = labelled.rows[known], labelled.strata[known], truth[known]
    mine = inside[rows]
    if not mine.any():
        return
    drawn = np.bincount(strata, minlength=len(labelled.design)).astype(np.int64)
    sizes = np.array([stratum.rows for stratum in labelled.design], np.int64)
    predicted = population.predicted(rate)
    total = int(inside.sum())
    classes = []
    for label in (False, True):
        weight = float((inside & (predicted == label)).sum()) / total
        if weight == 0:
            continue
        fallback = next((one.value for one in pooled if one.predicted == label), float(label))
        here = mine & (predicted[rows] == label)
        classes.append(post.class_share(weight, truth, here, strata, drawn, sizes, fallback, label))
    alone = _alone(truth, mine, (sizes / np.maximum(drawn, 1))[strata], total)
    own = Interval(post.estimate(classes), *post.interval(classes))
    metric = float((inside & predicted).sum()) / total
    labels = int(mine.sum())
    yield TrueRate(rate, name, total, labels, metric, own, alone, tuple(classes))


def _alone(truth: Floats, mine: Bools, weights: Floats, rows: int) -> Interval:
    """The labels without the metric: their weighted share, and Wilson's interval for Kish's effective number of them.

    What the strata gain is left out, because the strata come from the metric.
    """
    weights = weights[mine]
    share = float((weights * truth[mine]).sum() / weights.sum())
    size = float(weights.sum()) ** 2 / float((weights**2).sum())
    return Interval(share, *wilson_of_share(share, _of_finite(size, rows)))


def _of_finite(size: float, rows: int) -> float:
    """The effective number of labels when they are drawn from so many rows without replacement."""
    return size * rows / (rows - size) if size < rows else math.inf


def _random_labels(interval: Interval, rows: int) -> int:
    """Rows of a simple random sample whose Wilson interval is as narrow, at most all rows."""
    share, width = interval.value, interval.width
    if width <= 0:
        return rows
    low, high = 1, 2 * math.ceil((Z / width) ** 2) + 8
    while low < high:
        middle = (low + high) // 2
        bounds = wilson_of_share(share, _of_finite(middle, rows))
        if bounds[1] - bounds[0] > width:
            low = middle + 1
        else:
            high = middle
    return min(low, rows)
