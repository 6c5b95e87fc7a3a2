"""Overlap of each text with its references, by the packages of the field; NIST and CIDEr as the E2E script has them.

NIST, ROUGE-L, CIDEr and METEOR share tokens: those of NIST's ``mteval-v13`` scripts (sacrebleu's ``13a``), lower-cased.
The last three leave out punctuation and take clitics apart, as the E2E script does with Stanford's tokenizer. METEOR
has no synonyms: WordNet is not needed. A test compares BLEU, NIST, ROUGE-L and CIDEr with that script.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import snowballstemmer
from nltk.translate.meteor_score import meteor_score
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from benchmarks.paper.rivals.cider import ORDER, Frequencies, cider, vectors
from benchmarks.paper.rivals.nist import NIST_ORDER, Information, Totals, match, ngrams, nist

COLUMNS = ("sacrebleu_bleu", "sacrebleu_chrf", "sacrebleu_ter", "nist", "rouge_l", "cider", "meteor_exact_stem")
"""Those of sacrebleu are 0 to 100 (TER may exceed 100), NIST and CIDEr are not bounded, the others are 0 to 1. TER is
an error rate: lower is better."""
_CLITIC = re.compile(r"(?<=\w)(n't|'(?:s|re|ve|ll|d|m))$")
_ROUGE_BETA = 1.2
_NO_TOKEN = (0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0)
_NO_SYNONYMS = SimpleNamespace(synsets=lambda word: [])
_13A = Tokenizer13a()


class _Stemmer:
    """Snowball's stemmer for English, as METEOR 1.5 has it."""

    _stemmer = snowballstemmer.stemmer("english")

    def stem(self, word: str) -> str:
        return self._stemmer.stemWord(word)


class _Words:
    def tokenize(self, text: str) -> list[str]:
        return words_of(tokenise(text))


def tokenise(text: str) -> list[str]:
    """The tokens of a text, lower-cased, punctuation included."""
    return _13A(text).lower().split()


def words_of(tokens: Sequence[str]) -> list[str]:
    """The tokens that have a letter or a digit; *isn't* is two words, *is* and *n't*, and *there's* too."""
    parts = (part for token in tokens for part in _CLITIC.sub(r" \1", token).split())
    return [part for part in parts if any(char.isalnum() for char in part)]


def known_of(references: Sequence[str | None] | None) -> list[str]:
    """The references that say something."""
    return [reference for reference in references or () if reference is not None and reference.strip()]


class Overlap:
    """The metrics by sentence. Those of sacrebleu have its defaults; BLEU uses the effective order, since texts are
    short. NIST and CIDEr weigh n-grams by the distinct lists of references of all rows.

    Args:
        references: of all rows.
    """

    def __init__(self, references: Iterable[Sequence[str | None] | None]) -> None:
        lists = dict.fromkeys(tuple(known_of(one)) for one in references)
        self._metrics = [BLEU(effective_order=True), CHRF(), TER()]
        self._rouge = RougeScorer(["rougeL"], tokenizer=_Words())
        self._information, self._frequencies = _count([one for one in lists if one])

    def scores(
        self, texts: Sequence[str | None], references: Sequence[Sequence[str | None] | None]
    ) -> npt.NDArray[np.float64]:
        """Scores of each text, float64, *Shape:* (rows, 7); NaN if there is no text or no reference."""
        result = np.full((len(texts), len(COLUMNS)), np.nan)
        for row, (text, given) in enumerate(zip(texts, references, strict=True)):
            if text is not None and (known := known_of(given)):
                result[row] = self._score(text, known)
        return result

    def corpus(
        self, texts: Sequence[str | None], references: Sequence[Sequence[str | None] | None]
    ) -> tuple[float, float]:
        """BLEU (0 to 1) and NIST of all texts with references, as one corpus, as the E2E script computes them."""
        rows = [(text, known) for text, one in zip(texts, references, strict=True) if text and (known := known_of(one))]
        totals = Totals()
        for text, known in rows:
            totals.add(match(tokenise(text), [tokenise(one) for one in known]), self._information)
        streams = list(zip_longest(*(known for _, known in rows)))
        bleu = BLEU(lowercase=True).corpus_score([text for text, _ in rows], streams).score if rows else 0.0
        return bleu / 100, totals.nist

    def _score(self, text: str, references: list[str]) -> tuple[float, ...]:
        tokens = tokenise(text)
        if not tokens:  # sacrebleu's TER does not expect a text without a token
            return _NO_TOKEN
        theirs = [tokenise(reference) for reference in references]
        said, words = words_of(tokens), [words_of(one) for one in theirs]
        return (
            *(metric.sentence_score(text, references).score for metric in self._metrics),
            nist(match(tokens, theirs), self._information),
            self._rouge_l(text, references),
            cider(vectors(said, self._frequencies), [vectors(one, self._frequencies) for one in words]),
            float(meteor_score(words, said, stemmer=_Stemmer(), wordnet=_NO_SYNONYMS)),
        )

    def _rouge_l(self, text: str, references: list[str]) -> float:
        """The F-measure of MS COCO captions: of the best precision and the best recall of any reference."""
        found = [self._rouge.score(reference, text)["rougeL"] for reference in references]
        precision, recall = max(one.precision for one in found), max(one.recall for one in found)
        if not precision or not recall:
            return 0.0
        return (1 + _ROUGE_BETA**2) * precision * recall / (recall + _ROUGE_BETA**2 * precision)


def _count(lists: Sequence[Sequence[str]]) -> tuple[Information, Frequencies]:
    counts: Counter[tuple[str, ...]] = Counter()
    frequencies: Counter[tuple[str, ...]] = Counter()
    total = 0
    for references in lists:
        of_input: set[tuple[str, ...]] = set()
        for reference in references:
            tokens = tokenise(reference)
            total += len(tokens)
            for n in range(1, NIST_ORDER + 1):
                counts.update(ngrams(tokens, n))
            for n in range(1, ORDER + 1):
                of_input.update(ngrams(words_of(tokens), n))
        frequencies.update(of_input)
    return Information(counts, total), Frequencies(len(lists), frequencies)
