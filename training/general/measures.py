"""Made pairs about one measured value: numbers in words and digits, units with and without conversion, signs."""

from __future__ import annotations

import random

from scorer.metric.selection import NUMBER_WORDS

UNITS: dict[str, tuple[tuple[str, str, float], ...]] = {
    "length": (
        ("km", "kilometres", 1000.0),
        ("m", "metres", 1.0),
        ("cm", "centimetres", 0.01),
        ("mm", "millimetres", 0.001),
    ),
    "mass": (("t", "tonnes", 1000.0), ("kg", "kilograms", 1.0), ("g", "grams", 0.001)),
    "duration": (("h", "hours", 3600.0), ("min", "minutes", 60.0), ("s", "seconds", 1.0)),
    "volume": (("hl", "hectolitres", 100.0), ("l", "litres", 1.0), ("ml", "millilitres", 0.001)),
    "power": (("MW", "megawatts", 1e6), ("kW", "kilowatts", 1e3), ("W", "watts", 1.0)),
    "pressure": (("bar", "bar", 1e5), ("hPa", "hectopascals", 100.0), ("kPa", "kilopascals", 1000.0)),
}
"""Measure → short name, name in words and size of its units."""
MEASURED: dict[str, tuple[tuple[str, str], ...]] = {
    "length": (
        ("length", "{s} is {o} long."),
        ("depth", "{s} is {o} deep."),
        ("height", "{s} rises {o}."),
        ("range", "{s} has a range of {o}."),
    ),
    "mass": (("weight", "{s} weighs {o}."), ("load", "{s} carries a load of {o}.")),
    "duration": (("duration", "{s} takes {o}."), ("run time", "{s} runs for {o}.")),
    "volume": (("capacity", "{s} holds {o}."), ("tank size", "{s} has a tank of {o}.")),
    "power": (("output", "{s} delivers {o}."), ("consumption", "{s} consumes {o}.")),
    "pressure": (("pressure", "{s} is at a pressure of {o}."), ("test pressure", "{s} was tested at {o}.")),
}
THINGS = (
    "the Orva turbine",
    "the north shaft",
    "probe 7",
    "the Lenz pump",
    "cable B",
    "the training flight",
    "tank 12",
    "the Merle tunnel",
    "the blue crane",
    "the second trial",
    "the Arno pipe",
    "unit K4",
    "the old kiln",
)
COUNTED = (
    ("cannons", "{s} has {o} cannons."),
    ("pupils", "{s} has {o} pupils."),
    ("goals", "{s} scored {o} goals."),
    ("employees", "{s} employs {o} people."),
    ("exhibits", "{s} shows {o} exhibits."),
    ("pages", "{s} runs to {o} pages."),
    ("wins", "{s} has {o} wins."),
    ("rooms", "{s} has {o} rooms."),
    ("islands", "{s} consists of {o} islands."),
    ("years of service", "{s} was in service for {o} years."),
)
COUNTERS = (
    "Fort Arlen",
    "the Vale School",
    "Nadia Holt",
    "Brightside",
    "the Tin Museum",
    "the Kerr report",
    "Team Orca",
    "the Lodge",
    "the Skerry group",
    "HMS Linnet",
)
_WORDS = {value: word for word, value in NUMBER_WORDS.items()}


def split_camel_case(n: int) -> str:
    """An English number below ten thousand."""
    if n in _WORDS:
        return _WORDS[n]
    if n < 100:
        return f"{_WORDS[n // 10 * 10]}-{_WORDS[n % 10]}"
    size, name, between = (100, "hundred", " and ") if n < 1000 else (1000, "thousand", " ")
    return f"{split_camel_case(n // size)} {name}" + (f"{between}{split_camel_case(n % size)}" if n % size else "")


def _sides(predicate: str, wording: str, subject: str, one: str, other: str, rng: random.Random) -> tuple[str, str]:
    """The first value on one side, the other on the other; one of the sides is worded as data."""
    data, text = f"The {predicate} of {subject} is {{o}}.", wording.replace("{s}", subject)
    text = text[0].upper() + text[1:]
    first, second = rng.choice(((data, text), (text, data), (text, text)))
    return first.replace("{o}", one), second.replace("{o}", other)


def numbers(agree: bool, rng: random.Random) -> tuple[str, str]:
    """A count in words or digits on either side: the same, or another one."""
    own = rng.choice((rng.randint(2, 20), rng.randint(2, 99), rng.randint(100, 999)))
    other = own
    while not agree and other == own:
        other = max(2, own + rng.choice((-1, 1, 2, -2, 10, -10, 7)))
    spelled = rng.choice(((True, False), (False, True), (True, True), (True, False), (False, True)))
    one, two = (split_camel_case(n) if words else f"{n}" for n, words in zip((own, other), spelled, strict=True))
    predicate, wording = rng.choice(COUNTED)
    return _sides(f"number of {predicate}", wording, rng.choice(COUNTERS), one, two, rng)


