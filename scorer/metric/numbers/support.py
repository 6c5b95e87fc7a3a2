"""Which numbers, dates and units of a text no fact has."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
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
_PIECE = 1 << 20
"""Characters of a text that are read at a time: the quantities of a text of 50 MB take 2 GB."""


@dataclass(frozen=True)
class Known:
    """What the facts of a row say. ``near``: their quantities; ``counts``: how many are of one kind; ``days``,
    ``years``: between their dates; ``sums``: of each two numbers of one unit, where these are few, and their
    differences."""

    near: Near
    counts: frozenset[int]
    days: frozenset[int]
    years: frozenset[int]
    sums: frozenset[tuple[Fraction, Unit | None]]


class Near:
    """The quantities of facts, ordered so that a text's is compared with those alone that may agree with it: a long row
    and a long text would make too many pairs. ``compared``: how many were looked at so far; tests count them."""

    def __init__(self, found: Iterable[Quantity]) -> None:
        self._plain: list[tuple[Fraction, Number]] = []
        self._bases: dict[str, list[tuple[Fraction, Number]]] = {}
        self._others: dict[Hashable, Quantity] = {}
        for one in dict.fromkeys(one._replace(start=0, end=0) for one in found):
            if not isinstance(one, Number):
                self._others.update((key, one) for key in _keys_of_fact(one))
                continue
            self._plain.append((one.value, one))
            if one.unit is not None:
                base = one.value * one.unit.factor + one.unit.offset
                self._bases.setdefault(one.unit.dimension, []).append((base, one))
        for values in (self._plain, *self._bases.values()):
            values.sort(key=lambda pair: pair[0])
        self.compared = 0

    def of(self, said: Quantity) -> Iterator[Quantity]:
        """Those that may agree with a quantity of a text."""
        for fact in self._candidates(said):
            self.compared += 1
            yield fact

    def _candidates(self, said: Quantity) -> Iterator[Quantity]:
        if not isinstance(said, Number):
            yield from (self._others[key] for key in _keys_of_text(said) if key in self._others)
            return
        if self._others:
            yield from (self._others[key] for key in (("year", said.value), ("day", said.value)) if key in self._others)
        if not self._plain:
            return
        away = _step_of(said) / 2
        yield from _between_values(self._plain, said.value - away, said.value + away)
        if said.unit is not None:
            base, around = said.value * said.unit.factor + said.unit.offset, away * said.unit.factor
            yield from _between_values(self._bases.get(said.unit.dimension, []), base - around, base + around)


def _between_values(values: list[tuple[Fraction, Number]], low: Fraction, high: Fraction) -> Iterator[Number]:
    for position in range(bisect_left(values, low, key=lambda pair: pair[0]), len(values)):
        value, one = values[position]
        if value > high:
            return
        yield one


def _keys_of_fact(one: Date | Time) -> list[Hashable]:
    """All that a text may say of a date or time of a fact."""
    if isinstance(one, Time):
        half = one.minutes % 720
        return [("any half", half), ("sure", one.minutes) if one.sure else ("unsure", half)]
    keys: list[Hashable] = []
    for year, month, day in one.readings:
        keys += [(a, b, c) for a in {year, None} for b in {month, None} for c in {day, None}]
        keys += [(name, Fraction(part)) for name, part in (("year", year), ("day", day)) if part is not None]
    return keys


def _keys_of_text(one: Date | Time) -> list[Hashable]:
    """What a date or time of a text says; a fact with one of these keys supports it."""
    if isinstance(one, Date):
        return list(one.readings)
    half = one.minutes % 720
    return [("sure", one.minutes), ("unsure", half)] if one.sure else [("any half", half)]


def known_of(triples: Iterable[Triple], found: Iterable[Quantity]) -> Known:
    """What facts say.

    Args:
        found: their quantities, as :func:`of_fact` gives them.
    """
    listed, held = list(triples), list(found)
    counts = Counter(triple.predicate for triple in listed if triple.subject)
    subjects = {triple.subject for triple in listed if triple.subject}
    days, years = _between(held)
    return Known(Near(held), frozenset({*counts.values(), len(subjects)}) - {0, 1}, days, years, _sums(held))


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
    looked_up: dict[tuple[type[Quantity], str, bool], bool] = {}  # the same words mean the same number
    for piece in _pieces(text):
        for said in quantities(piece):
            if isinstance(said, Number) and said.part:
                continue
            about = isinstance(said, Number) and said.about
            key = (type(said), piece[said.start : said.end], about)
            if key not in looked_up:
                looked_up[key] = _supported(said, known)
    return list(dict.fromkeys(written for (_, written, _), found in looked_up.items() if not found))


def _supported(said: Quantity, known: Known) -> bool:
    if isinstance(said, Number) and _derived(said, known):
        return True
    return any(agrees(said, fact) for fact in known.near.of(said))


def _pieces(text: str) -> Iterator[str]:
    """A long text in pieces that end with a sentence, or otherwise with a word."""
    start = 0
    while len(text) - start > _PIECE:
        most = start + _PIECE
        end = max(text.rfind(end, start, most) for end in ("\n", ". ")) + 1 or text.rfind(" ", start, most) + 1 or most
        yield text[start:end]
        start = end
    yield text[start:]


def _derived(said: Number, known: Known) -> bool:
    """Whether a number follows from several facts: their number, the time between dates, a sum or a difference."""
    if known.sums and (said.value, said.unit) in known.sums:
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
    return [one._replace(unit=unit) if isinstance(one, Number) and one.unit is None else one for one in found]


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
    step, size = _step_of(said), abs(said.value)
    same_unit = said.unit is not None and said.unit == fact.unit
    enough = said.rounded or said.about or size >= step * (10 if step < 1 or same_unit else 100)
    return enough and (said.rounded or fact.step < step) and _near(said._replace(step=step), fact.value)


def _step_of(said: Number) -> Fraction:
    """What the last digit of a number stands for that is not one of the zeros of ``about 1,000``."""
    step = said.step
    if said.about and abs(said.value) >= 100 and (said.unit is None or not _heat(said.unit)):
        while not said.value % (10 * step):
            step *= 10
    return step


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
