"""What the labels of one run say about another run of the same metric, and whether they still hold there.

The labels of a run tell how often the metric's label is right. Another run under the same signature has other shares
of the two labels; if the metric is right as often there, its true rates follow without a new label. Whether it is can
only be seen from new labels; without any, a shift of the confidences is a warning, and no shift proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import UsageError
from ...scoring.rates_file import RatesFile, SavedClass, SavedRate, SavedStratum
from ...stats import post_stratified as post
from ...stats.post_stratified import ClassShare
from ...system.codec import Record
from .estimates import LEVEL, Interval, Labelled, TrueRate
from .population import LABELS, Bools, Population, Stratum, classify


class Transfer(Record, frozen=True, kw_only=True):
    """A rate of this run that follows from the labels of an earlier one. ``labels``: of the earlier run."""

    rate: str
    rows: int
    labels: int
    metric: float
    value: float
    low: float
    high: float
    classes: tuple[ClassShare, ...]


class Holding(Record, frozen=True, kw_only=True):
    """Whether new labels agree with the earlier ones: a test of equal shares in both classes. ``holds``: p is not below
    .05."""

    rate: str
    statistic: float
    p: float
    holds: bool


def transfer(population: Population, earlier: RatesFile) -> list[Transfer]:
    """The rates of a run from the labels of an earlier one.

    Raises:
        UsageError: the earlier run was scored differently, or was itself calibrated and has no labels.
    """
    _check(population, earlier)
    found = []
    for saved in earlier.rates:
        if saved.group is None and saved.rate in population.rates:
            predicted = population.predicted(saved.rate)
            classes = [_carried(one, predicted == one.predicted) for one in saved.classes]
            missing = 1 - sum(one.weight for one in classes)
            if missing > 1e-9:  # a class that the earlier run did not have, of which nothing is known
                classes.append(ClassShare(missing, 0.5, 0.0, 0, not classes[0].predicted))
            value, (low, high) = post.estimate(classes), post.interval(classes)
            found.append(
                Transfer(rate=saved.rate, rows=len(population), labels=saved.labels, metric=float(predicted.mean()),
                         value=value, low=low, high=high, classes=tuple(classes))
            )  # fmt: skip
    return found


def still_holds(rates: Sequence[TrueRate], earlier: RatesFile) -> list[Holding]:
    """New labels against the earlier ones, by rate: the sum of the squared score statistics of both classes."""
    found = []
    before = {saved.rate: saved.classes for saved in earlier.rates if saved.group is None}
    for rate in rates:
        if rate.group is not None or rate.rate not in before:
            continue
        statistic, degrees = 0.0, 0
        for one in rate.classes:
            other = next((c for c in before[rate.rate] if c.predicted == one.predicted), None)
            if other is not None and one.size and _size(other):
                statistic += _score(one.value, one.size, other.value, _size(other))
                degrees += 1
        if degrees:
            p = math.erfc(math.sqrt(statistic / 2)) if degrees == 1 else math.exp(-statistic / 2)
            found.append(Holding(rate=rate.rate, statistic=statistic, p=p, holds=p >= LEVEL))
    return found


def shift(population: Population, earlier: RatesFile) -> float | None:
    """Population stability index of the strata, given the metric's label; ``None`` where the strata are not known.

    The shares of the labels may change, which the estimate accounts for; this looks at the confidences within them.
    """
    strata = [Stratum(one.label, one.low, one.high) for one in earlier.strata]
    if not strata or any(one.label not in LABELS for one in strata):
        return None
    codes = classify(population, strata)
    now = np.bincount(codes[codes >= 0], minlength=len(strata)).astype(float)
    before = np.array([one.rows for one in earlier.strata], float)
    index = 0.0
    for label in dict.fromkeys(one.label for one in strata):
        inside = np.array([one.label == label for one in strata])
        if before[inside].sum() and now[inside].sum():
            was, is_now = (part[inside] / part[inside].sum() for part in (before, now))
            was, is_now = np.maximum(was, 1e-4), np.maximum(is_now, 1e-4)
            index = max(index, float(((is_now - was) * np.log(is_now / was)).sum()))
    return index


def saved(population: Population, rates: Sequence[TrueRate], labelled: Labelled, by: str | None) -> RatesFile:
    """The file of rates from labels."""
    strata = tuple(SavedStratum(label=one.label, low=one.low, high=one.high, rows=one.rows) for one in labelled.design)
    lines = tuple(_saved(one, one.group, one.true, one.bounds) for one in rates)
    return _file(population, "labels" if labelled.designed else "column", by, lines, strata)


def saved_transfer(population: Population, rates: Sequence[Transfer]) -> RatesFile:
    """The file of rates that follow from an earlier run."""
    return _file(population, "calibration", None, tuple(_saved(one, None, one, None) for one in rates), ())


def _saved(
    one: TrueRate | Transfer, group: str | None, true: Interval | Transfer, bounds: tuple[float, float] | None
) -> SavedRate:
    classes = tuple(
        SavedClass(predicted=each.predicted, value=each.value, labels=each.labels,
                   size=each.size if math.isfinite(each.size) else None)
        for each in one.classes
    )  # fmt: skip
    return SavedRate(rate=one.rate, group=group, rows=one.rows, labels=one.labels, metric=one.metric, value=true.value,
                     low=true.low, high=true.high, bounds=bounds, classes=classes)  # fmt: skip


def _file(
    population: Population,
    source: str,
    by: str | None,
    rates: tuple[SavedRate, ...],
    strata: tuple[SavedStratum, ...],
) -> RatesFile:
    return RatesFile(
        out=population.name,
        signature=population.scored.signature or "",
        rows=len(population),
        digest=population.digest,
        source=source,
        by=by,
        rates=rates,
        strata=strata,
    )


def _check(population: Population, earlier: RatesFile) -> None:
    signature = population.scored.signature or ""
    if earlier.signature != signature:
        raise UsageError(
            f"--calibration is of an output of another signature ({earlier.signature or 'none'}); this one has "
            f"{signature or 'none'}; label rows of this output: `scorer sample`"
        )
    if earlier.source == "calibration":
        raise UsageError("--calibration was itself calculated from an earlier run; give the file of the labelled run")


def _carried(one: SavedClass, inside: Bools) -> ClassShare:
    """A class of this run: its share differs from the earlier one's by chance, in both outputs, so neither the earlier
    output's finite number of rows nor this one's makes it certain."""
    rows, labels = int(inside.sum()), min(_size(one), one.labels)
    size = 1 / (1 / labels + 1 / rows) if labels and rows else 0.0
    return ClassShare(float(inside.mean()), one.value, size, one.labels, one.predicted)


def _size(one: SavedClass) -> float:
    return math.inf if one.size is None else one.size


def _score(value: float, size: float, other: float, other_size: float) -> float:
    """Square of the score statistic of two shares. Half a label of each kind is added: 0 of n has a variance too."""
    if math.isinf(size) and math.isinf(other_size):
        return 0.0 if value == other else math.inf
    weights = [0.0 if math.isinf(other_size) else size, 0.0 if math.isinf(size) else other_size]
    if math.isinf(size):
        pooled = value
    elif math.isinf(other_size):
        pooled = other
    else:
        pooled = (value * weights[0] + other * weights[1] + 0.5) / (weights[0] + weights[1] + 1)
    variance = pooled * (1 - pooled) * (1 / size + 1 / other_size)
    return (value - other) ** 2 / variance if variance > 0 else (0.0 if value == other else math.inf)
