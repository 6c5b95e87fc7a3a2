"""Which numbers, dates and units of a text no fact has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import combinations

from ..rows import Rows
from ..triples import Triple
from .dates import Date, Time
from .quantities import Number, Quantity, quantities
from .units import DEGREES, Unit, unit_named

_CLOSE = Fraction(1, 20)
"""How far a value that was rounded may be from the fact's, as a share of it."""
_MOST_DATES = 12
_MOST_NUMBERS = 8
"""Of more dates or numbers than these, the time between each two, or a sum of two, would be nearly anything."""
_DAY = 86400


@dataclass(frozen=True)
class Known:
    """What the facts of a row say. ``counts``: how many are of one kind; ``days``, ``years``: between their dates;
    ``sums``: of each two numbers of one unit, where these are few, and their differences."""

    quantities: Sequence[Quantity]
    counts: frozenset[int]
    days: frozenset[int]
    years: frozenset[int]
    sums: frozenset[tuple[Fraction, Unit | None]]


def known_of(triples: Iterable[Triple], found: Iterable[Quantity]) -> Known:
    """What facts say.

    Args:
        found: their quantities, as :func:`of_fact` gives them.
    """
    listed, held = list(triples), list(found)
    counts = Counter(triple.predicate for triple in listed if triple.subject)
    subjects = {triple.subject for triple in listed if triple.subject}
    days, years = _between(held)
    return Known(held, frozenset({*counts.values(), len(subjects)}) - {0, 1}, days, years, _sums(held))


def _sums(found: Iterable[Quantity]) -> frozenset[tuple[Fraction, Unit | None]]:
    numbers = [one for one in found if isinstance(one, Number) and not one.part]
    if len(numbers) > _MOST_NUMBERS:
        return frozenset()
    pairs = [(a, b) for a, b in combinations(numbers, 2) if a.unit == b.unit]
    return frozenset(
        (value, a.unit) for a, b in pairs for value in (a.value + b.value, abs(a.value - b.value)) if value
    )


def _between(found: Iterable[Quantity]) -> tuple[frozenset[int], frozenset[int]]:
    """Days and whole years between dates: of all of them, and of each two where they are few. A period may be counted
    with its last day."""
    dated = set()
    for one in found:
        if isinstance(one, Date):
            for year, month, day in one.readings[:1]:
                if year is not None and month is not None and day is not None:
                    dated.add((year, month, day))
    there = sorted(date(*one) for one in dated if _is_date(*one))
    if len(there) < 2:
        return frozenset(), frozenset()
    pairs = [(there[0], there[-1])]
    if len(there) <= _MOST_DATES:
        pairs = list(combinations(there, 2))
    days = {(b - a).days + more for a, b in pairs for more in (0, 1)} | {len(there)}
    years = {b.year - a.year - ((b.month, b.day) < (a.month, a.day)) for a, b in pairs}
    return frozenset(days), frozenset(years) - {0}


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def unsupported(text: str, known: Known) -> list[str]:
    """The quantities of a text that no fact agrees with, as they are written there, each once, in order."""
    missing = [
        text[said.start : said.end]
        for said in quantities(text)
        if not (isinstance(said, Number) and (said.part or _derived(said, known)))
        and not any(agrees(said, fact) for fact in known.quantities)
    ]
    return list(dict.fromkeys(missing))


def _derived(said: Number, known: Known) -> bool:
    """Whether a number follows from several facts: their number, the time between dates, a sum or a difference."""
    if (said.value, said.unit) in known.sums:
        return True
    if said.value.denominator != 1:
        return False
    value = said.value.numerator
    if said.unit is None:
        return value in known.counts or value in known.years or (said.ordinal and value < max(known.counts, default=0))
    if said.unit.dimension == "time" and said.unit.factor >= _DAY:
        return value * said.unit.factor / _DAY in known.days
    return said.unit.dimension == "months" and said.unit.factor == 12 and value in known.years


def of_fact(triple: Triple) -> list[Quantity]:
    """The quantities of a fact. A number without a unit has the one that its predicate ends with."""
    found = [one for part in (triple.subject, triple.predicate, triple.object) for one in quantities(part)]
    unit = unit_named(triple.predicate) if triple.object else None
    if unit is None:
        return found
    return [replace(one, unit=unit) if isinstance(one, Number) and one.unit is None else one for one in found]


def agrees(said: Quantity, fact: Quantity) -> bool:
    """Whether a quantity of a text is that of a fact.

    A year is that of a date, and ``the 3rd`` its day. A number without a unit agrees with the same number of any unit.
    One of fewer digits than the fact's agrees if it is that number rounded (:func:`_rounds`).
    """
    if isinstance(said, Number) and isinstance(fact, Date):
        if said.ordinal:
            return any(said.value == day for _, _, day in fact.readings if day is not None)
        return said.unit is None and any(said.value == year for year, _, _ in fact.readings if year is not None)
    if isinstance(said, Number) and isinstance(fact, Number):
        return _same_value(said, fact)
    if isinstance(said, Date) and isinstance(fact, Date):
        return fact.supports(said)
    return isinstance(said, Time) and isinstance(fact, Time) and fact.supports(said)


def _same_value(said: Number, fact: Number) -> bool:
    ours, theirs = fact.unit, said.unit
    if (
        ours is None
        or theirs is None
        or ours == theirs
        or (DEGREES in (ours, theirs) and _heat(ours) and _heat(theirs))
    ):
        return said.value == fact.value or _rounds(said, fact)
    if ours.dimension != theirs.dimension:
        return False
    value = (fact.value * ours.factor + ours.offset - theirs.offset) / theirs.factor
    return said.value == value or _near(said, value)


def _heat(unit: Unit) -> bool:
    return unit == DEGREES or unit.dimension == "temperature"


def _rounds(said: Number, fact: Number) -> bool:
    """Whether a number is that of a fact, rounded to the digits that are written.

    Whole numbers below 100 are a rounding of something in any long table, so they need the same unit or a word such as
    ``about``. The zeros at the end of ``about 1,000`` need not be digits of the fact.
    """
    step, size = said.step, abs(said.value)
    same_unit = said.unit is not None and said.unit == fact.unit
    if said.about and size >= 100 and (said.unit is None or not _heat(said.unit)):
        while not size % (10 * step):
            step *= 10
    enough = said.rounded or said.about or size >= step * (10 if step < 1 or same_unit else 100)
    return enough and (said.rounded or fact.step < step) and _near(replace(said, step=step), fact.value)


def _near(said: Number, value: Fraction) -> bool:
    """Whether the number is the value, rounded. Degrees have no natural zero, so no share of them is looked at."""
    away = abs(said.value - value)
    degrees = said.unit is not None and _heat(said.unit)
    return away * 2 <= said.step and (degrees or away <= abs(value) * _CLOSE)


def unsupported_in_rows(rows: Rows) -> list[list[str] | None]:
    """For each row what :func:`unsupported` finds; ``None`` for rows whose facts or text cannot be read."""
    facts: dict[int, list[Quantity]] = {}
    ids, offsets = rows.triples.ids.tolist(), rows.triples.offsets.tolist()
    found: list[list[str] | None] = []
    for row in range(len(rows)):
        text = rows.text_of(row)
        if row in rows.errors or text is None:
            found.append(None)
            continue
        own = ids[offsets[row] : offsets[row + 1]]
        for i in own:
            if i not in facts:
                facts[i] = of_fact(rows.triples.distinct[i])
        known = known_of((rows.triples.distinct[i] for i in own), (one for i in own for one in facts[i]))
        found.append(unsupported(text, known))
    return found
