"""BERTScore (Zhang et al., ICLR 2020): tokens of a text and of a reference matched by their embeddings.

Precision: the mean over the text's tokens of their largest cosine with a token of the reference; recall: the same the
other way round; F1: their harmonic mean. Special tokens count for nothing, but a token may be matched with one. Of
several references, the largest value of each counts. All as the package bert-score 0.3.13 computes it, without its
rescaling; a test compares them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...inference.encoder import Embeddings, Encoder, Ids
from .reference_counts import known_of

COLUMNS = ("bertscore_precision", "bertscore_recall", "bertscore_f1")
_TOGETHER = 256
"""Rows whose texts are embedded together."""
_KEPT = 2048
"""References whose embeddings are kept: the rows of one input share theirs."""


@dataclass(frozen=True)
class Idf:
    """Weights of tokens, log((n + 1) / (references with the token + 1)).

    ``references``: how many there are; ``counts``: with each token. ``digest``: of the references.
    """

    references: int
    counts: Mapping[int, int]
    digest: str

    def of(self, ids: Ids) -> npt.NDArray[np.float64]:
        """Weights of tokens. *Shape:* (tokens,) → (tokens,)."""
        return np.array([math.log((self.references + 1) / (self.counts.get(i, 0) + 1)) for i in ids.tolist()])


def count_tokens(lists: Iterable[Sequence[str]], digest: Callable[[], str], encoder: Encoder) -> Idf:
    """Count the tokens of all references.

    Args:
        lists: references of each input.
        digest: of the references, asked for at the end.
    """
    counts: Counter[int] = Counter()
    references = 0
    for texts in lists:
        for ids in encoder.tokens(texts):
            counts.update(set(ids.tolist()))
        references += len(texts)
    return Idf(references, counts, digest())


@dataclass(frozen=True)
class Embedded:
    """A text: its tokens' embeddings, each of length 1, *Shape:* (tokens, width), and their weights, *Shape:*
    (tokens,), which are 0 for special tokens."""

    tokens: Embeddings
    weights: npt.NDArray[np.float64]


@dataclass
class BertScore:
    """Scores texts. ``idf``: weights of tokens; ``None`` for equal ones."""

    encoder: Encoder
    idf: Idf | None = None
    _kept: dict[str, Embedded] = field(default_factory=dict)

    def scores(
        self, texts: Sequence[str | None], references: Sequence[Sequence[str] | None]
    ) -> npt.NDArray[np.float64]:
        """Precision, recall and F1 of each text, float64, *Shape:* (rows, 3); NaN without a text or a reference.

        Raises:
            BundleError: the encoder does not run.
        """
        result = np.full((len(texts), len(COLUMNS)), np.nan)
        given = [known_of(one) for one in references]
        rows = [r for r in range(len(texts)) if texts[r] is not None and given[r]]
        for start in range(0, len(rows), _TOGETHER):
            chosen = rows[start : start + _TOGETHER]
            wanted = [str(texts[r]) for r in chosen]
            known = [reference for r in chosen for reference in given[r]]
            found = self._embedded([*wanted, *known])
            for r, text in zip(chosen, wanted, strict=True):
                pairs = [match(found[text], found[reference]) for reference in given[r]]
                result[r] = np.max(np.array(pairs), axis=0)
            for text in known:
                self._kept.setdefault(text, found[text])
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        return result

    def _embedded(self, texts: Sequence[str]) -> dict[str, Embedded]:
        found = {text: self._kept[text] for text in texts if text in self._kept}
        fresh = [text for text in dict.fromkeys(texts) if text not in found]
        tokens = self.encoder.tokens(fresh)
        for text, ids, states in zip(fresh, tokens, self.encoder.embed(tokens), strict=True):
            found[text] = Embedded(states, self._weights(ids))
        return found

    def _weights(self, ids: Ids) -> npt.NDArray[np.float64]:
        layout = self.encoder.bundle.layout
        weights = np.ones(len(ids)) if self.idf is None else self.idf.of(ids)
        weights[: len(layout.prefix)] = 0
        weights[len(ids) - len(layout.suffix) :] = 0
        return weights


def match(text: Embedded, reference: Embedded) -> tuple[float, float, float]:
    """Precision, recall and F1 of a text; 0 where one of the two has no token of its own, NaN where no token of one
    of them has a weight."""
    if not _has_tokens(text) or not _has_tokens(reference):
        return 0.0, 0.0, 0.0
    cosines = text.tokens.astype(np.float64) @ reference.tokens.astype(np.float64).T
    with np.errstate(invalid="ignore"):
        precision = float((cosines.max(axis=1) * text.weights).sum() / text.weights.sum())
        recall = float((cosines.max(axis=0) * reference.weights).sum() / reference.weights.sum())
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0


def _has_tokens(text: Embedded) -> bool:
    return len(text.weights) > 2
