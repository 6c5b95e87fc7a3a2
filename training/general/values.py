"""Made values, the same said in two ways, and near misses: numbers, units, signs, shares, spellings.

The words are those of ``tables.json``. Every kind of pair draws a true and a false one alike (:func:`twins`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))
UNITS: dict[str, list[tuple[str, str]]] = TABLES["units"]
"""Measure → its units, each in two spellings."""
MEASURED: dict[str, list[tuple[str, str]]] = TABLES["measured"]
"""Measure → predicates and a sentence for each."""
SHARES: dict[str, list[str]] = TABLES["shares"]
"""A share → others that do not follow from it."""
_VOWELS = "aeiou"
Sides = tuple[str, str]
T = TypeVar("T")


class Detail(NamedTuple):
    """A fact's value, the same value said in another way or in the same, and a near miss. ``said``: a sentence."""

    predicate: str
    said: str
    value: str
    same: str
    other: str


def twins(make: Callable[[bool, random.Random], T], rng: random.Random) -> tuple[T, T]:
    """A pair for True and one for False, each from the same state of `rng`: counterfactual pairs, which differ in as
    little as their kind allows (Kaushik, Hovy & Lipton, ICLR 2020)."""
    drawn = rng.getstate()
    true = make(True, rng)
    rng.setstate(drawn)
    return true, make(False, rng)


def sentence_case(text: str) -> str:
    return text[0].upper() + text[1:]


def in_words(n: int) -> str:
    """An English number below ten thousand."""
    words: dict[str, str] = TABLES["numbers_in_words"]
    if str(n) in words:
        return words[str(n)]
    if n < 100:
        return f"{words[str(n // 10 * 10)]}-{words[str(n % 10)]}"
    size, name, between = (100, "hundred", " and ") if n < 1000 else (1000, "thousand", " ")
    return f"{in_words(n // size)} {name}" + (f"{between}{in_words(n % size)}" if n % size else "")


def signs(agree: bool, rng: random.Random) -> Sides:
    """A value with a sign, in figures or in words: the same sign, or the other one."""
    data, *sentences = rng.choice(TABLES["signed"])
    sign = rng.choice((0, 1))
    value, subject = f"{rng.randint(2, 90)}", rng.choice(TABLES["signed_subjects"])
    minus = rng.choice(("-", "-", "−"))

    def side(negative: int, *, as_data: bool) -> str:
        if as_data:
            shown = f"{minus}{value}" if negative else rng.choice(("", "+")) + value
            return "The " + data.replace("{s}", subject).replace("{n}", shown) + "."
        return sentence_case(rng.choice(sentences[negative]).replace("{s}", subject).replace("{v}", value))

    first, second = rng.choice(((True, False), (True, False), (False, True), (False, False), (True, True)))
    return side(sign, as_data=first), side(sign if agree else 1 - sign, as_data=second)


def measured(rng: random.Random) -> Detail:
    """A number with a unit: the unit spelled in full or not, and another unit."""
    measure = rng.choice(sorted(UNITS))
    unit, another = rng.sample(UNITS[measure], 2)
    figure = f"{rng.randint(2, rng.choice((20, 300, 9000))):,}"
    if measure == "money" and rng.random() < 0.5:
        figure = f"{figure} {rng.choice(('thousand', 'million', 'billion'))}"
    value, same, other = (f"{figure} {spellings[rng.random() < 0.75]}" for spellings in (unit, unit, another))
    predicate, said = rng.choice(MEASURED[measure])
    return Detail(predicate, said, value, same, other)


def counted(rng: random.Random) -> Detail:
    """A number in digits or in words, and another number."""
    number = rng.choice((rng.randint(2, 20), rng.randint(2, 99), rng.randint(21, 99), rng.randint(100, 999)))
    near = number + rng.choice((-1, 1, 1, 2, 10) if number > 2 else (1, 2, 10))
    value, same, other = (in_words(n) if rng.random() < 0.5 else str(n) for n in (number, number, near))
    noun, said = rng.choice(TABLES["counted"])
    return Detail(f"number of {noun}", said, value, same, other)


def quantified(rng: random.Random) -> Detail:
    """How many of its parts are so, and another share that does not follow."""
    share = rng.choice(sorted(SHARES))
    noun, state = rng.choice(TABLES["parts"])
    said = rng.choice((f"{{o}} of the {noun} of {{s}} are {state}.", f"In {{s}}, {{o}} of the {noun} are {state}."))
    return Detail(f"share of {noun} {state}", said, share, share, rng.choice(SHARES[share]))


def misspelt(name: str, rng: random.Random) -> str | None:
    """The name with one letter replaced, doubled or left out, not the first of a word; None where it has none."""
    places = [i for i in range(1, len(name)) if name[i].isalpha() and name[i].islower() and name[i - 1].isalpha()]
    if not places:
        return None
    at = rng.choice(places)
    letters = _VOWELS if name[at] in _VOWELS else "bcdfgklmnprstvz"
    change = rng.choice([c for c in letters if c != name[at]])
    put = rng.choices((change, name[at] * 2, ""), (6, 1, 2))[0]
    return name[:at] + put + name[at + 1 :]
