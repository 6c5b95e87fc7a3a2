"""A row of facts and text becomes a true or a false one.

Every kind of falsehood is a contest of two readings, one in the text and one in the facts, both drawn in the same
way whether they shall agree or not. So text and facts on their own look the same in true and in false pairs, and
only their comparison tells. Where a text cannot be altered (its value stands in other words), the facts alone are,
with readings as frequent in true pairs as in false ones.
"""

from __future__ import annotations

import random
import re
from calendar import month_name
from dataclasses import dataclass, replace
from datetime import date, timedelta

from scorer.metric.facts import Triple
from training.general.rows import Corpus, Row, exchange, find_once, is_boolean, negated, shape
from training.general.wording import DATES, NUMBERS

_DIGITS = re.compile(r"\d+(?:st|nd|rd|th)?")
NEAR = ({"cheap", "budget"}, {"third person", "first person, third person"})
"""Values that say nearly the same; never drawn against each other."""
_FIRST, _DAYS = date(1700, 1, 1), 120_000


@dataclass(frozen=True)
class Contest:
    """A row whose text and facts agree or not. ``fact``: the contested one; ``extra``: not among the row's."""

    row: Row
    fact: Triple
    extra: bool = False


def ordinal(n: int) -> str:
    """1 → 1st, 12 → 12th."""
    return f"{n}{'th' if 10 <= n % 100 <= 13 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def nudged(value: str, rng: random.Random) -> str:
    """`value` with one of its numbers a little off, if it has one."""
    numbers = list(_DIGITS.finditer(value))
    if not numbers:
        return value
    found = rng.choice(numbers)
    digits = found.group().rstrip("stndrh")
    if len(digits) > 9:
        return value
    step = rng.choice((1, 1, 2, 3, 5, 10)) * rng.choice((-1, 1))
    number = int(digits) + step if int(digits) + step > 0 else int(digits) + abs(step)
    written = ordinal(number) if found.group() != digits else str(number).zfill(len(digits))
    return value[: found.start()] + written + value[found.end() :]


def differ(a: str, b: str) -> bool:
    """Whether two values exclude each other: neither holds the other, and they are no near synonyms."""
    low, other = a.lower().strip(), b.lower().strip()
    if low in other or other in low or any(low in near and other in near for near in NEAR):
        return False
    parts, others = (set(re.split(r"[,/] ?", v)) for v in (low, other))
    return not (parts <= others or others <= parts)


def _reading(corpus: Corpus, row: Row, i: int, rng: random.Random) -> str:
    """A value for fact `i`: its own, another one of its kind, or its own a little off."""
    own, chance = row.triples[i].object, rng.random()
    if chance < 0.4:
        return own
    if chance < 0.7 and re.search(r"\d", own):
        return nudged(own, rng)
    return corpus.another_object(row, row.triples[i], rng)


def _fits(row: Row, i: int, value: str) -> bool:
    """Whether a value can stand in the text for fact `i` without meeting itself elsewhere."""
    own = row.triples[i].object
    rest = exchange(row.text, own, " ").lower()
    low = value.lower()
    return bool(low) and low not in rest and all(differ(value, t.object) for j, t in enumerate(row.triples) if j != i)


def value(corpus: Corpus, row: Row, agree: bool, rng: random.Random) -> Contest | None:
    """Text and fact name the same value, or two that differ."""
    places = [i for i, literal in enumerate(row.literal) if literal]
    if not places:
        return None
    i = rng.choice(places)
    in_text, in_fact = (_reading(corpus, row, i, rng) for _ in range(2))
    if not differ(in_text, in_fact) or not (_fits(row, i, in_text) and _fits(row, i, in_fact)):
        return None
    if agree:  # only now, so that what cannot be contested is not among the true pairs either
        in_text = in_fact
    made = row.with_object(i, in_text, fact=False)
    made = replace(made, triples=row.with_object(i, in_fact, text=False).triples)
    return Contest(made, made.triples[i])


def roles(corpus: Corpus, row: Row, agree: bool, rng: random.Random) -> Contest | None:
    """Two values of a row change places, in the text, in the facts, in both or in neither."""
    places = [
        (i, j)
        for i, one in enumerate(row.triples)
        for j, two in enumerate(row.triples[:i])
        if row.literal[i] and row.literal[j] and shape(one.object) == shape(two.object)
        and (one.predicate != two.predicate or one.subject != two.subject) and differ(one.object, two.object)
    ]  # fmt: skip
    if not places:
        return None
    i, j = rng.choice(places)
    swap_text = rng.random() < 0.5
    swap_facts = swap_text if agree else not swap_text
    a, b = row.triples[i].object, row.triples[j].object
    made = row
    if swap_text:
        made = replace(row, text=_swapped(row.text, a, b))
    if swap_facts:
        made = made.with_object(i, b, text=False).with_object(j, a, text=False)
    return Contest(made, made.triples[rng.choice((i, j))])


def _swapped(text: str, one: str, other: str) -> str:
    """`text` with two values in each other's place; each stands in it exactly once."""
    return exchange(exchange(text, one, "\0"), other, one).replace("\0", other)


