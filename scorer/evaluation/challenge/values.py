"""Values of facts, and how they are changed by a little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
          "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SIMILAR = {"a": "o", "e": "a", "i": "e", "o": "u", "u": "i", "n": "m", "m": "n", "l": "r", "r": "l", "t": "d",
            "d": "t", "k": "g", "s": "z"}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """A value in words. ``kind``: ``number``, ``quantity``, ``date``, ``year``, ``name`` or ``word``."""

    text: str
    kind: str


@dataclass(frozen=True)
class Number(Value):
    """A count, with the noun or unit behind it, if any. ``other_unit``: another unit of the same dimension."""

    n: int = 0
    unit: str = ""
    other_unit: str = ""

    def by_one(self, rng: Random) -> Value:
        """One more or one less."""
        return number(self.n + (1 if self.n < 3 or rng.random() < 0.5 else -1), self.unit, self.other_unit)

    def in_other_unit(self) -> Value:
        """The same number of another unit, which is another quantity."""
        return number(self.n, self.other_unit)

    def in_words(self) -> str | None:
        """The number in words, up to 99; ``None`` above."""
        if self.n >= 100:
            return None
        words = (
            _SMALL[self.n] if self.n < 20 else _TENS[self.n // 10] + (f"-{_SMALL[self.n % 10]}" if self.n % 10 else "")
        )
        return f"{words} {self.unit}".strip()


@dataclass(frozen=True)
class Date(Value):
    """A day."""

    day: int = 1
    month: int = 1
    year: int = 2000

    def near(self, rng: Random) -> Value:
        """Another day: the day, the month or the year changes."""
        part = rng.randrange(3)
        day = self.day % 28 + 1 if part == 0 else self.day
        month = self.month % 12 + 1 if part == 1 else self.month
        return date(day, month, self.year + (rng.choice((-1, 1)) if part == 2 else 0))

    def month_first(self) -> str:
        """The same day as it is written in the United States."""
        return f"{MONTHS[self.month - 1]} {self.day}, {self.year}"


def number(n: int, unit: str = "", other_unit: str = "") -> Number:
    """A number with separators of thousands, and its unit."""
    return Number(f"{n:,} {unit}".strip(), "quantity" if other_unit else "number", n, unit, other_unit)


def year(n: int) -> Number:
    """A year, without a separator."""
    return Number(str(n), "year", n)


def date(day: int, month: int, in_year: int) -> Date:
    """A day, as ``7 May 1987``."""
    return Date(f"{day} {MONTHS[month - 1]} {in_year}", "date", day, month, in_year)


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
