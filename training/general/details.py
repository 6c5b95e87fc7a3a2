"""Values that are said in two ways, and near misses of them: another unit, a number a little off, one letter."""

from __future__ import annotations

import random
from typing import NamedTuple

from training.general.measures import COUNTED, MEASURED, split_camel_case

UNITS: dict[str, tuple[tuple[str, str], ...]] = {
    "length": (("km", "kilometres"), ("m", "metres"), ("cm", "centimetres"), ("ft", "feet"), ("in", "inches"),
               ("mi", "miles"), ("yd", "yards")),
    "mass": (("kg", "kilograms"), ("g", "grams"), ("t", "tonnes"), ("lb", "pounds"), ("oz", "ounces")),
    "volume": (("l", "litres"), ("ml", "millilitres"), ("gal", "gallons"), ("bbl", "barrels"), ("pt", "pints")),
    "duration": (("s", "seconds"), ("min", "minutes"), ("h", "hours"), ("d", "days"), ("wk", "weeks")),
    "power": (("MW", "megawatts"), ("kW", "kilowatts"), ("hp", "horsepower")),
    "speed": (("km/h", "kilometres per hour"), ("mph", "miles per hour"), ("m/s", "metres per second"),
              ("kn", "knots")),
    "temperature": (("°C", "degrees Celsius"), ("°F", "degrees Fahrenheit"), ("K", "kelvins")),
    "money": (("EUR", "euros"), ("USD", "dollars"), ("GBP", "pounds"), ("JPY", "yen"), ("CHF", "francs")),
    "area": (("ha", "hectares"), ("ac", "acres"), ("km²", "square kilometres"), ("m²", "square metres"),
             ("sq mi", "square miles")),
}  # fmt: skip
"""Measure → its units, each in two spellings."""
_SAID = MEASURED | {
    "speed": (("top speed", "{s} reaches {o}."), ("cruising speed", "{s} moves at {o}.")),
    "temperature": (("mean temperature", "{s} averages {o}."), ("melting point", "{s} melts at {o}.")),
    "money": (("price", "{s} costs {o}."), ("budget", "{s} has a budget of {o}."), ("debt", "{s} owes {o}.")),
    "area": (("area", "{s} covers {o}."), ("farmland", "{s} has {o} of farmland.")),
}
SHARES = {
    "all": ("half", "few", "none"), "most": ("half", "few", "none", "all"), "some": ("most", "all", "none"),
    "half": ("all", "few", "none"), "few": ("most", "all", "half", "none"), "none": ("some", "all", "most", "few"),
}  # fmt: skip
"""A share → others that do not follow from it."""
PARTS = (("windows", "broken"), ("seats", "taken"), ("pages", "blank"), ("walls", "white"), ("letters", "in Latin"),
         ("houses", "empty"), ("members", "retired"), ("trees", "oaks"), ("ships", "at sea"), ("rooms", "heated"),
         ("songs", "in Welsh"), ("trains", "late"), ("patients", "children"), ("bridges", "closed"))  # fmt: skip
BOUNDS = ("", "span", "less", "more")
"""A price is one, a span of two, or less or more than one."""
BOUND_WORDS = {"less": ("less than", "under", "below"), "more": ("more than", "over", "above")}
SIGNS = {"£": "pounds", "€": "euros", "$": "dollars", "¥": "yen"}
PRICED = (("price", "{s} costs {o}."), ("rent", "{s} charges {o} a month."), ("fee", "{s} asks for {o}."),
          ("entry fee", "{s} has an entry fee of {o}."), ("ticket price", "A ticket for {s} costs {o}."),
          ("price range", "{s} is in the {o} price range."), ("fine", "{s} is fined {o}."))  # fmt: skip
_VOWELS = "aeiou"


class Detail(NamedTuple):
    """A fact's value, the same value said in another way or in the same, and a near miss. ``said``: a sentence."""

    predicate: str
    said: str
    value: str
    same: str
    other: str


def measured(rng: random.Random) -> Detail:
    """A number with a unit: the unit spelled in full or not, and another unit."""
    measure = rng.choice(sorted(UNITS))
    unit, another = rng.sample(UNITS[measure], 2)
    figure = f"{rng.randint(2, rng.choice((20, 300, 9000))):,}"
    if measure == "money" and rng.random() < 0.5:
        figure = f"{figure} {rng.choice(('thousand', 'million', 'billion'))}"
    value, same, other = (f"{figure} {spellings[rng.random() < 0.75]}" for spellings in (unit, unit, another))
    return Detail(*rng.choice(_SAID[measure]), value, same, other)


def priced(rng: random.Random) -> Detail:
    """A price, a span of prices or a bound, with a sign or in words; another number, currency or bound."""
    sign, another = rng.sample(sorted(SIGNS), 2)
    low = rng.choice((rng.randint(2, 30), rng.randint(1, 20) * 5, rng.randint(30, 900)))
    high = low + rng.choice((2, 5, 5, 10, 50))
    bound = rng.choice(BOUNDS)
    off = (low // 2, low) if bound == "less" else (low + 5, high + 5)  # less than 20 is less than 25, too
    others = [b for b in BOUNDS if b != bound]
    near = rng.choice(((sign, *off, bound), (another, low, high, bound), (sign, low, high, rng.choice(others))))
    right = (sign, low, high, bound)
    value, same, other = (_price(*price, rng) for price in (right, right, near))
    return Detail(*rng.choice(PRICED), value, same, other)


def _price(sign: str, low: int, high: int, bound: str, rng: random.Random) -> str:
    """In one of its notations; a text whose words were set apart has a space behind the sign."""
    space, one, two = rng.choice(("", "", " ")), str(low), str(high)
    split_camel_case = rng.random() < 0.35
    said = f"{one} {SIGNS[sign]}" if split_camel_case else f"{sign}{space}{one}"
    if bound == "span":
        if split_camel_case:
            return rng.choice((f"{one} to {two} {SIGNS[sign]}", f"{one}-{two} {SIGNS[sign]}"))
        return rng.choice((f"{sign}{space}{one}-{two}", f"{sign}{space}{one} - {two}", f"{said} to {sign}{space}{two}"))
    return f"{rng.choice(BOUND_WORDS[bound])} {said}" if bound else said


def counted(rng: random.Random) -> Detail:
    """A number in digits or in words, and another number."""
    number = rng.choice((rng.randint(2, 20), rng.randint(2, 99), rng.randint(21, 99), rng.randint(100, 999)))
    near = number + rng.choice((-1, 1, 1, 2, 10) if number > 2 else (1, 2, 10))
    value, same, other = (split_camel_case(n) if rng.random() < 0.5 else str(n) for n in (number, number, near))
    noun, said = rng.choice(COUNTED)
    return Detail(f"number of {noun}", said, value, same, other)


def quantified(rng: random.Random) -> Detail:
    """How many of its parts are so, and another share that does not follow."""
    share = rng.choice(sorted(SHARES))
    noun, state = rng.choice(PARTS)
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
