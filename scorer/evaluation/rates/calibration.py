"""What the labels of one run say about another run of the same metric, and whether they still hold there.

The labels of a run tell how often the metric's label is right. Another run under the same signature has other shares
of the two labels; if the metric is right as often there, its true rates follow without a new label. Whether it is can
only be seen from new labels; without any, a shift of the confidences is a warning, and no shift is no proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import UsageError
from ...scoring.rates_file import RatesFile, SavedClass, SavedRate, SavedStratum
from ...stats import post_stratified as post
from ...stats.post_stratified import ClassShare
from .estimates import Labelled, TrueRate
from .population import Population, Stratum, classify

SHIFTED = 0.1
"""Population stability index from which a distribution counts as shifted; the usual limit for *look into it*."""
LEVEL = 0.05


@dataclass(frozen=True)
class Transfer:
    """A rate of this run that follows from the labels of an earlier one. ``labels``: of the earlier run."""

    rate: str
    rows: int
    labels: int
    metric: float
    value: float
    low: float
    high: float
    classes: tuple[ClassShare, ...]


@dataclass(frozen=True)
class Holding:
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
            classes = [
                ClassShare(float((predicted == one.predicted).mean()), one.value, _size(one), one.labels, one.predicted)
                for one in saved.classes
            ]
            missing = 1 - sum(one.weight for one in classes)
            if missing > 1e-9:  # a class that the earlier run did not have, of which nothing is known
                classes.append(ClassShare(missing, 0.5, 0.0, 0, not classes[0].predicted))
            value, (low, high) = post.estimate(classes), post.interval(classes)
            found.append(
                Transfer(
                    saved.rate, len(population), saved.labels, float(predicted.mean()), value, low, high, tuple(classes)
                )
            )
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
            found.append(Holding(rate.rate, statistic, p, p >= LEVEL))
    return found


def shift(population: Population, earlier: RatesFile) -> float | None:
    """Population stability index of the strata, given the metric's label; ``None`` where the strata are not known.

    The shares of the labels may change, which the estimate accounts for; this looks at the confidences within them.
    """
    strata = [Stratum(one.label, one.low, one.high) for one in earlier.strata]
    if not strata or any(one.label == "all rows" for one in strata):
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
    lines = tuple(
        SavedRate(one.rate, one.group, one.rows, one.labels, one.metric, one.true.value, one.true.low, one.true.high,
                  _classes(one.classes))
        for one in rates
    )  # fmt: skip
    strata = tuple(SavedStratum(d.stratum.label, d.stratum.low, d.stratum.high, d.rows) for d in labelled.design)
    source = "labels" if labelled.designed else "column"
    signature = population.scored.signature or ""
    return RatesFile(_name(population), signature, len(population), source, by, lines, strata)


def saved_transfer(population: Population, rates: Sequence[Transfer]) -> RatesFile:
    """The file of rates that follow from an earlier run."""
    lines = tuple(
        SavedRate(one.rate, None, one.rows, one.labels, one.metric, one.value, one.low, one.high, _classes(one.classes))
        for one in rates
    )
    signature = population.scored.signature or ""
    return RatesFile(_name(population), signature, len(population), "calibration", None, lines, ())


def _check(population: Population, earlier: RatesFile) -> None:
    signature = population.scored.signature or ""
    if earlier.signature != signature:
        raise UsageError(
            f"--calibration is of an output of another signature ({earlier.signature or 'none'}); this one has "
            f"{signature or 'none'}; label rows of this output: `scorer sample`"
        )
    if earlier.source == "calibration":
        raise UsageError("--calibration was itself calculated from an earlier run; give the file of the labelled run")


def _classes(classes: Sequence[ClassShare]) -> tuple[SavedClass, ...]:
    return tuple(
        SavedClass(one.predicted, one.value, one.size if math.isfinite(one.size) else None, one.labels)
        for one in classes
    )


def _size(one: SavedClass) -> float:
    return math.inf if one.size is None else one.size


def _name(population: Population) -> str:
    return population.name.encode("utf-8", "replace").decode()


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
