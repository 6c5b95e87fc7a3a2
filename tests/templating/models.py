"""A model anybody can follow: P(entailment) is the share of the hypothesis' words that the premise has."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorer.inference.engine import Answers
from scorer.status import SCORED, TOO_LONG


def overlap(premise: str, hypothesis: str) -> float:
    words = hypothesis.rstrip(".").split()
    return sum(word in premise.rstrip(".").split() for word in words) / len(words)


class WordModel:
    """Stands in for an engine. ``too_long``: hypotheses with this word get no answer. ``asked``: all pairs so far."""

    def __init__(self, too_long: str | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self._too_long = too_long

    def prepare(self, texts: list[str], premise: Any, hypothesis: Any) -> Any:
        assert len(set(texts)) == len(texts)
        return [(texts[p], texts[h]) for p, h in zip(premise.tolist(), hypothesis.tolist(), strict=True)]

    def run(self, work: Any, stop: Any = None) -> Answers:
        self.asked += work
        entailment = np.array([overlap(*pair) for pair in work], np.float32)
        refused = np.array([self._too_long is not None and self._too_long in pair[1] for pair in work])
        probabilities = np.stack([(1 - entailment) / 2] * 2 + [entailment], axis=1)
        probabilities[refused] = np.nan
        return Answers(probabilities, np.where(refused, TOO_LONG, SCORED).astype(np.int8), np.zeros(len(work), bool))
