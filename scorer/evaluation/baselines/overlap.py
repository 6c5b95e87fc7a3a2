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
from .tokens import tokenise, words_of

COLUMNS = ("sacrebleu_bleu", "sacrebleu_chrf", "sacrebleu_ter", "nist", "rouge_l", "cider", "meteor_exact_stem")
"""The score columns. Those of sacrebleu are 0 to 100 (TER may exceed 100), NIST and CIDEr are not bounded, the others
are 0 to 1. TER is an error rate: lower is better."""
_KEPT = 4096
_ROUGE_BETA = 1.2


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


def rouge_l(words: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """ROUGE-L (Lin, 2004) as in the evaluation of MS COCO captions, 0 to 1: F-measure of the longest common
    subsequence, from the best precision and the best recall of any reference."""
    if not words:
        return 0.0
    common = [(longest_common(words, reference), len(reference)) for reference in references if reference]
    precision = max((length / len(words) for length, _ in common), default=0.0)
    recall = max((length / size for length, size in common), default=0.0)
    if not precision or not recall:
        return 0.0
    return (1 + _ROUGE_BETA**2) * precision * recall / (recall + _ROUGE_BETA**2 * precision)


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    before = [0] * (len(second) + 1)
    for word in first:
        now = [0]
        for position, other in enumerate(second):
            now.append(before[position] + 1 if word == other else max(before[position + 1], now[position]))
        before = now
    return before[-1]
