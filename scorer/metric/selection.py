"""Which facts a sentence is about, when the model cannot be shown all of them.

The rule. A fact is chosen when it shares an entity (its subject, or a word of an object that is no number) or a number
with the sentence. The chosen stand in this order, and as many as fit are taken:

1. facts whose subject the sentence names and whose object it says too;
2. other facts about a subject that the sentence names;
3. other facts whose object it says.

A subject is named when a word of it is said, unless another subject is meant: one of which the same words are said, and
more ("LeBron James" is not James Jones). An object's words that are part of its own subject's name ("Boston Celtics",
city "Boston") do not count as said. Within 1 and 2, subjects of whose name more is said come first (a word that is in
few names counts more), then facts whose own words the sentence uses ("scored", "points"), then the order of the row. A
sentence that names no subject ("He added six assists.") is taken to speak of those that the nearest sentence before it
named. When a sentence shares nothing with any fact, the first facts of the row serve.

A row may have ten thousand facts and a text a hundred sentences, so a sentence does not look at every fact: words and
numbers lead to facts through an index, whose lists end after as many facts as could ever fit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from .terms import FactTerms, Terms

MOST_SUBJECTS = 64
"""A sentence speaks of no more subjects than this; those of whose name it says most are kept."""


class FactIndex:
    """The facts of one row, found by what they share with a sentence.

    Args:
        facts: of the row, in its order.
        most: facts that could fit at the very most; no list in the index is longer.

    ``looked_at``: entries of the index that were read or written so far, so that a test can count them.
    """

    def __init__(self, facts: Sequence[FactTerms], most: int) -> None:
        self._facts = facts
        self._most = max(1, most)
        self._names: list[frozenset[str]] = []
        self._subject_of: list[int] = []
        self._subjects: dict[str, list[int]] = {}
        self._bearers: Counter[str] = Counter()
        self._about: dict[int, list[int]] = {}
        self._saying: dict[str, list[int]] = {}
        self._both: dict[tuple[int, str], list[int]] = {}
        self.looked_at = 0
        numbered: dict[frozenset[str], int] = {}
        for position, fact in enumerate(facts):
            subject = numbered.setdefault(fact.subject, len(numbered))
            if subject == len(self._names):
                self._names.append(fact.subject)
                self._bearers.update(fact.subject)
                for word in fact.subject:
                    self._add(self._subjects.setdefault(word, []), subject)
            self._subject_of.append(subject)
            self._add(self._about.setdefault(subject, []), position)
            for term in fact.object - fact.subject:
                self._add(self._saying.setdefault(term, []), position)
                self._add(self._both.setdefault((subject, term), []), position)

    def subjects(self, sentence: Terms) -> dict[int, float]:
        """The subjects that a sentence names, those of whose name most is said first, each with that share."""
        every = sentence.all
        said = {
            subject: self._names[subject] & every
            for word in every
            for subject in self._read(self._subjects.get(word, ()))
        }
        shares = {subject: self._weight(words) / self._weight(self._names[subject]) for subject, words in said.items()}
        kept = sorted(shares, key=lambda subject: (-shares[subject], subject))[:MOST_SUBJECTS]
        meant = {said[subject] for subject in kept}
        return {subject: shares[subject] for subject in kept if not any(said[subject] < words for words in meant)}

    def choose(self, sentence: Terms, subjects: dict[int, float]) -> list[int]:
        """Positions of the facts to show with a sentence, the most telling first; empty where none shares anything.

        Args:
            subjects: those it speaks of, as :meth:`subjects` gives them for it or for a sentence before it.
        """
        said = sorted(term for term in sentence.all if term in self._saying)
        tiers: tuple[Iterable[Sequence[int]], ...] = (
            (self._both.get((subject, term), ()) for subject in subjects for term in said),
            (self._about[subject] for subject in subjects),
            (self._saying[term] for term in said),
        )
        chosen: dict[int, tuple[int, float, int, int]] = {}
        for tier, lists in enumerate(tiers):
            found = 0
            for positions in lists:
                self.looked_at += 1
                for position in self._read(positions):
                    if position not in chosen:
                        share = subjects.get(self._subject_of[position], 0.0)
                        own_words = len(self._facts[position].said & sentence.words)
                        chosen[position] = (tier, -share if tier < 2 else 0.0, -own_words if tier < 2 else 0, position)
                        found += 1
                if found >= self._most:
                    break
        return sorted(chosen, key=chosen.__getitem__)

    def _weight(self, words: Iterable[str]) -> float:
        return math.fsum(1 / self._bearers[word] for word in words)

    def _add(self, entries: list[int], entry: int) -> None:
        self.looked_at += 1
        if len(entries) < self._most:
            entries.append(entry)

    def _read(self, entries: Sequence[int]) -> Sequence[int]:
        self.looked_at += len(entries)
        return entries
