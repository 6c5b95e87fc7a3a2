"""Which numbers, dates and units of a text no fact has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from ..rows import Rows
from ..triples import Triple
from .dates import Date, Time
from .quantities import Number, Quantity, quantities
from .units import DEGREES, Unit, unit_named

_CLOSE = Fraction(1, 20)
"""How far a value that was rounded may be from the fact's, as a share of it."""


def unsupported(text: str, facts: Iterable[Quantity]) -> list[str]:
    """The quantities of a text that none of the facts' agrees with, as they are written there, each once, in order."""
    known = list(facts)
    missing = [
        text[said.start : said.end]
        for said in quantities(text)
        if not (isinstance(said, Number) and said.part) and not any(agrees(said, fact) for fact in known)
    ]
    return list(dict.fromkeys(missing))


def of_fact(triple: Triple) -> list[Quantity]:
    """The quantities of a fact. A number without a unit has the one that its predicate ends with."""
    found = [one for part in (triple.subject, triple.predicate, triple.object) for one in quantities(part)]
    unit = unit_named(triple.predicate) if triple.object else None
    if unit is None:
        return found
    return [replace(one, unit=unit) if isinstance(one, Number) and one.unit is None else one for one in found]


def agrees(said: Quantity, fact: Quantity) -> bool:
    """Whether a quantity of a text is that of a fact.

    A year is that of a date. A number without a unit agrees with the same number of any unit. One that was converted
    or written with a scale (``1.2 million``) may be rounded to the digits that are shown, within 5 percent.
    """
    if isinstance(said, Number) and isinstance(fact, Date):
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
        return said.value == fact.value or (said.rounded and _near(said, fact.value))
    if ours.dimension != theirs.dimension:
        return False
    value = (fact.value * ours.factor + ours.offset - theirs.offset) / theirs.factor
    return said.value == value or _near(said, value)


def _heat(unit: Unit) -> bool:
    return unit == DEGREES or unit.dimension == "temperature"


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
        found.append(unsupported(text, (one for i in own for one in facts[i])))
    return found
