"""NIST (Doddington, HLT 2002) as the E2E challenge computes it, which nltk's differs from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Ngram = tuple[str, ...]
NIST_ORDER = 5
_BETA = -math.log(0.5) / math.log(1.5) ** 2  # a text of 2/3 of the references' length has a penalty of 1/2


def ngrams(tokens: Sequence[str], n: int) -> Counter[Ngram]:
    """How often each n-gram occurs."""
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))


@dataclass(frozen=True)
class Matches:
    """What a text shares with its references.

    ``lengths``: number of n-grams in the text, n from 1 to :data:`NIST_ORDER`. ``hits``: of each n, the n-grams that it
    shares with a reference, each at most as often as in one of them. ``average``: mean length of the references.
    """

    lengths: tuple[int, ...]
    hits: tuple[Mapping[Ngram, int], ...]
    average: float


def match(tokens: Sequence[str], references: Sequence[Sequence[str]]) -> Matches:
    """Compare the tokens of a text with those of its references, of which there is at least one."""
    hits = []
    for n in range(1, NIST_ORDER + 1):
        most: Counter[Ngram] = Counter()
        for reference in references:
            most |= ngrams(reference, n)
        hits.append(ngrams(tokens, n) & most)
    sizes = [len(reference) for reference in references]
    lengths = tuple(len(tokens) - n for n in range(NIST_ORDER))
    return Matches(lengths, tuple(hits), sum(sizes) / len(sizes))


@dataclass(frozen=True)
class Information:
    """How informative n-grams are, from the references of a corpus. ``counts``: occurrences of each n-gram, n from 1 to
    :data:`NIST_ORDER`. ``tokens``: their tokens."""

    counts: Mapping[Ngram, int]
    tokens: int

    def of(self, ngram: Ngram) -> float:
        """log2 of how much rarer an n-gram is than its first n-1 tokens; 0 for one that no reference has."""
        count = self.counts.get(ngram, 0)
        if not count:
            return 0.0
        before = self.counts[ngram[:-1]] if len(ngram) > 1 else self.tokens
        return math.log(before / count, 2)

    def total(self, hits: Mapping[Ngram, int]) -> float:
        """The information of n-grams."""
        return sum(self.of(ngram) * count for ngram, count in hits.items())


def nist(found: Matches, information: Information) -> float:
    """NIST of one text; not bounded, about 5 to 9 for good texts."""
    totals = Totals()
    totals.add(found, information)
    return totals.nist


@dataclass
class Totals:
    """Matches of many texts added up, for the NIST of a corpus."""

    lengths: list[int] = field(default_factory=lambda: [0] * NIST_ORDER)
    information: list[float] = field(default_factory=lambda: [0.0] * NIST_ORDER)
    average: float = 0.0

    def add(self, found: Matches, information: Information) -> None:
        """Add a text."""
        for n in range(NIST_ORDER):
            self.lengths[n] += found.lengths[n]
            self.information[n] += information.total(found.hits[n])
        self.average += found.average

    @property
    def nist(self) -> float:
        """NIST."""
        ratio = self.lengths[0] / self.average if self.average else 0.0
        if ratio <= 0:
            return 0.0
        penalty = 1.0 if ratio >= 1 else math.exp(-_BETA * math.log(ratio) ** 2)
        shares = (total / length for total, length in zip(self.information, self.lengths, strict=True) if length > 0)
        return penalty * sum(shares)
