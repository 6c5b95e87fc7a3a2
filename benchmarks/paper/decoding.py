"""FactSpotter in decoding (Zhang, Balalau & Manolescu, Findings of EMNLP 2023, equation 1): facts that are not said yet
are promoted while a text is generated.

The score of a next token *w* after a prefix *y* is

    log P(w | y, input) + λ Σ over facts f of (1 − P(f | y)) · log P(f | y w)

where P(f | text) is a :class:`scorer.Scorer`'s. As in the authors' code, only the likeliest tokens compete. There the
second term orders the candidates of a beam and is not added to its score; here it is. Greedy decoding is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import torch
from transformers import LogitsProcessor, PreTrainedTokenizerBase

from scorer import Scorer
from scorer.metric.verdict import EMPTY_TEXT

_SMALLEST = 1e-9
"""Probabilities are at least this, so that a logarithm is finite."""
Fact = Mapping[str, str]
"""``subject``, ``predicate``, ``object``."""


class FactPromoter(LogitsProcessor):
    """Promote tokens after which the facts are said: ``model.generate(..., logits_processor=[FactPromoter(...)])``.

    Args:
        scorer: judges texts; with a bundle of FactSpotter, opened with ``protocol="factspotter"``.
        tokenizer: of the generating model.
        facts: of each input of the batch.
        weight: λ, .15 in the paper.
        candidates: number of likeliest tokens that compete; the paper's are two for each beam.
        start: number of tokens in a prefix from which on facts are looked for.
    """

    def __init__(
        self,
        scorer: Scorer,
        tokenizer: PreTrainedTokenizerBase,
        facts: Sequence[Sequence[Fact]],
        *,
        weight: float = 0.15,
        candidates: int = 10,
        start: int = 1,
    ) -> None:
        self._scorer, self._tokenizer, self._facts = scorer, tokenizer, facts
        self._weight, self._candidates, self._start = weight, candidates, start

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Log-probabilities with the second term; −∞ for tokens that do not compete. *Shape:* ids (inputs · beams,
        length), logits (inputs · beams, vocabulary)."""
        logarithms = scores.log_softmax(dim=-1)
        if input_ids.shape[-1] < self._start:
            return logarithms
        tokens = logarithms.topk(min(self._candidates, scores.shape[-1]), dim=-1).indices
        beams = len(input_ids) // len(self._facts)
        result = torch.full_like(logarithms, -torch.inf)
        for row, prefix in enumerate(input_ids.tolist()):
            texts = [prefix, *([*prefix, token] for token in tokens[row].tolist())]
            before, *after = self._probabilities(self._facts[row // beams], texts)
            terms = [float(((1 - before) * np.log(np.maximum(now, _SMALLEST))).sum()) for now in after]
            result[row, tokens[row]] = logarithms[row, tokens[row]] + self._weight * logarithms.new_tensor(terms)
        return result

    def _probabilities(self, facts: Sequence[Fact], ids: list[list[int]]) -> list[np.ndarray]:
        """P(fact | text) of the facts in each text; float64, *Shape:* (facts,) each. An empty text says none."""
        texts = self._tokenizer.batch_decode(ids, skip_special_tokens=True)
        scored = self._scorer.score_table(pa.table({"triples": [list(map(dict, facts))] * len(texts), "text": texts}))
        if errors := [error for error in scored["error"].to_pylist() if error is not None]:
            raise ValueError(f"a text of this length or these facts cannot be judged: {errors[0]}")
        found = zip(scored["note"].to_pylist(), scored["fact_entailment"].to_pylist(), strict=True)
        return [np.zeros(len(facts)) if note == EMPTY_TEXT else np.array(said, np.float64) for note, said in found]
