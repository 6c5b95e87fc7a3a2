"""Overlap of each text with its references, by the packages of the field; NIST and CIDEr as the E2E script has them.

NIST, ROUGE-L, CIDEr and METEOR share tokens: those of NIST's ``mteval-v13`` scripts (sacrebleu's ``13a``), lower-cased.
The last three leave out punctuation and take clitics apart. METEOR has no synonyms: WordNet is not needed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

COLUMNS = ("sacrebleu_bleu", "sacrebleu_chrf", "sacrebleu_ter", "nist", "rouge_l", "cider", "meteor_exact_stem")
"""Those of sacrebleu are 0 to 100 (TER may exceed 100), NIST and CIDEr are not bounded, the others are 0 to 1. TER is
an error rate: lower is better."""
BERTSCORE = ("bertscore_precision", "bertscore_recall", "bertscore_f1")
_CLITIC = re.compile(r"(?<=\w)(n't|'(?:s|re|ve|ll|d|m))$")
_ROUGE_BETA = 1.2
_NO_TOKEN = (0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0)
Floats = npt.NDArray[np.float64]
Ngram = tuple[str, ...]
Texts = Sequence[str | None]
References = Sequence[Sequence[str | None] | None]
"""Of each row, a list of references."""


def tokenise(text: str) -> list[str]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    return Tokenizer13a()(text).lower().split()


def words_of(tokens: Sequence[str]) -> list[str]:
    """The tokens that have a letter or a digit; *isn't* is two words, *is* and *n't*, and *there's* too."""
    parts = (part for token in tokens for part in _CLITIC.sub(r" \1", token).split())
    return [part for part in parts if any(char.isalnum() for char in part)]


def known_of(references: Sequence[str | None] | None) -> list[str]:
    return [reference for reference in references or () if reference is not None and reference.strip()]


def ngrams(tokens: Sequence[str], n: int) -> Counter[Ngram]:
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))


