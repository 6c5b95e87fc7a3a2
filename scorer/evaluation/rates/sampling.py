"""Which rows to label: stratified by the metric's label and confidence, spread over the groups, with known chances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...stats.allocation import allocate, draw
from .population import Ints, Population, Stratum, classify, make_strata

LEAST_DOUBT = 0.1
"""The metric is taken to be wrong in at least this share of a stratum, however confident it is."""


@dataclass(frozen=True)
class Drawn:
    """A stratum and how many of its rows were drawn. ``probability`` of each row to be drawn: ``drawn / rows``."""

    stratum: Stratum
    rows: int
    drawn: int

    @property
    def probability(self) -> float:
        return self.drawn / self.rows


@dataclass(frozen=True)
class Sample:
    """``rows``: numbers of the drawn rows, in random order. ``strata``: of each, a position in ``design``.

    *Shape:* (labels,), int64, both.
    """

    rows: Ints
    strata: Ints
    design: list[Drawn]


def draw_sample(population: Population, count: int, seed: int, by: str | None = None) -> Sample:
    """Draw rows to label.

    Args:
        count: rows to draw, at most all; a few more where every stratum needs two.
        by: column whose groups the rows of a stratum are spread over in proportion; ``None`` for none.
    """
    rng = np.random.default_rng(seed)
    strata = make_strata(population)
    codes = classify(population, strata)
    groups: npt.NDArray[np.int64] = np.zeros(len(population), np.int64)
    if by is not None:
        groups = population.groups(by)[0]
    sizes = np.bincount(codes, minlength=len(strata)).astype(np.int64)
    drawn = allocate(sizes, np.array([_deviation(population, codes == n) for n in range(len(strata))]), count)
    rows, owners = [], []
    for number, labels in enumerate(drawn.tolist()):
        inside = rng.permutation(np.flatnonzero(codes == number))
        order = inside[np.argsort(groups[inside], kind="stable")]
        rows.append(draw(rng, order, labels))
        owners.append(np.full(len(rows[-1]), number, np.int64))
    shuffled = rng.permutation(int(sum(map(len, rows))))
    design = [Drawn(stratum, int(n), int(k)) for stratum, n, k in zip(strata, sizes, drawn, strict=True)]
    return Sample(np.concatenate(rows)[shuffled], np.concatenate(owners)[shuffled], design)


def _deviation(population: Population, inside: npt.NDArray[np.bool_]) -> float:
    """Standard deviation of *the metric is wrong* in a stratum, as its confidence suggests; larger where in doubt.

    Confidence is the smallest entailment probability of a row: for an OK row the chance that it is right, for a not_OK
    row the chance that it is wrong, if the model is calibrated. It often is not, so the guess is bounded.
    """
    confidence = population.confidence[inside]
    known = confidence[~np.isnan(confidence)]
    mean = float(known.mean()) if len(known) else 0.5
    doubt = min(max(mean, LEAST_DOUBT), 1 - LEAST_DOUBT)
    return float(np.sqrt(doubt * (1 - doubt)))
