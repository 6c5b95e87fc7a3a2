"""True rates of all rows and of groups, with intervals, alongside the metric's own and the labels' alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec
import numpy as np
import numpy.typing as npt

from ...stats import annotators
from ...stats import post_stratified as post
from ...stats.annotators import LabelCounts, LabelErrors
from ...stats.intervals import Rate, Z, combined, wilson_of_share
from ...stats.multiple import holm, p_of_interval
from ...stats.post_stratified import ClassShare, Design
from ...system.codec import Record
from .population import RATES, SIDE, Bools, Drawn, Floats, Ints, Population

LEVEL = 0.05
Codes = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Labelled:
    """Rows with a human label. ``rows``: their numbers; ``strata``: positions in ``design``, int64; ``fine``: int8,
    -1 where only ``rough`` is known; ``rough``: int8. *Shape:* (labels,) each. ``designed``: drawn by ``scorer
    sample``. ``skipped``: rows of the sample that nobody labelled. ``inputs``: input of each row where variances are
    between inputs. ``second_fine``, ``second_rough``: labels of a second person, -1 without one."""

    rows: Ints
    strata: Ints
    fine: Codes
    rough: Codes
    design: list[Drawn]
    designed: bool
    skipped: int = 0
    inputs: Ints | None = None
    second_fine: Codes | None = None
    second_rough: Codes | None = None

    def truth(self, rate: str, unknown: bool = False) -> tuple[Floats, Bools]:
        """Whether each labelled row counts for a rate, 0 or 1, and which labels say so.

        ``unknown``: what a label ``not_OK``, which names no side, counts for an omission or hallucination rate.
        """
        return _truth(self.fine, self.rough, rate, unknown)

    def open_sides(self, rate: str) -> int:
        """Labels that leave open whether they count for a rate."""
        return 0 if rate == RATES[0] else int(((self.fine < 0) & (self.rough > 0) & self.truth(rate)[1]).sum())

    def second(self, rate: str, unknown: bool) -> tuple[Floats, Bools]:
        """The same of the second person's labels."""
        if self.second_fine is None or self.second_rough is None:
            return np.zeros(len(self.rows)), np.zeros(len(self.rows), bool)
        return _truth(self.second_fine, self.second_rough, rate, unknown)


def _truth(fine: Codes, rough: Codes, rate: str, unknown: bool) -> tuple[Floats, Bools]:
    if rate == RATES[0]:
        return (rough > 0).astype(np.float64), rough >= 0
    there = fine >= 0
    open_side = (rough > 0) & ~there if there.any() or unknown else np.zeros(len(fine), bool)
    truth = np.where(there, fine & SIDE[rate] > 0, unknown)
    return truth.astype(np.float64), there | (open_side if there.any() else np.zeros(len(fine), bool))


class Interval(Record, frozen=True, kw_only=True):
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def rate(self) -> Rate:
        """The same in the form that intervals are combined from."""
        return Rate(count=0, n=0, value=self.value, low=self.low, high=self.high)


class TrueRate(Record, frozen=True, kw_only=True):
    """One rate of one group.

    ``rows``, ``labels``: of the group. ``metric``: the metric's own rate; ``p_metric``: how likely the labels are if it
    were true, corrected for the number of groups (Holm); ``metric_inside``: whether that is at least .05. ``true``: the
    estimate. ``bounds``: where ``not_OK`` labels leave the side open, the rate if none and if all of them count; then
    ``true.value`` is the larger, and the interval holds both. ``as_labelled``: the estimate with every label taken as
    right, where rows labelled twice gave a corrected one; else ``None``. ``labels_alone``: without the metric.
    ``alone_for_same_width``: labels of random rows for as narrow an interval without the metric; ``saved``: how many
    the metric saved. ``more_to_halve``: further labels that would halve the interval, ``None`` if all do not suffice.
    ``classes``: what the labels say of the rows that the metric calls 0 and 1.
    """

    rate: str
    group: str | None
    rows: int
    labels: int
    metric: float
    p_metric: float
    metric_inside: bool
    true: Interval
    bounds: tuple[float, float] | None
    as_labelled: Interval | None
    labels_alone: Interval
    alone_for_same_width: int
    saved: int
    more_to_halve: int | None
    classes: tuple[ClassShare, ...]