class Nist:
    """NIST (Doddington, HLT 2002) as the E2E challenge computes it, which nltk's differs from.

    Args:
        references: tokens of all references of a corpus, which say how informative an n-gram is.
    """

    _ORDER = 5
    _BETA = -math.log(0.5) / math.log(1.5) ** 2  # a text of 2/3 of the references' length has a penalty of 1/2

    def __init__(self, references: Iterable[Sequence[str]]) -> None:
        self._counts: Counter[Ngram] = Counter()
        for tokens in references:
            self._counts[()] += len(tokens)
            for n in range(1, self._ORDER + 1):
                self._counts.update(ngrams(tokens, n))

    def count(self, tokens: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
        """Counts of a text, which are summed for a corpus: n-grams of each n, the information of those that it shares
        with a reference, and the mean length of the references. *Shape:* (11,)."""
        sizes, information = [], []
        for n in range(1, self._ORDER + 1):
            most: Counter[Ngram] = Counter()
            for reference in references:
                most |= ngrams(reference, n)
            shared = ngrams(tokens, n) & most
            sizes.append(len(tokens) - n + 1)
            information.append(sum(self._information(ngram) * count for ngram, count in shared.items()))
        return np.array([*sizes, *information, sum(map(len, references)) / len(references)])

    def score(self, counts: Floats) -> float:
        """NIST of one text or a corpus; not bounded, about 5 to 9 for good texts."""
        sizes, information, average = counts[: self._ORDER], counts[self._ORDER : -1], counts[-1]
        if sizes[0] <= 0 or not average:
            return 0.0
        penalty = math.exp(-self._BETA * math.log(min(1.0, sizes[0] / average)) ** 2)
        return penalty * float((information[sizes > 0] / sizes[sizes > 0]).sum())

    def _information(self, ngram: Ngram) -> float:
        count = self._counts.get(ngram, 0)
        return math.log(self._counts[ngram[:-1]] / count, 2) if count else 0.0


class Cider:
    """CIDEr-D (Vedantam et al., CVPR 2015), as in the evaluation of MS COCO captions.

    Args:
        inputs: words of all references of each input; an n-gram counts less, the more of them have it.
    """

    _ORDER, _SIGMA = 4, 6.0

    def __init__(self, inputs: Sequence[Sequence[Sequence[str]]]) -> None:
        self._log_inputs = math.log(len(inputs)) if inputs else 0.0
        self._inputs_of: Counter[Ngram] = Counter()
        for references in inputs:
            orders = range(1, self._ORDER + 1)
            self._inputs_of.update({ngram for words in references for n in orders for ngram in ngrams(words, n)})

    def score(self, words: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """Mean similarity to the references times 10, about 0 to 10."""
        total = sum(self._similarity(words, reference) for reference in references)
        return 10 * total / (self._ORDER * len(references))

    def _similarity(self, words: Sequence[str], reference: Sequence[str]) -> float:
        found = 0.0
        for n in range(1, self._ORDER + 1):
            own, other = self._vector(words, n), self._vector(reference, n)
            product = sum(min(value, other[ngram]) * other[ngram] for ngram, value in own.items() if ngram in other)
            norm = math.sqrt(sum(v**2 for v in own.values())) * math.sqrt(sum(v**2 for v in other.values()))
            found += product / norm if norm else product
        difference = max(0, len(words) - 1) - max(0, len(reference) - 1)
        return found * math.exp(-(difference**2) / (2 * self._SIGMA**2))

    def _vector(self, words: Sequence[str], n: int) -> dict[Ngram, float]:
        """tf-idf by n-gram."""
        found = ngrams(words, n).items()
        return {ngram: k * (self._log_inputs - math.log(max(1, self._inputs_of[ngram]))) for ngram, k in found}


class Overlap:
    """The metrics by sentence. Those of sacrebleu have its defaults; BLEU uses the effective order, since texts are
    short. NIST and CIDEr weigh n-grams by the distinct lists of references of all rows, which it takes."""

    def __init__(self, references: References) -> None:
        import snowballstemmer
        from rouge_score.rouge_scorer import RougeScorer
        from sacrebleu.metrics import BLEU, CHRF, TER

        lists = [list(one) for one in dict.fromkeys(tuple(known_of(one)) for one in references) if one]
        tokens = [[tokenise(one) for one in known] for known in lists]
        self._nist = Nist(one for known in tokens for one in known)
        self._cider = Cider([[words_of(one) for one in known] for known in tokens])
        self._metrics = [BLEU(effective_order=True), CHRF(), TER()]
        self._rouge = RougeScorer(["rougeL"], tokenizer=SimpleNamespace(tokenize=lambda text: words_of(tokenise(text))))
        # Snowball's stemmer for English, as METEOR 1.5 has it.
        self._stemmer = SimpleNamespace(stem=snowballstemmer.stemmer("english").stemWord)

    def scores(self, texts: Texts, references: References) -> Floats:
        """Scores of each text, *Shape:* (rows, 7); NaN if there is no text or no reference."""
        result = np.full((len(texts), len(COLUMNS)), np.nan)
        for row, (text, given) in enumerate(zip(texts, references, strict=True)):
            if text is not None and (known := known_of(given)):
                result[row] = self._score(text, known)
        return result

    def corpus(self, texts: Texts, references: References) -> tuple[float, float]:
        """BLEU (0 to 1) and NIST of all texts with references, as one corpus, as the E2E script computes them."""
        from sacrebleu.metrics import BLEU

        rows = [(text, known) for text, one in zip(texts, references, strict=True) if text and (known := known_of(one))]
        if not rows:
            return 0.0, 0.0
        counts = sum(self._nist.count(tokenise(text), [tokenise(one) for one in known]) for text, known in rows)
        streams = list(zip_longest(*(known for _, known in rows)))
        bleu = BLEU(lowercase=True).corpus_score([text for text, _ in rows], streams).score
        return bleu / 100, self._nist.score(np.asarray(counts))

    def _score(self, text: str, references: list[str]) -> tuple[float, ...]:
        from nltk.translate.meteor_score import meteor_score

        tokens = tokenise(text)
        if not tokens:  # sacrebleu's TER does not expect a text without a token
            return _NO_TOKEN
        theirs = [tokenise(reference) for reference in references]
        own, words = words_of(tokens), [words_of(one) for one in theirs]
        no_synonyms = SimpleNamespace(synsets=lambda word: [])
        return (
            *(metric.sentence_score(text, references).score for metric in self._metrics),
            self._nist.score(self._nist.count(tokens, theirs)),
            self._rouge_l(text, references),
            self._cider.score(own, words),
            float(meteor_score(words, own, stemmer=self._stemmer, wordnet=no_synonyms)),
        )

    def _rouge_l(self, text: str, references: list[str]) -> float:
        """The F-measure of MS COCO captions: of the best precision and the best recall of any reference."""
        found = [self._rouge.score(reference, text)["rougeL"] for reference in references]
        precision, recall = max(one.precision for one in found), max(one.recall for one in found)
        if not precision or not recall:
            return 0.0
        return (1 + _ROUGE_BETA**2) * precision * recall / (recall + _ROUGE_BETA**2 * precision)


def bertscores(texts: Texts, references: References, model: Path, *, layer: int) -> Floats:
    """BERTScore (Zhang et al., ICLR 2020) by the package bert-score, without its rescaling: precision, recall and F1 of
    each text, the largest of any reference; *Shape:* (rows, 3), NaN without a text or a reference. ``layer``: whose
    states are the embeddings, counted from 1."""
    from bert_score import BERTScorer

    known = [known_of(one) for one in references]
    rows = [row for row in range(len(texts)) if texts[row] is not None and known[row]]
    result = np.full((len(texts), len(BERTSCORE)), np.nan)
    if rows:
        scorer = BERTScorer(model_type=str(model), num_layers=layer, device="cpu")
        found = scorer.score([texts[row] for row in rows], [known[row] for row in rows])
        result[rows] = np.stack([one.numpy() for one in found], axis=1)
    return result