def _figure(value: float) -> str:
    return f"{value:,.6g}" if value < 1e6 else f"{value:,.0f}"


def units(agree: bool, rng: random.Random) -> tuple[str, str]:
    """A measure in two spellings of a unit, or in two units: converted, or the number left as it was."""
    kind = rng.choice(sorted(UNITS))
    first, second = rng.sample(UNITS[kind], 2)
    value = float(rng.choice((rng.randint(2, 90), rng.randint(2, 9) * 100, rng.randint(11, 99) / 10)))
    if rng.random() < 0.45:  # one unit, two spellings; false: the number stays and the unit is another one
        figures = value, value
        second = first if agree else second
    else:
        while first[2] / second[2] > 1000 or second[2] / first[2] > 1000:
            first, second = rng.sample(UNITS[kind], 2)
        exact = value * first[2] / second[2]
        figures = value, exact if agree else exact * rng.choice((0.1, 10.0, 100.0, 0.01, 2.0))
        if figures[1] < 0.001:
            figures = value, figures[1] * 10_000
    one, two = (f"{_figure(v)} {u[rng.random() < 0.5]}" for v, u in zip(figures, (first, second), strict=True))
    predicate, wording = rng.choice(MEASURED[kind])
    return _sides(predicate, wording, rng.choice(THINGS), one, two, rng)


SIGNED: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "temperature of {s} is {n} °C",
        ("{s} is at {v} degrees above zero.", "{s} is at {v} °C.", "{s} is at plus {v} °C."),
        ("{s} is at {v} degrees below zero.", "{s} is at -{v} °C.", "{s} is at minus {v} degrees."),
    ),
    (
        "change of {s} is {n} %",
        ("{s} rose by {v} %.", "{s} grew by {v} percent.", "{s} went up {v} %."),
        ("{s} fell by {v} %.", "{s} shrank by {v} percent.", "{s} went down {v} %."),
    ),
    (
        "balance of {s} is {n}",
        ("{s} is {v} in credit.", "{s} has a surplus of {v}.", "{s} shows a gain of {v}."),
        ("{s} is {v} in debt.", "{s} has a deficit of {v}.", "{s} shows a loss of {v}."),
    ),
    (
        "elevation of {s} is {n} m",
        ("{s} lies {v} m above sea level.", "{s} lies at {v} m."),
        ("{s} lies {v} m below sea level.", "{s} lies at -{v} m.", "{s} lies at minus {v} metres."),
    ),
    (
        "goal difference of {s} is {n}",
        ("{s} has a positive goal difference of {v}.", "{s} is {v} goals up."),
        ("{s} has a negative goal difference of {v}.", "{s} is {v} goals down."),
    ),
    (
        "charge of {s} is {n}",
        ("{s} has a charge of +{v}.", "{s} has a positive charge of {v}."),
        ("{s} has a charge of -{v}.", "{s} has a negative charge of {v}."),
    ),
    ("offset of {s} is {n} hours", ("{s} is {v} hours ahead.",), ("{s} is {v} hours behind.",)),
)
SUBJECTS = (
    "the Orrin account",
    "sensor 9",
    "the cold store",
    "the north basin",
    "Dellmore",
    "sample C",
    "the Larch fund",
    "the east station",
    "Port Vane",
    "the salt flat",
    "the harbour index",
)


def signs(agree: bool, rng: random.Random) -> tuple[str, str]:
    """A value with a sign, in figures or in words: the same sign, or the other one."""
    data, *sentences = rng.choice(SIGNED)
    sign = rng.choice((0, 1))
    value, subject = f"{rng.randint(2, 90)}", rng.choice(SUBJECTS)
    minus = rng.choice(("-", "-", "−"))

    def side(negative: int, *, as_data: bool) -> str:
        if as_data:
            shown = f"{minus}{value}" if negative else rng.choice(("", "+")) + value
            return "The " + data.replace("{s}", subject).replace("{n}", shown) + "."
        said = rng.choice(sentences[negative]).replace("{s}", subject).replace("{v}", value)
        return said[0].upper() + said[1:]

    first, second = rng.choice(((True, False), (True, False), (False, True), (False, False), (True, True)))
    return side(sign, as_data=first), side(sign if agree else 1 - sign, as_data=second)
