"""Candidates of one input, ranked: what :meth:`.Scorer.rank` returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from ..errors import UsageError
from ..metric.choices import Worse
from ..metric.ranking import NO_CANDIDATES, ranked
from ..metric.verdict import FINE
from ..system.arguments import described
from .results import Verdict


@dataclass(frozen=True)
class Ranking:
    """The candidates of one input in order.

    ``best``: position of the best one; ``None`` where none has a label. ``order``: positions from the best to the
    worst, those without a label left out. ``verdicts``: of all candidates, as they were given. ``error``: why there is
    no best one.
    """

    best: int | None
    order: list[int]
    verdicts: list[Verdict]
    error: str | None = None


def candidate_texts(candidates: Sequence[str | None], worse: Worse) -> list[str | None]:
    """The candidates that a user gave.

    Raises:
        TypeError: not a list of texts, or a text that is not a string; names it.
        UsageError: ``worse`` is neither of the two errors.
    """
    if isinstance(candidates, str | bytes) or not isinstance(candidates, Sequence):
        raise TypeError(f"candidates is {described(candidates)}; give a list of texts")
    for position, text in enumerate(candidates):
        if text is not None and not isinstance(text, str):
            raise TypeError(f"candidates[{position}] is {described(text)}; give a string, or None")
    if worse not in get_args(Worse):
        raise UsageError(f"worse is {worse!r}; write one of {', '.join(get_args(Worse))}")
    return list(candidates)


def ranking_of(verdicts: Sequence[Verdict], worse: Worse) -> Ranking:
    """Rank verdicts of one input; see :mod:`scorer.metric.ranking`."""
    fine = np.array([-1 if one.fine is None else FINE.index(one.fine) for one in verdicts], np.int8)
    confidence = np.array([np.nan if one.confidence is None else one.confidence for one in verdicts], np.float32)
    order = ranked(np.zeros(len(verdicts), np.int64), fine, confidence, worse).tolist()
    if order:
        return Ranking(order[0], order, list(verdicts))
    return Ranking(None, [], list(verdicts), verdicts[0].error if verdicts else NO_CANDIDATES)
