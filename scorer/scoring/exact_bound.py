"""The bound of ``--exact``, measured on a run's own pairs before its plan is written."""

from __future__ import annotations

from ..inference.exact import PAIRS, ExactBound
from ..inference.exact_engine import ExactEngine
from .row_scorer import Starts
from .scorer import Scorer
from .windows import TextColumns


def measure_bound(scorer: Scorer, starts: Starts[TextColumns]) -> ExactBound:
    """Take pairs from the beginnings of shards, until there are enough of them.

    Args:
        scorer: one with ``exact``.
    """
    model = ExactEngine(scorer.engine)
    bound: ExactBound | None = None
    for i, start in enumerate(starts):
        missing = PAIRS - (bound.pairs if bound is not None else 0)
        if missing <= 0:
            break
        share = -(-missing // (len(starts) - i))
        for window in start:
            work = scorer.pipeline.prepare(window.columns.rows(window.table)).work
            bound = model.measure(work, share, bound)
    return bound or ExactBound(0, scorer.facts.bound)
