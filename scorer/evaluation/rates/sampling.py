"""Which rows to label: stratified by the metric's label and confidence, spread over the groups, with known chances.

The first sample is in proportion to the strata. A second one is drawn where the labels of the first say that the metric
errs (Neyman's allocation); the confidence itself is not a probability and is not trusted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...stats import post_stratified as post
from ...stats.allocation import allocate, draw
from ...stats.isotonic import isotonic
from ...stats.post_stratified import ClassShare
from .estimates import Labelled
from .population import RATES, Drawn, Floats, Ints, Population, Stratum, classify, make_strata

PRIOR_LABELS = 4.0
"""How many labels of the metric's whole class count in the share of a stratum."""
ASSUMED_WRONG = 0.2
"""Without labels, a plan takes the metric to be wrong in this share of both classes."""


@dataclass(frozen=True)
class Sample:
    """``rows``: numbers of the drawn rows, in random order. ``strata``: of each, a position in ``design``.

    *Shape:* (labels,), int64, both.
    """

    rows: Ints
    strata: Ints
    design: list[Drawn]


def draw_sample(
    population: Population, count: int, seed: int, by: str | None = None, pilot: Labelled | None = None
) -> Sample:
    """Draw rows to label.

    Args:
        count: rows to draw, at most all; a few more where every stratum needs two.
        by: column whose groups the rows of a stratum are spread over in proportion; ``None`` for none.
        pilot: labels of a first sample; its strata are kept, its rows are not drawn again, and the labels of both
            together follow Neyman's rule as far as possible.
    """
    rng = np.random.default_rng(seed)
    groups = population.groups(by)[0] if by is not None else np.zeros(len(population), np.int64)
    free = np.ones(len(population), bool)
    strata: Sequence[Stratum]
    if pilot is None:
        strata = make_strata(population, count)
        before = np.zeros(len(strata), np.int64)
        deviations = np.ones(len(strata))
    else:
        strata = pilot.design
        before = np.bincount(pilot.strata, minlength=len(strata))
        free[pilot.rows] = False
        shares = wrong_shares(population, pilot)
        deviations = np.sqrt(shares * (1 - shares))
    codes = classify(population, strata)
    sizes = np.bincount(codes, minlength=len(strata)).astype(np.int64)
    least = np.maximum(before, 2) if pilot is None else before
    wanted = allocate(sizes, deviations, count + int(before.sum()), least) - before
    rows, owners, design = [], [], []
    for number, labels in enumerate(wanted.tolist()):
        inside = rng.permutation(np.flatnonzero((codes == number) & free))
        rows.append(draw(rng, inside[np.argsort(groups[inside], kind="stable")], labels))
        owners.append(np.full(len(rows[-1]), number, np.int64))
        design.append(Drawn.of(strata[number], int(sizes[number]), len(rows[-1])))
    shuffled = rng.permutation(int(sum(map(len, rows))))
    return Sample(np.concatenate(rows)[shuffled], np.concatenate(owners)[shuffled], design)


def wrong_shares(population: Population, pilot: Labelled) -> Floats:
    """The share of not_OK rows in every stratum, smoothed. *Shape:* (strata,), float64.

    Each is drawn towards the share of the metric's whole class, and falls with the confidence (isotonic regression).
    """
    strata = pilot.design
    wrong = (pilot.rough > 0).astype(np.float64)
    n = np.bincount(pilot.strata, minlength=len(strata)).astype(np.float64)
    x = np.bincount(pilot.strata, wrong, len(strata))
    codes = classify(population, strata)
    confidence = np.nan_to_num(population.confidence)
    means = np.bincount(codes, confidence, len(strata)) / np.maximum(np.bincount(codes, minlength=len(strata)), 1)
    shares = np.full(len(strata), 0.5)
    for label in dict.fromkeys(one.label for one in strata):
        inside = np.array([one.label == label for one in strata])
        whole = (x[inside].sum() + 0.5) / (n[inside].sum() + 1)
        smooth = (x[inside] + PRIOR_LABELS * whole) / (n[inside] + PRIOR_LABELS)
        order = np.argsort(-means[inside], kind="stable")
        fitted = np.empty(len(order))
        fitted[order] = isotonic(smooth[order], n[inside][order] + PRIOR_LABELS)
        shares[inside] = fitted
    return shares


@dataclass(frozen=True)
class Needed:
    """Labels that an interval of the not_OK rate needs, of all rows (``group`` is ``None``) or of a group."""

    group: str | None
    rows: int
    labels: int


def plan_labels(
    population: Population, width: float, by: str | None = None, classes: Sequence[ClassShare] = ()
) -> list[Needed]:
    """How many labels give 95 % intervals of a width, for all rows and for each group.

    Args:
        classes: what labels say of the metric's classes; without any, the metric is taken to be wrong in
            :data:`ASSUMED_WRONG` of both.
    """
    said = population.predicted(RATES[0])
    known = {one.predicted: one.value for one in classes if one.labels}
    groups: list[tuple[str | None, np.ndarray]] = [(None, np.ones(len(said), bool))]
    if by is not None:
        codes, names = population.groups(by)
        groups += [(str(name), codes == code) for code, name in enumerate(names)]
    found = []
    for name, inside in groups:
        rows = int(inside.sum())
        shares = []
        for label in (False, True):
            weight = float((said[inside] == label).mean())
            value = known.get(label, 1 - ASSUMED_WRONG if label else ASSUMED_WRONG)
            shares.append(ClassShare(weight, value, weight, 1, label))  # the size for one label of the group
        times = post.times_for([one for one in shares if one.weight > 0], width)
        labels = rows if math.isinf(times) else min(rows, math.ceil(times * rows / (rows + times)))
        found.append(Needed(name, rows, max(1, labels)))
    return found
