"""Select the facts that a sentence is about, for rows whose facts do not all fit the model.

A fact is selected if it shares an entity (its subject, or a word of an object that is not a number) or a number with
the sentence. Selected facts are ranked as follows, and as many as fit are taken:

1. facts whose subject and object both occur in the sentence;
2. other facts about a subject that occurs in the sentence;
3. other facts whose object occurs in it.

A subject occurs if the sentence has a word of it, unless the sentence has the same words and more of another subject
("LeBron James" is not James Jones). Words of an object that are part of its own subject's name ("Boston Celtics", city
"Boston") do not count. Within 1 and 2, subjects with a larger part of their name in the sentence come first (a word
that few names have counts more), then facts whose other words occur in the sentence ("scored", "points"), then the
order of the row. Facts that are sentences, such as those of a document, have no subject: they are looked for by the
rarest words of the sentence first, and those that share more words with it come first. A sentence without a subject
("He added six assists.") is assumed to be about the subjects of the nearest sentence before it. If a sentence shares
nothing with any fact, the first facts of the row are taken.

A row may have ten thousand facts and a text a hundred sentences, so a sentence is not compared with every fact: an
index maps words and numbers to facts, and its lists are no longer than the number of facts that could ever fit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from .terms import FactTerms, Terms

MOST_SUBJECTS = 64
"""Largest number of subjects of a sentence; those with the largest part of their name in it are kept."""


class FactIndex:
    """An index of the facts of one row by the words and numbers that they may share with a sentence.

    Args:
        facts: the facts of the row, in its order.
        most: largest number of facts that could ever fit; no list in the index is longer.

    ``looked_at``: number of index entries read or written so far; tests count them.
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
            if not fact.subject:
                for term in fact.object:
                    self._saying.setdefault(term, []).append(position)
                self.looked_at += len(fact.object)
                continue
            self._add(self._about.setdefault(subject, []), position)
            for term in fact.object - fact.subject:
                self._add(self._saying.setdefault(term, []), position)
                self._add(self._both.setdefault((subject, term), []), position)

    def subjects(self, sentence: Terms) -> dict[int, float]:
        """The subjects in a sentence, each with the share of its name that occurs there, the largest share first."""
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
        """Positions of the facts to check a sentence against, the most relevant first; empty if none shares anything.

        Args:
            subjects: its subjects, as :meth:`subjects` gives them for it or for a sentence before it.
        """
        every = sentence.all
        said = sorted(term for term in every if term in self._saying)
        if not any(self._names):  # facts without subjects, of which a common word may be in thousands
            said.sort(key=lambda term: len(self._saying[term]))
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
                        fact = self._facts[position]
                        own_words = len(fact.said & every) if tier < 2 or not fact.subject else 0
                        chosen[position] = (tier, -share if tier < 2 else 0.0, -own_words, position)
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
