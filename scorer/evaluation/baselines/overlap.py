"""Overlap of each text with its references: BLEU, chrF and TER by sacrebleu (extra ``stats``), and METEOR with words
and stems."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import MissingDependencyError
from .meteor import meteor
from .references import known_of
from .tokens import tokenise, words_of

COLUMNS = ("sacrebleu_bleu", "sacrebleu_chrf", "sacrebleu_ter", "meteor_exact_stem")
"""The score columns. Those of sacrebleu are 0 to 100 (TER may exceed 100), METEOR is 0 to 1. TER is an error rate:
lower is better."""


class Overlap:
    """The metrics by sentence. Those of sacrebleu have its defaults; BLEU uses the effective order, since texts are
    short.

    Raises:
        MissingDependencyError: sacrebleu or snowballstemmer is not installed.
    """

    def __init__(self) -> None:
        try:
            import snowballstemmer
            from sacrebleu.metrics import BLEU, CHRF, TER
        except ImportError as e:
            raise MissingDependencyError(f"the overlap baseline needs {e.name}: pip install 'd2t-scorer[stats]'") from e
        self._metrics: list[Any] = [BLEU(effective_order=True), CHRF(), TER()]
        self._stem = lru_cache(maxsize=1 << 16)(snowballstemmer.stemmer("english").stemWord)

    def scores(
        self, texts: Sequence[str | None], references: Sequence[Sequence[str] | None]
    ) -> npt.NDArray[np.float64]:
        """Scores of each text, float64, *Shape:* (rows, 4); NaN if there is no text or no reference."""
        result = np.full((len(texts), len(COLUMNS)), np.nan)
        for row, (text, given) in enumerate(zip(texts, references, strict=True)):
            known = known_of(given)
            if text is not None and known:
                result[row] = self._score(text, known)
        return result

    def _score(self, text: str, references: list[str]) -> tuple[float, ...]:
        mine = tokenise(text)
        if not mine:  # sacrebleu's TER does not expect a text without a token
            return (0.0, 0.0, 100.0, 0.0)
        words = [words_of(tokenise(reference)) for reference in references]
        return (
            *(metric.sentence_score(text, references).score for metric in self._metrics),
            meteor(words_of(mine), words, self._stem),
        )
