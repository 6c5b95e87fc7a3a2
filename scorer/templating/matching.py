"""Replace the entities of a triple by slots in a sentence that expresses it.

Entities are found however they are spelled: ``Köln`` and ``KOLN``, ``Air Base`` and ``Airbase``, ``50,000`` and
``50000.0``, ``1923-11-18`` and ``18 November 1923`` have the same keys; quotes, language tags and parentheses of the
notation of data sets (``"Aarhus"@en``, ``Foo_(bar)``) are left out. Of overlapping matches the longest is used. Parts
of a name are not searched for: the rest of the name would stay in the template, and be said of every other subject.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from ..metric.facts import Triple

BOOLEANS = frozenset({"yes", "no", "true", "false"})
"""Objects that a sentence does not name: their templates have no slot for the object, and are kept by object."""

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = r"(?P<{}>" + "|".join(f"{month}[a-z]*" for month in _MONTHS) + r")\.?"
_DAY = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"
_TOKEN = re.compile(
    rf"""(?<![\w.,])(?:
      (?P<year>\d{{4}})-(?P<month>\d{{2}})-(?P<day>\d{{2}})
    | (?:the\s)?{_DAY.format("day2")}\s?(?:of\s)?{_MONTH.format("month2")},?\s?(?P<year2>\d{{4}})
    | {_MONTH.format("month3")}\s?(?:the\s)?{_DAY.format("day3")}\s?,?\s?(?P<year3>\d{{4}})
    )(?!\d)
    | (?P<number>(?:(?<!\S)-)?(?:\d{{1,3}}(?:,\d{{3}})+(?![,\d])|\d+)(?:\.\d+)?)
    | (?P<word>(?:[^\W\d_][\u0300-\u036f]*)+)""",
    re.VERBOSE | re.IGNORECASE,
)
_TYPED = re.compile(r"""(["'].*["'])(?:@[A-Za-z-]+|\^\^\S+)""", re.DOTALL)
_PARENTHESISED = re.compile(r"\([^()]*\)")
_SLOT = re.compile(r"<(?:subject|object)>")
_QUOTED = re.compile(r"""["'“”‘’]\s?(<(?:subject|object)>)\s?([.,]?)["'“”‘’]""")
_LETTERS = str.maketrans({"ø": "o", "đ": "d", "ð": "d", "ł": "l", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i"})


class Delexicalisation(NamedTuple):
    """The result for a reference: a template, or the reason why there is none."""

    template: str | None
    """The sentence with slots; ``None`` where it gives no template."""
    reason: str | None
    """Why there is no template, as :func:`delexicalise` lists the reasons; ``None`` where there is one."""


class Token(NamedTuple):
    """A word, number or date of a string."""

    key: str
    """Key that other spellings of it share."""
    start: int
    """First code point."""
    end: int
    """Code point after the last one."""


def tokens(text: str) -> list[Token]:
    """The tokens of a string, in order; everything that is neither letter nor digit only separates.

    The key of a word is without case and diacritics, that of a number is ``#`` and its value, that of a date ``@`` and
    the date in ISO 8601.
    """
    return [Token(_key(match), *match.span()) for match in _TOKEN.finditer(text)]


def _key(match: re.Match[str]) -> str:
    parts = match.groupdict()
    if parts["word"]:
        return _folded(parts["word"])
    if parts["number"]:
        digits = "".join(str(unicodedata.decimal(c, c)) for c in parts["number"] if c != ",")
        return f"#{Decimal(digits):f}".rstrip("0").rstrip(".") if "." in digits else f"#{digits}"
    form = next(form for form in ("", "2", "3") if parts[f"year{form}"])
    month = parts[f"month{form}"].lower()
    number = int(month) if month.isdecimal() else _MONTHS.index(month[:3]) + 1
    return f"@{parts[f'year{form}']}-{number:02}-{int(parts[f'day{form}']):02}"


@lru_cache(maxsize=1 << 16)
def _folded(word: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return plain.casefold().translate(_LETTERS)


@lru_cache(maxsize=1 << 15)
def _spellings(name: str) -> tuple[str, ...]:
    """An entity without the notation of data sets, with and without its parentheses."""
    typed = _TYPED.fullmatch(name.strip())
    plain = " ".join((typed[1] if typed else name).replace("_", " ").split()).strip("\"'")
    return tuple(dict.fromkeys((plain, " ".join(_PARENTHESISED.sub(" ", plain).split()))))


@lru_cache(maxsize=1 << 15)
def _targets(name: str) -> frozenset[str]:
    """The spellings of an entity's tokens, written together."""
    return frozenset("".join(token.key for token in tokens(spelling)) for spelling in _spellings(name)) - {""}


def is_boolean(value: str) -> bool:
    """Whether an object is a yes or no."""
    return value.strip("\"' ").casefold() in BOOLEANS


def delexicalise(triple: Triple, text: str) -> Delexicalisation:
    """Replace subject and object by slots in a sentence that expresses the triple and nothing else.

    Each must be found exactly once. An object that is one of :data:`BOOLEANS` is not searched for. A full stop is added
    if the sentence ends without punctuation.

    Returns a template in the form that :mod:`scorer.metric.fact_templates` fills, or the reason for none:

    - ``slot_in_text``: the sentence has ``<subject>`` or ``<object>``
    - ``same_entity``: subject and object are spelled the same way
    - ``neither``, ``no_subject``, ``no_object``: not in the sentence
    - ``subject_twice``, ``object_twice``: several times in the sentence
    - ``name_left``: ``Foo_(Bar)`` is in the sentence as ``Foo``, and ``Bar`` elsewhere
    """
    text = " ".join(text.split())
    if _SLOT.search(text):
        return Delexicalisation(None, "slot_in_text")
    entities = {"subject": triple.subject} | ({} if is_boolean(triple.object) else {"object": triple.object})
    if len(entities) == 2 and _targets(triple.subject) & _targets(triple.object):
        return Delexicalisation(None, "same_entity")
    spans = _spans(entities, text)
    matches = Counter(slot for slot, _, _ in spans)
    absent = [slot for slot in entities if not matches[slot]]
    if absent:
        return Delexicalisation(None, "neither" if len(absent) == 2 else f"no_{absent[0]}")
    twice = [slot for slot in entities if matches[slot] > 1]
    if twice:
        return Delexicalisation(None, f"{twice[0]}_twice")
    template, position, literals = "", 0, ""
    for slot, start, end in sorted(spans, key=lambda span: span[1]):
        literals += text[position:start] + " "
        template += f"{text[position:start]}<{slot}>"
        position = end
    if any(token.key in _in_parentheses(entities) for token in tokens(literals + text[position:])):
        return Delexicalisation(None, "name_left")
    template = _QUOTED.sub(r"\1\2", template + text[position:])  # quotes that hold a blank or the full stop as well
    if template.endswith("..") and not template.endswith("..."):
        template = template[:-1]
    return Delexicalisation(template if template.endswith((".", "!", "?")) else template + ".", None)


def _in_parentheses(entities: dict[str, str]) -> set[str]:
    """Keys of names in the parentheses of the entities."""
    parts = [part for name in entities.values() for part in _PARENTHESISED.findall(_spellings(name)[0])]
    words = [(word, part) for part in parts for word in tokens(part)]
    return {word.key for word, part in words if part[word.start].isupper() and len(word.key) > 1}


def _spans(entities: dict[str, str], text: str) -> list[tuple[str, int, int]]:
    """(slot, start, end) in code points of the matches; of overlapping matches only the longest."""
    words = tokens(text)
    candidates = []
    for slot, name in entities.items():
        plain = _spellings(name)[0]
        is_acronym = plain.isupper() and len(plain) <= 3  # IT and US are not "it" and "us"
        tail = plain[len(plain.rstrip(".!?")) :]
        for first, last in {run for target in _targets(name) for run in _runs(target, words)}:
            start, end = words[first].start, words[last].end
            if not is_acronym or text[start:end].isupper():
                candidates.append((slot, *_widened(text, start, end, tail)))
    candidates.sort(key=lambda span: (span[1] - span[2], span[1]))
    spans: list[tuple[str, int, int]] = []
    for slot, start, end in candidates:
        if all(end <= other_start or other_end <= start for _, other_start, other_end in spans):
            spans.append((slot, start, end))
    return spans


def _runs(target: str, words: list[Token]) -> Iterator[tuple[int, int]]:
    """Runs of tokens that spell the target when written together, as positions of the first and the last."""
    for first in range(len(words)):
        length = 0
        for last in range(first, len(words)):
            key = words[last].key
            if not target.startswith(key, length):
                break
            length += len(key)
            if length == len(target):
                yield first, last
                break


def _widened(text: str, start: int, end: int, tail: str) -> tuple[int, int]:
    """A match extended by the punctuation that belongs to it: the entity's own end, and its brackets."""
    if tail and text.startswith(tail, end):
        end += len(tail)
    inside = text[start:end]
    if inside.count("(") > inside.count(")") and text.startswith(")", end):
        end += 1
    elif inside.count(")") > inside.count("(") and text[start - 1 : start] == "(":
        start -= 1
    return start, end
