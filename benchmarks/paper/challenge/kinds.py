"""The kinds of change of the challenge set: a text that is right, and the same text with one thing changed.

Some apply to any record, others need records of their own: two entities, an order, a quantity of a whole, a sum. All
words are in ``texts.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import NamedTuple

from scorer.metric.facts import Triple

from . import texts
from .texts import DATA, DOMAINS, Attribute, InventedThing, Said, Value, draw_until, invent, make_name, make_value

OK, OMISSION, HALLUCINATION, NOT_OK = "OK", "omission", "hallucination", "not_OK"
"""Labels that a metric should give: ``omission`` or ``hallucination`` at least on that side, ``not_OK`` on either."""
Edited = tuple[str, "int | None"]
"""A changed text, and the position of the fact that the change is about; ``None`` where it is about none or several."""
Edit = Callable[[InventedThing, Random], "Edited | None"]
"""``None`` where a record offers no place for the change, and the caller takes another."""


class EditedText(NamedTuple):
    """``base``: a text that says all and only the facts. ``edited``: the changed one. ``fact``: of the change."""

    domain: str
    triples: Sequence[Triple]
    base: str
    edited: str
    fact: int | None = None


class ChangeKind(NamedTuple):
    """``about``: the change, for people. ``expected``: the label of the changed texts. ``make``: a pair, from the
    number of those made before; ``None`` where what it drew offers no place for the change."""

    name: str
    about: str
    expected: str
    make: Callable[[int, Random], EditedText | None]


def _edited(facts: int, edit: Edit) -> Callable[[int, Random], EditedText | None]:
    """A kind whose records have so many facts, or one fewer. The domains take turns; one that has no place for the
    change is passed over by the next number of tries."""

    def make(number: int, rng: Random) -> EditedText | None:
        domain = DOMAINS[number % len(DOMAINS)] if rng.random() < 0.9 else rng.choice(DOMAINS)
        record = invent(domain, rng.randint(facts - 1, facts), rng)
        found = edit(record, rng)
        return None if found is None else EditedText(domain.name, record.triples, record.text(), *found)

    return make


def _at(record: InventedThing, at: int, said: Said) -> Edited:
    return record.text([*record.facts[:at], said, *record.facts[at + 1 :]]), at


def _omission(record: InventedThing, rng: Random) -> Edited:
    at = rng.randrange(len(record.facts))
    return record.text([*record.facts[:at], *record.facts[at + 1 :]]), at


def _extra(record: InventedThing, rng: Random) -> Edited:
    taken = {fact.attribute.predicate for fact in record.facts}
    attribute = rng.choice([one for one in record.domain.attributes if one.predicate not in taken])
    facts = list(record.facts)
    facts.insert(rng.randrange(len(facts) + 1), Said(attribute, make_value(attribute.value, rng), rng.randrange(2)))
    return record.text(facts), None


def _other_value(fact: Said, taken: Sequence[str], rng: Random) -> Said:
    value = draw_until(partial(make_value, fact.attribute.value, rng), lambda one: one.text not in taken)
    return fact.with_value(value.text)


def _wrong_value(record: InventedThing, rng: Random) -> Edited:
    at = rng.randrange(len(record.facts))
    fact = record.facts[at]
    return _at(record, at, _other_value(fact, (fact.value.text, record.subject), rng))


def _clause(which: Callable[[Attribute], str]) -> Edit:
    def edit(record: InventedThing, rng: Random) -> Edited:
        at = rng.randrange(len(record.facts))
        fact = record.facts[at]
        return _at(record, at, replace(fact, clause=which(fact.attribute).format(o=fact.value.text)))

    return edit


def _value(change: Callable[[Value, Attribute, Random], str | None], fits: Callable[[Value, Attribute], bool]) -> Edit:
    def edit(record: InventedThing, rng: Random) -> Edited | None:
        places = [at for at, fact in enumerate(record.facts) if fits(fact.value, fact.attribute)]
        if not places:
            return None
        at = rng.choice(places)
        fact = record.facts[at]
        text = change(fact.value, fact.attribute, rng)
        return None if text is None else _at(record, at, fact.with_value(text))

    return edit


def _of_kinds(change: Callable[[Value, Random], str | None], *kinds: str) -> Edit:
    return _value(lambda value, _, rng: change(value, rng), lambda value, _: value.kind in kinds)


def _by_map(which: Callable[[Attribute], dict[str, str]]) -> Edit:
    """A value replaced by a more general one (*a fact is lost*) or a more special one (*a fact is added*)."""
    return _value(lambda value, one, _: which(one)[value.text], lambda value, one: value.text in which(one))


def _name(record: InventedThing, rng: Random) -> Edited:
    """A name texts.misspelt: of a value, or of the subject in the whole text."""
    places = [at for at, fact in enumerate(record.facts) if fact.value.kind == "name"]
    if not places or rng.random() < 0.3:
        return record.text(subject=texts.misspelt(record.subject, rng)), None
    at = rng.choice(places)
    return _at(record, at, record.facts[at].with_value(texts.misspelt(record.facts[at].value.text, rng)))


def _paraphrase(record: InventedThing, rng: Random) -> Edited:
    return record.text([replace(fact, wording=1 - fact.wording) for fact in record.facts]), None


def _reorder(record: InventedThing, rng: Random) -> Edited:
    facts = list(record.facts)
    while facts == list(record.facts):
        rng.shuffle(facts)
    return record.text(facts), None


def _formatting(record: InventedThing, rng: Random) -> Edited:
    base = record.text()
    first, *more = sentences = [sentence + "." for sentence in base.removesuffix(".").split(". ")]
    as_list = "\n".join(f"- {sentence}" for sentence in sentences)
    bold, heading = f"**{first}** {' '.join(more)}", f"# {record.subject}\n\n{base}"
    return rng.choice((as_list, bold, "\n\n".join(sentences), heading, base.upper(), base.lower())).strip(), None


def _twice(record: InventedThing, rng: Random) -> Edited:
    again = rng.choice(record.facts)
    return record.text([*record.facts, replace(again, wording=1 - again.wording)]), None


def _two(draw: Callable[[], str]) -> tuple[str, str]:
    first = draw()
    return first, draw_until(draw, lambda second: second != first)


def _roles(number: int, rng: Random) -> EditedText:
    row = rng.choice(DATA["roles"])
    one, two = _two(partial(make_name, row["names"], rng))
    wording = row["wordings"][0 if rng.random() < 0.5 else 1]
    plain, swapped = wording.format(s=one, o=two), wording.format(s=two, o=one)
    return EditedText(row["domain"], [Triple(one, row["predicate"], two)], plain, swapped, 0)


def _quantifier(number: int, rng: Random) -> EditedText:
    parts = ("None", "Some", "Most", "All")
    row = rng.choice(DATA["wholes"])
    subject, part = make_name(row["names"], rng), rng.choice(parts)
    wrong = rng.choice([other for other in parts if other != part])
    base, edited = (f"{one} of the {row['wording'].format(s=subject)}." for one in (part, wrong))
    return EditedText(row["domain"], [Triple(subject, row["predicate"], part)], base, edited, 0)


def _order(number: int, rng: Random) -> EditedText:
    row = rng.choice(DATA["orders"])
    festival, city = make_name("city", rng), make_name("city", rng)
    subject = {"event": f"the {festival} Festival", "city": city}.get(row["domain"]) or make_name("person", rng)
    first, second = draw_until(lambda: _two(partial(make_name, row["names"], rng)), lambda found: subject not in found)
    if row["predicates"][0] == "first stop":
        subject = f"the {make_name('firm', rng)} Tour"
    triples = [Triple(subject, *fact) for fact in zip(row["predicates"], (first, second), strict=True)]
    base, edited = (row[side].format(s=subject, a=first, b=second) for side in ("right", "wrong"))
    return EditedText(row["domain"], triples, base[0].upper() + base[1:], edited[0].upper() + edited[1:])


def _sign(number: int, rng: Random) -> EditedText:
    row = rng.choice(DATA["signed"])
    subject, value = make_name(row["names"], rng), rng.choice((-1, 1)) * rng.randint(2, 39)
    right, wrong = (f"{n} {row['unit']}".strip() for n in (value, -value))
    base, edited = (row["wording"].format(s=subject, o=one) for one in (right, wrong))
    return EditedText(row["domain"], [Triple(subject, row["predicate"], right)], base, edited, 0)


def _sum(number: int, rng: Random) -> EditedText:
    row = rng.choice(DATA["sums"])
    subject, one, two = make_name(row["names"], rng), rng.randint(2, 9), rng.randint(2, 9)
    triples = [Triple(subject, name, str(n)) for name, n in zip(row["predicates"], (one, two), strict=True)]
    wrong = one + two + rng.choice((-2, -1, 1, 2))
    base, edited = (row["wording"].format(s=subject, a=one, b=two, t=total) for total in (one + two, wrong))
    return EditedText(row["domain"], triples, base, edited)


def _conflation(number: int, rng: Random) -> EditedText:
    """Two entities of one domain; in the edited text one value of each is exchanged."""
    domain = rng.choice(DOMAINS)
    one = invent(domain, 2, rng)
    while True:
        two = invent(domain, 9, rng)
        same = tuple(next(f for f in two.facts if f.attribute is fact.attribute) for fact in one.facts)
        values = [fact.value.text for fact in (*one.facts, *same)]
        if two.subject != one.subject and len({*values, one.subject, two.subject}) == len(values) + 2:
            break
    two = InventedThing(domain, two.subject, same)
    at = rng.randrange(2)
    exchanged = [
        _at(record, at, record.facts[at].with_value(partner.facts[at].value.text))[0]
        for record, partner in ((one, two), (two, one))
    ]
    return EditedText(domain.name, [*one.triples, *two.triples], f"{one.text()} {two.text()}", " ".join(exchanged))


def _long(number: int, rng: Random) -> EditedText:
    """All attributes of two entities, ten to twelve facts; one value is wrong."""
    domain = rng.choice(DOMAINS)
    one = invent(domain, 9, rng)
    two = draw_until(partial(invent, domain, 9, rng), lambda two: two.subject != one.subject)
    at = rng.randrange(len(two.facts))
    fact = two.facts[at]
    wrong = _other_value(fact, (fact.value.text, one.subject, two.subject), rng)
    base, edited = (f"{one.text()} {text}" for text in (two.text(), _at(two, at, wrong)[0]))
    return EditedText(domain.name, [*one.triples, *two.triples], base, edited, len(one.facts) + at)


_OF_REFERENCE = ("employer", "birth place", "mayor", "country", "headquarters", "founder", "architect", "location")


def _reference(number: int, rng: Random) -> EditedText:
    """*The former* and *the latter* of two people or places."""
    domain = rng.choice([one for one in DOMAINS if one.name in ("person", "city", "company", "building")])
    attribute = rng.choice([a for a in domain.attributes if a.predicate in _OF_REFERENCE])
    one, two = _two(partial(make_name, domain.subject, rng))
    values = draw_until(
        lambda: [make_value(attribute.value, rng).text for _ in range(2)],
        lambda found: found[0] != found[1] and not {one, two} & set(found),
    )
    triples = [Triple(name, attribute.predicate, value) for name, value in zip((one, two), values, strict=True)]
    former, latter = (attribute.wordings[0].format(o=value) for value in values)
    base, edited = (
        f"There are {one} and {two}: the former {first}, and the latter {second}."
        for first, second in ((former, latter), (latter, former))
    )
    return EditedText(domain.name, triples, base, edited)


_NUMBERS = ("number", "quantity", "year")
KINDS = (
    ChangeKind("omission", "one fact is left out", OMISSION, _edited(4, _omission)),
    ChangeKind("extra fact", "one fact is added", HALLUCINATION, _edited(3, _extra)),
    ChangeKind("wrong value", "a value is replaced by another of its kind", NOT_OK, _edited(4, _wrong_value)),
    ChangeKind("wrong relation", "another relation with the same value", NOT_OK,
         _edited(4, _clause(lambda attribute: attribute.wrong))),
    ChangeKind("number by one", "a number or a year is one off", NOT_OK,
         _edited(4, _of_kinds(texts.by_one, *_NUMBERS))),
    ChangeKind("unit", "the same number of another unit", NOT_OK,
         _edited(4, _of_kinds(texts.in_other_unit, "quantity"))),
    ChangeKind("date", "day, month or year is one off", NOT_OK, _edited(4, _of_kinds(texts.near_date, "date"))),
    ChangeKind("name by a letter", "a name with one wrong letter", NOT_OK, _edited(3, _name)),
    ChangeKind("negation", "a fact is denied", NOT_OK, _edited(4, _clause(lambda attribute: attribute.negated))),
    ChangeKind("hypernym", "a more general word loses a part of a fact", OMISSION,
         _edited(4, _by_map(lambda attribute: attribute.wider))),
    ChangeKind("hyponym", "a more special word adds to a fact", HALLUCINATION,
         _edited(4, _by_map(lambda attribute: attribute.narrower))),
    ChangeKind("paraphrase", "every fact in other words", OK, _edited(4, _paraphrase)),
    ChangeKind("other order", "the facts in another order", OK, _edited(4, _reorder)),
    ChangeKind("pronoun", "a pronoun for the name", OK, _edited(4, lambda one, _: (one.text(pronouns=True), None))),
    ChangeKind("number words", "a number in words", OK, _edited(4, _of_kinds(texts.in_words, *_NUMBERS))),
    ChangeKind("date format", "a date as in the United States", OK, _edited(4, _of_kinds(texts.month_first, "date"))),
    ChangeKind("formatting", "lists, bold, headings, capitals, lower case", OK, _edited(4, _formatting)),
    ChangeKind("repetition", "a fact is said twice, in two ways", OK, _edited(3, _twice)),
    ChangeKind("role swap", "subject and object are exchanged", NOT_OK, _roles),
    ChangeKind("quantifier", "none, some, most and all are exchanged", NOT_OK, _quantifier),
    ChangeKind("sign", "a number becomes negative, or is no longer", NOT_OK, _sign),
    ChangeKind("temporal order", "what came first comes second", NOT_OK, _order),
    ChangeKind("aggregation", "a sum is wrong", NOT_OK, _sum),
    ChangeKind("conflation", "two entities exchange a value", NOT_OK, _conflation),
    ChangeKind("long text", "one wrong value in a text of ten to twelve facts", NOT_OK, _long),
    ChangeKind("reference", "the former and the latter are exchanged", NOT_OK, _reference),
)  # fmt: skip


def templates() -> dict[str, str]:
    """The templates of all facts of the set, as a template file has them."""
    found = {one.predicate: one.template for domain in DOMAINS for one in domain.attributes}
    for part in ("roles", "wholes", "signed"):
        found |= {row["predicate"]: row["template"] for row in DATA[part]}
    for part in ("orders", "sums"):
        for row in DATA[part]:
            found |= dict(zip(row["predicates"], row["templates"], strict=True))
    return found
