"""The words and numbers of a text, normalised so that facts and sentences can be compared.

Words are compared without case and accents, and function words are left out; numbers are compared by value, in digits
or words (``1,200`` and ``1200.0``, ``twenty-five`` and ``25``). Both end wherever the kind of character changes
(letters, digits, others), so that ``Alan_Bean``, ``Bean's`` and ``24-point`` give the expected words.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from .triples import Triple

_TOKEN = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|[^\W\d_]+")
_BELOW_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_FROM_TWENTY = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = {word: value for value, word in enumerate(_BELOW_TWENTY.split())} | {
    word: value for value, word in zip(range(20, 100, 10), _FROM_TWENTY.split(), strict=True)
}
"""The numbers of one word, without those that multiply what stands before them."""
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# Function words. "will", "may" and "can" are also names, but hardly ever the only word of a name.
_FUNCTION_WORDS = (
    "a about after also although an and any are as at be been before both but by can could did do does during each for "
    "from had has have he her here him his how i if in into is it its just may more most much my no nor not of off on "
    "or other our out over own s same she should since so some such t than that the their them then there these they "
    "this those through to too under until up very was we were what when where which while who whom whose why will "
    "with would you your"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


class Terms(NamedTuple):
    """Words and numbers of a text. ``words``: folded, without function words. ``numbers``: normalised by
    :func:`number`."""

    words: frozenset[str]
    numbers: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """Both; a number is never a word."""
        return self.words | self.numbers


class FactTerms(NamedTuple):
    """Terms of a fact. ``subject``, ``object``: their terms; ``said``: the other words of the fact's sentence."""

    subject: frozenset[str]
    object: frozenset[str]
    said: frozenset[str]


def terms_of(text: str) -> Terms:
    """The words and numbers of a text."""
    words: set[str] = set()
    numbers: set[str] = set()
    tens = 0  # of a "twenty" whose "five" may come next
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text)):
        if token[0].isdecimal():
            numbers.add(number(token))
            tens = 0
            continue
        word = fold(token)
        value = NUMBER_WORDS.get(word)
        if value is None:
            tens = 0
            if word not in FUNCTION_WORDS:
                words.add(word)
        elif tens and 0 < value < 10:
            numbers.discard(str(tens))
            numbers.add(str(tens + value))
            tens = 0
        else:
            numbers.add(str(value))
            tens = value if value >= 20 else 0
    return Terms(frozenset(words), frozenset(numbers))


def terms_of_fact(triple: Triple, sentence: str) -> FactTerms:
    """The terms of a triple and of the sentence that a template made of it.

    A name that has only function words (``The Who``) keeps them, otherwise it could never be found. A fact that was
    given as a sentence has no subject; all its terms are those of its object.
    """
    if triple.sentence is not None:
        terms = terms_of(triple.sentence).all
        return FactTerms(frozenset(), terms, terms)
    subject, value = (_name(part) for part in (triple.subject, triple.object))
    return FactTerms(subject, value, terms_of(sentence).words - subject - value)


def fold(word: str) -> str:
    """A word without case and accents."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def number(digits: str) -> str:
    """A canonical form for each value: no thousands separators, no leading or trailing zeros. It is computed on text,
    so that long numbers need no arithmetic."""
    whole, _, fraction = digits.replace(",", "").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _name(part: str) -> frozenset[str]:
    found = terms_of(part).all
    return found or frozenset(fold(token) for token in _TOKEN.findall(part))
