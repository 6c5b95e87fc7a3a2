"""Overlap of each text with its references: BLEU, chrF and TER by sacrebleu (extra ``stats``), NIST, ROUGE-L, CIDEr
and METEOR with words and stems."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import MissingDependencyError
from .cider import Vectors, cider, vectors
from .meteor import meteor
from .nist import Totals, match, nist
from .reference_counts import ReferenceCounts, known_of
from .rouge import rouge_l
from .tokens import tokenise, words_of

COLUMNS = ("sacrebleu_bleu", "sacrebleu_chrf", "sacrebleu_ter", "nist", "rouge_l", "cider", "meteor_exact_stem")
"""The score columns. Those of sacrebleu are 0 to 100 (TER may exceed 100), NIST and CIDEr are not bounded, the others
are 0 to 1. TER is an error rate: lower is better."""
_KEPT = 4096


class Overlap:
    """The metrics by sentence. Those of sacrebleu have its defaults; BLEU uses the effective order, since texts are
    short. ``totals``: of all texts scored so far.

    Raises:
        MissingDependencyError: sacrebleu or snowballstemmer is not installed.
    """

    def __init__(self, references: ReferenceCounts) -> None:
        try:
            import snowballstemmer
            from sacrebleu.metrics import BLEU, CHRF, TER
        except ImportError as e:
            raise MissingDependencyError(f"the overlap baseline needs {e.name}: pip install 'd2t-scorer[stats]'") from e
        self._metrics: list[Any] = [BLEU(effective_order=True), CHRF(), TER()]
        self._corpus = references
        self._stem = lru_cache(maxsize=1 << 16)(snowballstemmer.stemmer("english").stemWord)
        self._prepared = lru_cache(maxsize=_KEPT)(self._prepare)
        self.totals = Totals()

    @property
    def signature(self) -> str:
        """The signatures that sacrebleu gives for the settings of each of its metrics."""
        return " ".join(f"{metric.name}[{metric.get_signature()}]" for metric in self._metrics)

    def scores(
        self, texts: Sequence[str | None], references: Sequence[Sequence[str] | None]
    ) -> npt.NDArray[np.float64]:
        """Scores of each text, float64, *Shape:* (rows, 7); NaN if there is no text or no reference."""
        result = np.full((len(texts), len(COLUMNS)), np.nan)
        for row, (text, given) in enumerate(zip(texts, references, strict=True)):
            known = known_of(given)
            if text is not None and known:
                result[row] = self._score(text, known)
        return result

    def _score(self, text: str, references: list[str]) -> tuple[float, ...]:
        tokens, words, weights = self._prepared(tuple(references))
        mine = tokenise(text)
        found = match(mine, tokens)
        self.totals.add(found, self._corpus.information)
        if not mine:  # sacrebleu's TER does not expect a text without a token
            return (0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0)
        said = words_of(mine)
        return (
            *(metric.sentence_score(text, references).score for metric in self._metrics),
            nist(found, self._corpus.information),
            rouge_l(said, words),
            cider(vectors(said, self._corpus.frequencies), weights),
            meteor(said, words, self._stem),
        )

    def _prepare(self, references: tuple[str, ...]) -> tuple[list[list[str]], list[list[str]], list[Vectors]]:
        """Tokens, words and CIDEr's vectors of references."""
        tokens = [tokenise(reference) for reference in references]
        words = [words_of(found) for found in tokens]
        return tokens, words, [vectors(found, self._corpus.frequencies) for found in words]