class Difference(Record, frozen=True, kw_only=True):
    """The rates of two groups compared, by MOVER. ``p``: corrected for the number of pairs (Holm)."""

    rate: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float


class Agreement(Record, frozen=True, kw_only=True):
    """Two people's labels of the same rows: Krippendorff's α with its interval, and how often one of them is wrong:
    ``miss`` of the rows that count, ``alarm`` of the others."""

    rate: str
    rows: int
    agree: int
    alpha: float | None
    low: float | None
    high: float | None
    miss: float
    alarm: float


def true_rates(population: Population, labelled: Labelled, by: str | None = None) -> list[TrueRate]:
    """The rates of all rows, then of each group of a column in order; groups without any label are left out."""
    every = np.ones(len(population), bool)
    found: list[TrueRate] = []
    pooled: dict[str, list[_End]] = {}
    for name in population.rates:
        ends = _ends(population, labelled, name, every, None)
        if ends:
            pooled[name] = ends
            found.append(_rate(population, labelled, name, None, every, ends))
    if by is not None:
        codes, names = population.groups(by)
        for rate, whole in pooled.items():
            lines = []
            for code, value in enumerate(names):
                ends = _ends(population, labelled, rate, codes == code, whole)
                if ends:
                    lines.append(_rate(population, labelled, rate, value, codes == code, ends))
            adjusted = holm([one.p_metric for one in lines])
            found += [
                msgspec.structs.replace(one, p_metric=p, metric_inside=p is None or p >= LEVEL)
                for one, p in zip(lines, adjusted, strict=True)
            ]
    return found


def differences(rates: Sequence[TrueRate]) -> list[Difference]:
    """Every two groups, by rate; rates of which only bounds are known are left out."""
    found = []
    for name in RATES:
        groups = [one for one in rates if one.rate == name and one.group is not None and one.bounds is None]
        lines = []
        for one, other in combinations(groups, 2):
            apart = one.true.value - other.true.value
            low, high = combined(apart, [(1.0, one.true.rate), (-1.0, other.true.rate)])
            lines.append((one, other, apart, low, high, p_of_interval(apart, low, high, 0.0)))
        adjusted = holm([line[-1] for line in lines])
        found += [
            Difference(rate=name, first=str(one.group), second=str(other.group), difference=apart, low=low, high=high,
                       p=p or 0.0)
            for (one, other, apart, low, high, _), p in zip(lines, adjusted, strict=True)
        ]  # fmt: skip
    return found


def agreement(population: Population, labelled: Labelled) -> list[Agreement]:
    """How far two people agree, by rate; nothing without rows labelled twice."""
    found = []
    for name in population.rates:
        ends = _ends(population, labelled, name, np.ones(len(population), bool), None)
        (first, known), (other, also) = labelled.truth(name), labelled.second(name, False)
        both = known & also
        if not ends or ends[0].errors is None or not both.any():
            continue
        one, two = first[both].astype(np.int64), other[both].astype(np.int64)
        alpha, low, high = annotators.krippendorff(one, two)
        miss, alarm = ends[0].errors.mean()
        found.append(
            Agreement(rate=name, rows=len(one), agree=int((one == two).sum()), alpha=alpha, low=low, high=high,
                      miss=miss, alarm=alarm)
        )  # fmt: skip
    return found


@dataclass(frozen=True)
class _End:
    """A rate with ``not_OK`` labels counted as none or as all. ``errors``: of the annotators, where known."""

    labelled: Interval
    corrected: Interval | None
    alone: Interval
    labels: int
    classes: list[ClassShare]
    errors: LabelErrors | None

    @property
    def best(self) -> Interval:
        return self.corrected or self.labelled


def _ends(
    population: Population, labelled: Labelled, rate: str, inside: Bools, pooled: Sequence[_End] | None
) -> list[_End]:
    """One end, two where labels leave the side open, none without labels in the group."""
    known = labelled.truth(rate)[1]
    if not (known & inside[labelled.rows]).any():
        return []
    ends = [False, True] if labelled.open_sides(rate) else [False]
    return [
        _end(population, labelled, rate, inside, unknown, pooled[min(number, len(pooled) - 1)] if pooled else None)
        for number, unknown in enumerate(ends)
    ]


