"""Dates and numbers in two notations: as data has them (1934-01-01, 10252) and as texts have them (January 1, 1934).

A model that has not seen this takes the two for different values: of the WebNLG texts that people call right and the
first shipped model called wrong, most had a date or a large number. The sentences and their values are made up.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, timedelta

from scorer.metric.facts import Triple
from training.general.contests import Contest, ordinal
from training.general.rows import Corpus, Row
from training.general.wording import DATES, NUMBERS

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_FIRST, _DAYS = date(1700, 1, 1), 120_000


def in_data(value: date | float, rng: random.Random) -> str:
    """A value as data has it."""
    if isinstance(value, date):
        return value.isoformat()
    whole = value == int(value)
    return f"{value:.1f}" if whole and rng.random() < 0.25 else f"{value:.0f}" if whole else f"{value}"


def split_camel_case(value: date | float, rng: random.Random) -> str:
    """A value as a text has it; sometimes as in data."""
    if rng.random() < 0.15:
        return in_data(value, rng)
    if isinstance(value, date):
        month = MONTHS[value.month - 1]
        return rng.choice((
            f"{month} {value.day}, {value.year}", f"{value.day} {month} {value.year}",
            f"{month} {ordinal(value.day)}, {value.year}", f"{ordinal(value.day)} {month} {value.year}",
            f"the {ordinal(value.day)} of {month} {value.year}",
        ))  # fmt: skip
    for size, name in ((1_000_000_000, "billion"), (1_000_000, "million")):
        if value >= size and value % (size // 100) == 0 and rng.random() < 0.6:
            return f"{value / size:g} {name}"
    return f"{value:,.0f}" if value == int(value) else f"{value:,}"


def other_date(day: date, rng: random.Random) -> date:
    """Another day, month or year."""
    change = rng.random()
    if change < 0.4:
        return day + timedelta(days=rng.choice((-1, 1)) * rng.randint(1, 20))
    if change < 0.7:
        return day.replace(day=min(day.day, 28), month=(day.month - 1 + rng.randint(1, 11)) % 12 + 1)
    return day.replace(day=min(day.day, 28), year=day.year + rng.choice((-1, 1)) * rng.choice((1, 1, 2, 3, 10, 20)))


def other_number(value: float, rng: random.Random) -> float:
    """A number with a digit changed, ten times as large, or a little off."""
    change = rng.random()
    if change < 0.25:
        return value * 10
    if change < 0.5:
        return value + rng.choice((1, 2, 10, 100))
    digits = f"{value:.0f}"
    at = rng.randrange(len(digits))
    made = digits[:at] + rng.choice([d for d in "123456789" if d != digits[at]]) + digits[at + 1 :]
    return float(made) + (value - int(value))


def other(value: date | float, rng: random.Random) -> date | float:
    """Another value of its kind."""
    return other_date(value, rng) if isinstance(value, date) else other_number(value, rng)


def a_number(rng: random.Random) -> float:
    """From 10 to a few billion, as often of each length; some round, some with decimals."""
    value = float(rng.randint(1, 9) * 10 ** rng.randint(1, 9) + rng.randrange(10 ** rng.randint(1, 6)))
    if rng.random() < 0.3:
        value = float(rng.randint(10, 9999) * 10 ** rng.choice((4, 5, 6)))
    return round(value % 100_000 + rng.randrange(1, 100) / 100, 2) if rng.random() < 0.15 else value


def quantity(corpus: Corpus, row: Row, agree: bool, rng: random.Random) -> Contest | None:
    """A date or a number is added to the row, in the text in words: the same in text and fact, or two that differ."""
    kinds = DATES if rng.random() < 0.5 else NUMBERS
    predicate = rng.choice(sorted(kinds))
    subjects = sorted({t.subject for t in row.triples})
    if any(t.predicate == predicate for t in row.triples):
        return None
    own: date | float = _FIRST + timedelta(days=rng.randrange(_DAYS)) if kinds is DATES else a_number(rng)
    in_text, in_fact = (own if rng.random() < 0.5 else other(own, rng) for _ in range(2))
    if in_text == in_fact:
        return None
    if agree:
        in_text = in_fact
    fact = Triple(rng.choice(subjects), predicate, in_data(in_fact, rng))
    said = rng.choice(kinds[predicate]).replace("{s}", fact.subject).replace("{o}", split_camel_case(in_text, rng))
    before = row.text.rstrip()
    before = before if before.endswith((".", "!", "?")) else f"{before}."
    at = rng.randint(0, len(row.triples))
    triples = (*row.triples[:at], fact, *row.triples[at:])
    text = f"{before} {said}" if rng.random() < 0.7 else f"{said} {before}"
    return Contest(replace(row, triples=triples, text=text), fact)
