"""Values of facts, and how they are changed by a little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
_ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
         "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SIMILAR = {"a": "o", "e": "a", "i": "e", "o": "u", "u": "i", "n": "m", "m": "n", "l": "r", "r": "l", "t": "d",
            "d": "t", "k": "g", "s": "z"}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """A value in words. ``kind``: ``number``, ``quantity`` (with a unit), ``year``, ``date``, ``name`` or ``word``.

    ``parts``: the number, or day, month and year. ``unit``: behind the number. ``other_unit``: of the same dimension.
    """

    text: str
    kind: str
    parts: tuple[int, ...] = ()
    unit: str = ""
    other_unit: str = ""


def number(n: int, unit: str = "", other_unit: str = "") -> Value:
    """A number with separators of thousands, and its unit."""
    return Value(f"{n:,} {unit}".strip(), "quantity" if other_unit else "number", (n,), unit, other_unit)


def year(n: int) -> Value:
    """A year, without a separator."""
    return Value(str(n), "year", (n,))


def date(day: int, month: int, in_year: int) -> Value:
    """A day, as ``7 May 1987``."""
    return Value(f"{day} {MONTHS[month - 1]} {in_year}", "date", (day, month, in_year))


def by_one(value: Value, rng: Random) -> str:
    """A number or a year, one more or one less."""
    (n,) = value.parts
    n += 1 if n < 3 or rng.random() < 0.5 else -1
    return str(n) if value.kind == "year" else number(n, value.unit).text


def in_other_unit(value: Value, rng: Random) -> str:
    """The same number of another unit, which is another quantity."""
    return number(value.parts[0], value.other_unit).text


def in_words(value: Value, rng: Random) -> str | None:
    """A number in words, up to 99; ``None`` above."""
    (n,) = value.parts
    if n >= 100:
        return None
    words = _ONES[n] if n < 20 else _TENS[n // 10] + (f"-{_ONES[n % 10]}" if n % 10 else "")
    return f"{words} {value.unit}".strip()


def near(value: Value, rng: Random) -> str:
    """Another date: the day, the month or the year changes."""
    day, month, in_year = value.parts
    part = rng.randrange(3)
    if part == 0:
        return date(day % 28 + 1, month, in_year).text
    if part == 1:
        return date(day, month % 12 + 1, in_year).text
    return date(day, month, in_year + rng.choice((-1, 1))).text


def month_first(value: Value, rng: Random) -> str:
    """The same day as it is written in the United States."""
    day, month, in_year = value.parts
    return f"{MONTHS[month - 1]} {day}, {in_year}"


def misspelt(name: str, rng: Random) -> str:
    """A name with one letter changed into a similar one; never the first letter of a word."""
    places = [i for i, c in enumerate(name) if c in _SIMILAR and i and name[i - 1] != " "]
    if not places:
        return name + "s"
    at = rng.choice(places)
    return name[:at] + _SIMILAR[name[at]] + name[at + 1 :]


def other(values: Sequence[str], than: str, rng: Random) -> str:
    """Another of some values."""
    return rng.choice([value for value in values if value != than])
