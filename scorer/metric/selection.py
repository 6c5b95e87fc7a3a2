"""Select the facts that a sentence is about, for rows with more facts than fit the model.

A fact is selected if it shares an entity (its subject, or a word of an object that is not a number) or a number with
the sentence. Selected facts are ranked as follows, and as many as fit are taken:

1. facts with a subject and an object that both occur in the sentence;
2. other facts about a subject that occurs in the sentence;
3. other facts with an object that occurs in it.

A subject occurs if the sentence has a word of it, unless the sentence has the same words and more of another subject
("LeBron James" is not James Jones). Words of an object that are part of its own subject's name ("Boston Celtics", city
"Boston") do not count. Within 1 and 2, subjects with a larger part of their name in the sentence come first (a word
that few names have counts more), then facts with other words of the sentence ("scored", "points"), then the order of
the row. Facts that are sentences, as in a document, have no subject: they are looked for by the rarest words of the
sentence first, and facts that share more words with it come first. A sentence without a subject ("He added six
assists.") is assumed to be about the subjects of the nearest sentence before it. If a sentence shares nothing with any
fact, the first facts of the row are taken.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .facts import Triple

MOST_SUBJECTS = 64
"""Largest number of subjects of a sentence; subjects with the largest part of their name in it are kept."""
Terms = frozenset[str]
"""Words of a text, folded and without function words, and its numbers."""


class FactTerms(NamedTuple):
    """Terms of a fact."""

    subject: Terms
    object: Terms
    other_words: Terms
    """The other words of the fact's sentence."""


class FactIndex:
    """An index of the facts of one row, which may be ten thousand, by the words and numbers that they may share with a
    sentence.

    Args:
        facts: the terms of each fact.
        limit: largest number of facts that could ever fit; only lists of facts without a subject are longer.
    """

    def __init__(self, facts: Sequence[FactTerms], limit: int) -> None:
        self._facts = facts
        self._limit = max(1, limit)
        self._subject_of: list[int] = []
        self._subjects: defaultdict[str, list[int]] = defaultdict(list)
        self._about: defaultdict[int, list[int]] = defaultdict(list)
        self._saying: defaultdict[str, list[int]] = defaultdict(list)
        self._both: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        numbered: dict[Terms, int] = {}
        for position, fact in enumerate(facts):
            subject = numbered.setdefault(fact.subject, len(numbered))
            self._subject_of.append(subject)
            if not fact.subject:
                for term in fact.object:
                    self._saying[term].append(position)
                continue
            self._add(self._about[subject], position)
            for term in fact.object - fact.subject:
                self._add(self._saying[term], position)
                self._add(self._both[subject, term], position)
        self._names = list(numbered)
        self._bearers = Counter(word for name in self._names for word in name)
        for subject, name in enumerate(self._names):
            for word in name:
                self._add(self._subjects[word], subject)

    def subjects(self, sentence: Terms) -> dict[int, float]:
        """The subjects in a sentence, each with the share of its name that occurs there, the largest share first."""
        shared = {
            subject: self._names[subject] & sentence for word in sentence for subject in self._subjects.get(word, ())
        }
        shares = {
            subject: self._weight(words) / self._weight(self._names[subject]) for subject, words in shared.items()
        }
        largest = sorted(shares, key=lambda subject: (-shares[subject], subject))[:MOST_SUBJECTS]
        shared_words = {shared[subject] for subject in largest}
        return {
            subject: shares[subject]
            for subject in largest
            if not any(shared[subject] < words for words in shared_words)
        }

    def choose(self, sentence: Terms, subjects: dict[int, float]) -> list[int]:
        """Positions of the facts to check a sentence against, the most relevant first; empty if none shares anything.

        ``subjects``: as :meth:`subjects` gives them for it or for a sentence before it.
        """
        terms = sorted(term for term in sentence if term in self._saying)
        if not any(self._names):  # facts without subjects, of which a common word may be in thousands
            terms.sort(key=lambda term: len(self._saying[term]))
        tiers: tuple[Iterable[Sequence[int]], ...] = (
            (self._both.get((subject, term), ()) for subject in subjects for term in terms),
            (self._about[subject] for subject in subjects),
            (self._saying[term] for term in terms),
        )
        ranks: dict[int, tuple[int, float, int, int]] = {}
        for tier, lists in enumerate(tiers):
            added = 0
            for positions in lists:
                for position in positions:
                    if position not in ranks:
                        share = subjects.get(self._subject_of[position], 0.0)
                        fact = self._facts[position]
                        shared_words = len(fact.other_words & sentence) if tier < 2 or not fact.subject else 0
                        ranks[position] = (tier, -share if tier < 2 else 0.0, -shared_words, position)
                        added += 1
                if added >= self._limit:
                    break
        return sorted(ranks, key=ranks.__getitem__)

    def _weight(self, words: Iterable[str]) -> float:
        return math.fsum(1 / self._bearers[word] for word in words)

    def _add(self, entries: list[int], entry: int) -> None:
        if len(entries) < self._limit:
            entries.append(entry)


_TOKEN = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|[^\W\d_]+")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
NUMBER_WORDS = dict(zip(_NUMBER_WORDS.split(), [*range(20), *range(20, 100, 10)], strict=True))
"""The numbers of one word, without multipliers such as *hundred*."""
# Function words. "will", "may" and "can" are also names, but hardly ever the only word of a name.
_FUNCTION_WORDS = (
    "a about after also although an and any are as at be been before both but by can could did do does during each for "
    "from had has have he her here him his how i if in into is it its just may more most much my no nor not of off on "
    "or other our out over own s same she should since so some such t than that the their them then there these they "
    "this those through to too under until up very was we were what when where which while who whom whose why will "
    "with would you your"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


def terms_of(text: str) -> Terms:
    """The words and numbers of a text."""
    terms: set[str] = set()
    tens = 0  # of a "twenty" whose "five" may come next
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text)):
        word = _number(token) if token[0].isdecimal() else _fold(token)
        value = NUMBER_WORDS.get(word)
        if value is None:
            tens = 0
            if word not in FUNCTION_WORDS:
                terms.add(word)
        elif tens and 0 < value < 10:
            terms.discard(str(tens))
            terms.add(str(tens + value))
            tens = 0
        else:
            terms.add(str(value))
            tens = value if value >= 20 else 0
    return frozenset(terms)


def terms_of_fact(triple: Triple, sentence: str) -> FactTerms:
    """The terms of a triple and of its sentence, as a template words it.

    A name of function words alone (``The Who``) keeps them, otherwise it could never be found. A fact that is a
    sentence has no subject; all its terms are terms of its object.
    """
    terms = terms_of(sentence)
    if triple.sentence is not None:
        return FactTerms(frozenset(), terms, terms)
    subject, value = (
        terms_of(part) or frozenset(map(_fold, _TOKEN.findall(part))) for part in (triple.subject, triple.object)
    )
    words = frozenset(term for term in terms if not term[:1].isdecimal())
    return FactTerms(subject, value, words - subject - value)


def _fold(word: str) -> str:
    """A word without case and accents."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def _number(digits: str) -> str:
    """The same text for each value, without separators of thousands and outer zeros."""
    integer, _, fraction = digits.replace(",", "").partition(".")
    integer, fraction = integer.lstrip("0") or "0", fraction.rstrip("0")
    return f"{integer}.{fraction}" if fraction else integer
