"""METEOR (Lavie & Agarwal, WMT 2007) with two of its matchers: equal words, and equal stems.

The official METEOR 1.5 also matches synonyms and paraphrases, has other weights and needs Java; its figures differ.
The stemmer is Snowball's for English, as in METEOR 1.5. Words are aligned from the end of the text, each with the last
free word that it matches, as NLTK does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5

Stem = Callable[[str], str]
Pair = tuple[int, int]


def meteor(words: Sequence[str], references: Sequence[Sequence[str]], stem: Stem) -> float:
    """The best score against any of the references, 0 to 1."""
    return max((_one(words, reference, stem) for reference in references), default=0.0)


def _one(words: Sequence[str], reference: Sequence[str], stem: Stem) -> float:
    pairs = align(words, reference, stem)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(words), len(pairs) / len(reference)
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    follows = set(pairs)
    chunks = sum((i - 1, j - 1) not in follows for i, j in pairs)
    return mean * (1 - GAMMA * (chunks / len(pairs)) ** BETA)


def align(words: Sequence[str], reference: Sequence[str], stem: Stem) -> list[Pair]:
    """Positions of aligned words: first of equal words, then, among the rest, of words with equal stems."""
    pairs, mine, theirs = _matches(list(enumerate(words)), list(enumerate(reference)))
    stemmed, _, _ = _matches([(i, stem(word)) for i, word in mine], [(j, stem(word)) for j, word in theirs])
    return sorted(pairs + stemmed)


def _matches(
    words: list[tuple[int, str]], reference: list[tuple[int, str]]
) -> tuple[list[Pair], list[tuple[int, str]], list[tuple[int, str]]]:
    """Pairs of equal words, and the words of both sides that are left."""
    free: defaultdict[str, list[int]] = defaultdict(list)
    for j, word in reference:
        free[word].append(j)
    pairs, left = [], []
    for i, word in reversed(words):
        if free[word]:
            pairs.append((i, free[word].pop()))
        else:
            left.append((i, word))
    taken = {j for _, j in pairs}
    return pairs, left[::-1], [(j, word) for j, word in reference if j not in taken]