def subject(corpus: Corpus, row: Row, agree: bool, rng: random.Random) -> Contest | None:
    """Text and facts are about the same thing, or about two."""
    named = sorted({t.subject for t in row.triples if row.named(t.subject)})
    if not named:
        return None
    old = rng.choice(named)
    pool = corpus.subjects[row.source, row.domain]

    def reading() -> str:
        return old if rng.random() < 0.4 else rng.choice(pool)

    in_text, in_facts = reading(), reading()
    others = {t.subject.lower() for t in row.triples} - {old.lower()}
    if any(name.lower() in others for name in (in_text, in_facts)) or not differ(in_text, in_facts):
        return None
    rest = exchange(row.text, old, " ").lower()
    if in_text.lower() in rest or in_facts.lower() in rest:
        return None
    if agree:
        in_text = in_facts
    made = row.with_subject(old, in_text, facts=False)
    made = replace(made, triples=row.with_subject(old, in_facts, text=False).triples)
    return Contest(made, rng.choice([t for t in made.triples if t.subject == in_facts]))


def foreign_fact(corpus: Corpus, row: Row, rng: random.Random) -> Triple | None:
    """A fact of another row, about this row's subject, that the text does not say."""
    found = rng.choice(corpus.facts[row.source, row.domain])
    known = {t.predicate for t in row.triples}
    if found.predicate in known or any(found.predicate in k or k in found.predicate for k in known):
        return None
    named = not is_boolean(found.object) and any(not differ(found.object, t.object) for t in row.triples)
    if named or find_once(row.text, found.object) >= 0:
        return None
    return found._replace(subject=rng.choice(row.triples).subject)


def foreign(corpus: Corpus, row: Row, agree: bool, rng: random.Random) -> Contest | None:
    """A fact of the row, or one that its text does not mention."""
    if agree:
        own = rng.choice(row.triples)
        # A predicate that many rows have is seldom foreign; it is taken as seldom here, so that it is not a hint.
        if rng.random() < corpus.shares[row.source, row.domain, own.predicate]:
            return None
        return Contest(row, own)
    found = foreign_fact(corpus, row, rng)
    return None if found is None else Contest(row, found, extra=True)


def unspoken(corpus: Corpus, row: Row, agree: bool, rng: random.Random) -> Contest | None:
    """A value that the text says in its own words (yes and no, lists): as it is, or another one in the fact."""
    places = [i for i, t in enumerate(row.triples) if not row.literal[i] and find_once(row.text, t.object) < 0]
    if not places:
        return None
    i = rng.choice(places)
    own = row.triples[i].object
    pool = corpus.objects[row.source, row.triples[i].predicate]
    if is_boolean(own):
        share = pool.count(own) / len(pool)
        if share == 1 or rng.random() > min(1.0, (1 - share) / share):
            return None  # the more frequent of the two is taken less often, so that yes is not a hint
        made = row if agree else row.with_object(i, negated(own), text=False)
        return Contest(made, made.triples[i])
    other = rng.choice(pool)
    if not differ(own, other) or other.lower() in row.text.lower():
        return None
    if agree:
        return Contest(row, row.triples[i])
    made = row.with_object(i, other, text=False)
    return Contest(made, made.triples[i])


def dropped(corpus: Corpus, row: Row, agree: bool, rng: random.Random) -> Contest | None:
    """All facts of the text, or all but one."""
    places = [i for i, t in enumerate(row.triples) if row.literal[i] or is_boolean(t.object)]
    if not places:
        return None
    i = rng.choice(places)
    if agree:
        return Contest(row, row.triples[i])
    if len(row.triples) == 1:
        return None
    rest = row.triples[:i] + row.triples[i + 1 :]
    return Contest(replace(row, triples=rest), row.triples[i], extra=True)


def _in_data(value: date | float, rng: random.Random) -> str:
    if isinstance(value, date):
        return value.isoformat()
    whole = value == int(value)
    return f"{value:.1f}" if whole and rng.random() < 0.25 else f"{value:.0f}" if whole else f"{value}"


def in_words(value: date | float, rng: random.Random) -> str:
    """A value as a text has it; sometimes as in data."""
    if rng.random() < 0.15:
        return _in_data(value, rng)
    if isinstance(value, date):
        month = month_name[value.month]
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
    return other_date(value, rng) if isinstance(value, date) else other_number(value, rng)


def a_number(rng: random.Random) -> float:
    """From 10 to a few billion, as often of each length; some round, some with decimals."""
    value = float(rng.randint(1, 9) * 10 ** rng.randint(1, 9) + rng.randrange(10 ** rng.randint(1, 6)))
    if rng.random() < 0.3:
        value = float(rng.randint(10, 9999) * 10 ** rng.choice((4, 5, 6)))
    return round(value % 100_000 + rng.randrange(1, 100) / 100, 2) if rng.random() < 0.15 else value


def quantity(corpus: Corpus, row: Row, agree: bool, rng: random.Random) -> Contest | None:
    """A date or a number is added to the row: as data in the fact, in words in the text; the same, or two that differ.

    A model that has not seen this takes 1934-01-01 and January 1, 1934 for different values.
    """
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
    fact = Triple(rng.choice(subjects), predicate, _in_data(in_fact, rng))
    said = rng.choice(kinds[predicate]).replace("{s}", fact.subject).replace("{o}", in_words(in_text, rng))
    before = row.text.rstrip()
    before = before if before.endswith((".", "!", "?")) else f"{before}."
    at = rng.randint(0, len(row.triples))
    triples = (*row.triples[:at], fact, *row.triples[at:])
    text = f"{before} {said}" if rng.random() < 0.7 else f"{said} {before}"
    return Contest(replace(row, triples=triples, text=text), fact)
