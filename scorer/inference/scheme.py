"""Schemes: how the logits of a model are read as probabilities, and which pairs are too close to call.

========  =======================================  ==============================  =======================
scheme    model                                    P(entailment)                   a check passes when
========  =======================================  ==============================  =======================
nli       three classes                            softmax of *entailment*         it is the highest
binary    two classes, one of which is supported   softmax of that class           P >= the threshold
score     one logit                                sigmoid                         P >= the threshold
========  =======================================  ==============================  =======================

With ``exact``, labels are those of fp32: pairs that are too close to call run again. A pair's label can differ from
fp32's only where a variant moves its two highest logits past each other, that is where they lie within twice the
largest movement of a logit (for schemes with a threshold: where the logit lies that near to the threshold's,
:func:`margins`). That movement is measured on pairs of the very data, in the way they are run, and taken half as large
again, since the largest of a sample is not the largest of all.

Nothing is inferred from names at score time: a bundle says which scheme it has, which column is which, and the
threshold.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..system.codec import Count, Magnitude, OpenRecord
from .bundle import LABELS, NLI, SCORE, Scheme

EXACT_FACTOR = 1.5
EXACT_PAIRS = 4096
"""Pairs that the bound of ``exact`` is measured on, at least, where the data has so many."""
Logits = npt.NDArray[np.float32]


def probabilities(scheme: Scheme, logits: Logits) -> npt.NDArray[np.float32]:
    """Contradiction, neutral, entailment: float32, *Shape:* (pairs, width) → float32, *Shape:* (pairs, 3).

    NaN where the scheme has no such class, and where a logit is not finite.
    """
    wide = logits.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are counted, not warned about
        if scheme.kind == NLI:
            ordered = wide[:, [scheme.labels.index(label) for label in LABELS]]
            weights = np.exp(ordered - ordered.max(axis=1, keepdims=True))
            return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
        found = np.full((len(logits), 3), np.nan, np.float32)
        found[:, 2] = 1 / (1 + np.exp(-_evidence(scheme, wide)))
        return found


def decisions(scheme: Scheme, logits: Logits) -> npt.NDArray[np.int64]:
    """Decision on each pair: the column of its label, or whether it passes (0, 1); -1 where a logit is not finite.
    float32, *Shape:* (pairs, width) → int64, *Shape:* (pairs,)."""
    finite = np.asarray(np.isfinite(logits).all(axis=1))
    safe = np.where(finite[:, None], logits, np.float32(0))
    if scheme.kind == NLI:
        decision = safe.argmax(axis=1).astype(np.int64)
    else:
        decision = (probabilities(scheme, safe)[:, 2] >= np.float32(scheme.threshold)).astype(np.int64)
    return np.where(finite, decision, -1)


def margins(scheme: Scheme, logits: Logits) -> npt.NDArray[np.float64]:
    """By how much two logits of a pair must move against each other to change what the model says.

    A single logit moves against nothing, so that its distance counts twice: compared with twice the largest movement of
    a logit, all schemes are treated the same. float32, *Shape:* (pairs, width) → float64, *Shape:* (pairs,); not finite
    where a logit is not.
    """
    wide = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):  # of infinities
        if scheme.kind == NLI:
            ordered = np.sort(wide, axis=1)
            return np.asarray(ordered[:, 2] - ordered[:, 1])
        boundary = math.log(scheme.threshold / (1 - scheme.threshold))
        return np.asarray(np.abs(_evidence(scheme, wide) - boundary) * (2 if scheme.kind == SCORE else 1))


def _evidence(scheme: Scheme, wide: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The logit of P(entailment) where there is one for the whole: *Shape:* (pairs, 1 or 2) → (pairs,)."""
    if scheme.kind == SCORE:
        return wide[:, 0]
    supported = scheme.labels.index(str(scheme.supported))
    return np.asarray(wide[:, supported] - wide[:, 1 - supported], np.float64)


class ExactBound(OpenRecord, frozen=True):
    """``largest``: the largest |Δlogit| between a variant and fp32 seen on ``pairs`` pairs."""

    pairs: Count
    largest: Magnitude

    @property
    def margin(self) -> float:
        """Pairs whose two highest logits are nearer than this run again."""
        return 2 * EXACT_FACTOR * self.largest


def join_bounds(fast: Logits, fp32: Logits, at_least: float, before: ExactBound | None = None) -> ExactBound:
    """The bound of two variants' logits, both float32, *Shape:* (pairs, labels), joined to an earlier one.

    Pairs that are not finite in either count for nothing: they run again in any case. ``at_least``: the bound of the
    bundle's probes, which holds as long as fewer than :data:`EXACT_PAIRS` pairs were seen.
    """
    difference = np.abs(fast - fp32).max(axis=1, initial=0.0)
    difference = difference[np.isfinite(difference)]
    pairs = len(difference) + (before.pairs if before else 0)
    largest = max(float(difference.max(initial=0.0)), before.largest if before else 0.0)
    return ExactBound(pairs, largest if pairs >= EXACT_PAIRS else max(largest, at_least))


def is_doubtful(logits: Logits, margin: float, scheme: Scheme) -> npt.NDArray[np.bool_]:
    """Which pairs are too close to call, or not finite. float32, *Shape:* (pairs, labels) → bool, *Shape:* (pairs,)."""
    return (margins(scheme, logits) < margin) | ~np.isfinite(logits).all(axis=1)
