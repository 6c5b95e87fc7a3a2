"""BLEU (Papineni et al., ACL 2002) and NIST (Doddington, HLT 2002) as the E2E challenge computes them.

With the tokens of :mod:`.tokens`, they equal the Python implementation in the official script of the challenge.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .tokens import Ngram, ngrams

BLEU_ORDER, NIST_ORDER = 4, 5
_BETA = -math.log(0.5) / math.log(1.5) ** 2  # a text of 2/3 of the references' length has a penalty of 1/2


@dataclass(frozen=True)
class Matches:
    """What a text shares with its references.

    ``lengths``: number of n-grams in the text, n from 1 to :data:`NIST_ORDER`. ``hits``: of each n, the n-grams that it
    shares with a reference, each at most as often as in one of them. ``closest``: length of the reference closest in
    length, the shorter of two. ``average``: mean length of the references.
    """

    lengths: tuple[int, ...]
    hits: tuple[Mapping[Ngram, int], ...]
    closest: int
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
    closest = min(sizes, key=lambda size: (abs(size - len(tokens)), size))
    lengths = tuple(len(tokens) - n for n in range(NIST_ORDER))
    return Matches(lengths, tuple(hits), closest, sum(sizes) / len(sizes))


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
    """Matches of many texts added up, for BLEU and NIST of a corpus."""

    lengths: list[int] = field(default_factory=lambda: [0] * NIST_ORDER)
    hits: list[int] = field(default_factory=lambda: [0] * NIST_ORDER)
    information: list[float] = field(default_factory=lambda: [0.0] * NIST_ORDER)
    closest: int = 0
    average: float = 0.0

    def add(self, found: Matches, information: Information) -> None:
        """Add a text."""
        for n in range(NIST_ORDER):
            self.lengths[n] += found.lengths[n]
            self.hits[n] += sum(found.hits[n].values())
            self.information[n] += information.total(found.hits[n])
        self.closest += found.closest
        self.average += found.average

    @property
    def bleu(self) -> float:
        """BLEU, 0 to 1; 0 where no n-gram of some length is shared."""
        if min(self.hits[:BLEU_ORDER]) <= 0:
            return 0.0
        precision = sum(
            math.log(hits / length)
            for hits, length in zip(self.hits[:BLEU_ORDER], self.lengths[:BLEU_ORDER], strict=True)
        )
        brevity = min(1.0, math.exp(1 - self.closest / self.lengths[0]))
        return brevity * math.exp(precision / BLEU_ORDER)

    @property
    def nist(self) -> float:
        """NIST."""
        ratio = self.lengths[0] / self.average if self.average else 0.0
        if ratio <= 0:
            return 0.0
        penalty = 1.0 if ratio >= 1 else math.exp(-_BETA * math.log(ratio) ** 2)
        shares = (total / length for total, length in zip(self.information, self.lengths, strict=True) if length > 0)
        return penalty * sum(shares)
