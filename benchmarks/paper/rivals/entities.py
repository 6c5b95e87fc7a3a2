"""A weak baseline: the share of the subjects and objects of the facts that are in the text (after Faille et al.,
Entity-Based Semantic Adequacy for Data-to-Text Generation, EMNLP Findings 2021).

A name is found if its words are, without what stands in parentheses, in any order; or its initials. A date is found in
any common form, or if its year, month and day are. A number is found if one in the text is equal, or is its value
rounded to the digits given, and at most 1 % away.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from benchmarks.paper.challenge.texts import MONTHS
from scorer.metric.facts import Triple

_LITERAL = re.compile(r'^"(.*)"(?:@[\w-]+|\^\^\S+)?$', re.DOTALL)
_BRACKETS = re.compile(r"\s?\([^()]{0,200}\)")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d{1,2})?", re.IGNORECASE)
_WITH_UNIT = re.compile(rf"({_NUMBER.pattern})(?:\s?\([^()]*\)|[a-z%$€£²³\s]*)", re.IGNORECASE)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_SCALE = re.compile(rf"\s?({'|'.join(_SCALES)})\b", re.IGNORECASE)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_MONTHS = [month.lower() for month in MONTHS]
_UNIMPORTANT = {"a", "an", "and", "at", "by", "de", "for", "from", "in", "la", "of", "on", "or", "the", "to", "with"}
_MOST_ZEROS = 200  # a float holds no larger power of ten than 308
_ROUNDED = 0.01


def found(triples: Sequence[Triple], text: str) -> dict[str, bool]:
    """Whether each distinct subject and object of a row is in its text."""
    said = _Text(text)
    return {entity: _is_in(entity, said) for triple in triples for entity in (triple.subject, triple.object)}


@dataclass(frozen=True)
class _Text:
    given: str

    @cached_property
    def words(self) -> frozenset[str]:
        words = _words(self.given)
        singular = (word.removesuffix("s") for word in words if len(word) > 3)
        return frozenset(words) | frozenset(singular)

    @cached_property
    def plain(self) -> str:
        return f" {' '.join(_words(self.given))} "

    @cached_property
    def capitals(self) -> frozenset[str]:
        return frozenset(re.findall(r"\b[A-Z]{2,}\b", self.given.replace(".", "")))

    @cached_property
    def numbers(self) -> tuple[tuple[float, float], ...]:
        """Each number, and half a unit of its last digit."""
        numbers = [(float(_WORDS.index(word)), 0.0) for word in _words(self.given) if word in _WORDS]
        for match in _NUMBER.finditer(self.given):
            value, precision = _value(match[0])
            scale = _SCALE.match(self.given, match.end())
            factor = _SCALES[scale[1].lower()] if scale else 1.0
            numbers.append((value * factor, precision * factor))
        return tuple(numbers)


def _is_in(entity: str, text: _Text) -> bool:
    literal = _LITERAL.match(entity.strip())
    name = (literal[1] if literal else entity).replace("_", " ").strip()
    if date := _DATE.fullmatch(name):
        return _has_date(int(date[1]), int(date[2]), int(date[3]), text)
    if (number := _WITH_UNIT.fullmatch(name)) and math.isfinite(value := _value(number[1])[0]):
        return _has_number(value, text)
    return _has_name(name, text)


def _has_date(year: int, month: int, day: int, text: _Text) -> bool:
    if not 1 <= month <= 12:
        return False
    forms = (f"{year} {month:02} {day:02}", f"{day:02} {month:02} {year}", f"{month:02} {day:02} {year}",
             f"{day} {month} {year}", f"{month} {day} {year}")  # fmt: skip
    if any(f" {form} " in text.plain for form in forms):
        return True
    name = _MONTHS[month - 1]
    days = {f"{day}", f"{day:02}", *(f"{day}{ending}" for ending in ("st", "nd", "rd", "th"))}
    return str(year) in text.words and bool({name, name[:3]} & text.words) and bool(days & text.words)


def _has_number(value: float, text: _Text) -> bool:
    differences = ((abs(value - other), precision) for other, precision in text.numbers)
    return any(away <= max(1e-9 * abs(value), min(precision, _ROUNDED * abs(value))) for away, precision in differences)


def _has_name(name: str, text: _Text) -> bool:
    words = _words(_BRACKETS.sub("", name)) or _words(name)
    if not words:
        return name in text.given
    if f" {' '.join(words)} " in text.plain:
        return True
    content = [word for word in words if word not in _UNIMPORTANT] or words
    if all(word in text.words for word in content):
        return True
    initials = "".join(word[0] for word in content).upper()
    return len(initials) >= 2 and initials in text.capitals


def _words(text: str) -> list[str]:
    """Lower case without accents; what is neither letter nor digit divides words."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.findall(r"[^\W_]+", plain.lower().replace("'", ""))


def _value(number: str) -> tuple[float, float]:
    """The value of a number as written, and half a unit of its last digit (of the last that is not 0, if whole)."""
    plain = number.replace(",", "").lower()
    mantissa, _, exponent = plain.partition("e")
    factor = 10.0 ** int(exponent or 0)
    decimals = len(mantissa.partition(".")[2])
    digits = mantissa.lstrip("-")
    zeros = 0 if decimals else min(_MOST_ZEROS, len(digits) - len(digits.rstrip("0")))
    return float(plain), 0.5 * 10.0 ** (zeros - decimals) * factor