def _end(
    population: Population, labelled: Labelled, rate: str, inside: Bools, unknown: bool, pooled: _End | None
) -> _End:
    truth, known = labelled.truth(rate, unknown)
    rows, strata, truth = labelled.rows[known], labelled.strata[known], truth[known]
    design = Design(
        strata,
        np.bincount(strata, minlength=len(labelled.design)).astype(np.int64),
        np.array([stratum.rows for stratum in labelled.design], np.int64),
        None if labelled.inputs is None else np.unique(labelled.inputs[known], return_inverse=True)[1].reshape(-1),
    )
    predicted, mine, total = population.predicted(rate), inside[rows], int(inside.sum())
    weights = [float((inside & (predicted == label)).sum()) / total for label in (False, True)]
    fallback = [
        next((one.value for one in pooled.classes if one.predicted == label), float(label)) if pooled else float(label)
        for label in (False, True)
    ]
    classes = post.class_shares(weights, truth, predicted[rows], mine, design, fallback)
    low, high = post.interval(classes)
    own = Interval(value=post.estimate(classes), low=low, high=high)
    second, also = labelled.second(rate, unknown)
    second, also = second[known], also[known]
    errors, corrected = None, None
    if also.any():
        counts = [_counts(one, truth, second, mine & (predicted[rows] == one.predicted), also) for one in classes]
        errors = pooled.errors if pooled is not None and pooled.errors is not None else annotators.label_errors(counts)
        value, low, high = annotators.corrected(counts, errors)
        # Annotation errors cannot raise a lower limit of 0, which the middle of a posterior leaves out.
        corrected = Interval(value=value, low=low if own.low > 0 else 0.0, high=high)
    return _End(own, corrected, _alone(truth, mine, design.weights, total), int(mine.sum()), classes, errors)


def _counts(one: ClassShare, truth: Floats, second: Floats, inside: Bools, also: Bools) -> LabelCounts:
    """The labels of a class as counts; those of a sample with weights as their effective number."""
    twice = inside & also
    said = (truth + second)[twice]
    labels = max(one.labels, 1)
    scale = min(1.0, one.size / labels)
    single = scale * (labels - len(said)) if one.labels else 0.0
    both, mixed, none = (scale * float((said == count).sum()) for count in (2, 1, 0))
    return LabelCounts(one.weight, one.value * single, single, both, mixed, none)


def _rate(
    population: Population, labelled: Labelled, rate: str, group: str | None, inside: Bools, ends: list[_End]
) -> TrueRate:
    first, last, rows = ends[0], ends[-1], int(inside.sum())
    true = Interval(value=last.best.value, low=first.best.low, high=last.best.high)
    alone = Interval(value=last.alone.value, low=first.alone.low, high=last.alone.high)
    metric = float((inside & population.predicted(rate)).sum()) / rows
    held = len(ends) == 2 and first.best.value <= metric <= last.best.value
    nearest = first.best if metric < first.best.value else last.best
    p = 1.0 if held else p_of_interval(nearest.value, nearest.low, nearest.high, metric)
    times = post.times_to_halve(last.classes)
    more = math.ceil((times - 1) * last.labels) if math.isfinite(times) else rows
    random = _random_labels(last.labelled, rows)
    return TrueRate(
        rate=rate,
        group=group,
        rows=rows,
        labels=last.labels,
        metric=metric,
        p_metric=p,
        metric_inside=true.low <= metric <= true.high,
        true=true,
        bounds=(first.best.value, last.best.value) if len(ends) == 2 else None,
        as_labelled=last.labelled if last.corrected is not None else None,
        labels_alone=alone,
        alone_for_same_width=random,
        saved=random - last.labels,
        more_to_halve=more if more <= rows - last.labels else None,
        classes=tuple(last.classes),
    )


def _alone(truth: Floats, mine: Bools, weights: Floats, rows: int) -> Interval:
    """The labels without the metric: their weighted share, and Wilson's interval for Kish's effective number of them.

    What the strata gain is left out, because the strata come from the metric.
    """
    weights = weights[mine]
    share = float((weights * truth[mine]).sum() / weights.sum())
    size = float(weights.sum()) ** 2 / float((weights**2).sum())
    low, high = wilson_of_share(share, _of_finite(size, rows))
    return Interval(value=share, low=low, high=high)


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
