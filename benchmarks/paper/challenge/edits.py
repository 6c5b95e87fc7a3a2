"""The kinds of change that apply to any record: each takes a record and returns the changed text.

``None``: the record offers no place for the change; the caller takes another record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from .case import HALLUCINATION, NOT_OK, OK, OMISSION, Kind, Pair
from .domains import DOMAINS, Attribute, Domain
from .realise import Record, Said
from .values import Value, by_one, in_other_unit, in_words, misspelt, month_first, near

Edited = tuple[str, "int | None"]
"""A changed text, and the position of the fact that the change is about."""
Edit = Callable[[Record, Random], "Edited | None"]


def make_record(domain: Domain, facts: int, rng: Random) -> Record:
    """A subject with so many different attributes, or all that the domain has."""
    chosen = rng.sample(domain.attributes, min(facts, len(domain.attributes)))
    subject = domain.subject(rng)
    said: list[Said] = []
    for attribute in chosen:
        value = attribute.make(rng)
        while value.text == subject or any(value.text == one.value.text for one in said):
            value = attribute.make(rng)
        said.append(Said(attribute, value, rng.randrange(2)))
    return Record(domain, subject, tuple(said))


def _of_record(facts: int, edit: Edit) -> Callable[[int, Random], Pair | None]:
    """A kind whose records have so many facts, or one fewer. The domains take turns; one that has no place for the
    change is passed over by the next number of tries."""

    def make(number: int, rng: Random) -> Pair | None:
        domain = DOMAINS[number % len(DOMAINS)] if rng.random() < 0.9 else rng.choice(DOMAINS)
        record = make_record(domain, rng.randint(facts - 1, facts), rng)
        found = edit(record, rng)
        return None if found is None else Pair(domain.name, record.triples, record.text(), *found)

    return make


def _at(record: Record, at: int, said: Said) -> Edited:
    return record.text([said if position == at else fact for position, fact in enumerate(record.facts)]), at


def _omission(record: Record, rng: Random) -> Edited:
    at = rng.randrange(len(record.facts))
    return record.text([fact for position, fact in enumerate(record.facts) if position != at]), at


def _extra(record: Record, rng: Random) -> Edited:
    taken = {fact.attribute.predicate for fact in record.facts}
    free = [attribute for attribute in record.domain.attributes if attribute.predicate not in taken]
    attribute = rng.choice(free)
    facts = list(record.facts)
    facts.insert(rng.randrange(len(facts) + 1), Said(attribute, attribute.make(rng), rng.randrange(2)))
    return record.text(facts), None


def _wrong_value(record: Record, rng: Random) -> Edited:
    at = rng.randrange(len(record.facts))
    fact = record.facts[at]
    value = fact.attribute.make(rng)
    while value.text == fact.value.text or value.text == record.subject:
        value = fact.attribute.make(rng)
    return _at(record, at, fact.with_value(value.text))


def _clause(which: Callable[[Attribute], str]) -> Edit:
    """A fact said in other words that its attribute has for the purpose."""

    def edit(record: Record, rng: Random) -> Edited:
        at = rng.randrange(len(record.facts))
        fact = record.facts[at]
        return _at(record, at, replace(fact, clause=which(fact.attribute).format(o=fact.value.text)))

    return edit


def _of_value(change: Callable[[Value, Random], str | None], *kinds: str) -> Edit:
    """A change of one value of these kinds."""

    def edit(record: Record, rng: Random) -> Edited | None:
        places = [at for at, fact in enumerate(record.facts) if fact.value.kind in kinds]
        if not places:
            return None
        at = rng.choice(places)
        text = change(record.facts[at].value, rng)
        return None if text is None else _at(record, at, record.facts[at].with_value(text))

    return edit


def _by_map(which: Callable[[Attribute], Mapping[str, str]]) -> Edit:
    """A value replaced by a more general one (*a fact is lost*) or a more special one (*a fact is added*)."""

    def edit(record: Record, rng: Random) -> Edited | None:
        places = [at for at, fact in enumerate(record.facts) if fact.value.text in which(fact.attribute)]
        if not places:
            return None
        at = rng.choice(places)
        fact = record.facts[at]
        return _at(record, at, fact.with_value(which(fact.attribute)[fact.value.text]))

    return edit


def _name(record: Record, rng: Random) -> Edited:
    """A name misspelt: of a value, or of the subject in the whole text."""
    places = [at for at, fact in enumerate(record.facts) if fact.value.kind == "name"]
    if not places or rng.random() < 0.3:
        return record.text(subject=misspelt(record.subject, rng)), None
    at = rng.choice(places)
    fact = record.facts[at]
    return _at(record, at, fact.with_value(misspelt(fact.value.text, rng)))


def _paraphrase(record: Record, rng: Random) -> Edited:
    return record.text([replace(fact, wording=1 - fact.wording) for fact in record.facts]), None


def _order(record: Record, rng: Random) -> Edited:
    facts = list(record.facts)
    while facts == list(record.facts):
        rng.shuffle(facts)
    return record.text(facts), None


def _pronoun(record: Record, rng: Random) -> Edited:
    return record.text(pronouns=True), None


def _formatting(record: Record, rng: Random) -> Edited:
    base = record.text()
    sentences = [sentence + "." for sentence in base.removesuffix(".").split(". ")]
    forms = (
        "\n".join(f"- {sentence}" for sentence in sentences),
        f"**{sentences[0]}** " + " ".join(sentences[1:]),
        "\n\n".join(sentences),
        f"# {record.subject}\n\n{base}",
        base.upper(),
        base.lower(),
    )
    return rng.choice(forms).strip(), None


def _twice(record: Record, rng: Random) -> Edited:
    again = rng.choice(record.facts)
    return record.text([*record.facts, replace(again, wording=1 - again.wording)]), None


_NUMBERS = ("number", "quantity", "year")
KINDS = (
    Kind("omission", "one fact is left out", OMISSION, _of_record(4, _omission)),
    Kind("extra fact", "one fact is added", HALLUCINATION, _of_record(3, _extra)),
    Kind("wrong value", "a value is replaced by another of its kind", NOT_OK, _of_record(4, _wrong_value)),
    Kind("wrong relation", "another relation with the same value", NOT_OK,
         _of_record(4, _clause(lambda attribute: attribute.wrong))),
    Kind("number by one", "a number or a year is one off", NOT_OK, _of_record(4, _of_value(by_one, *_NUMBERS))),
    Kind("unit", "the same number of another unit", NOT_OK, _of_record(4, _of_value(in_other_unit, "quantity"))),
    Kind("date", "day, month or year is one off", NOT_OK, _of_record(4, _of_value(near, "date"))),
    Kind("name by a letter", "a name with one wrong letter", NOT_OK, _of_record(3, _name)),
    Kind("negation", "a fact is denied", NOT_OK, _of_record(4, _clause(lambda attribute: attribute.negated))),
    Kind("hypernym", "a more general word loses a part of a fact", OMISSION,
         _of_record(4, _by_map(lambda attribute: attribute.wider))),
    Kind("hyponym", "a more special word adds to a fact", HALLUCINATION,
         _of_record(4, _by_map(lambda attribute: attribute.narrower))),
    Kind("paraphrase", "every fact in other words", OK, _of_record(4, _paraphrase)),
    Kind("other order", "the facts in another order", OK, _of_record(4, _order)),
    Kind("pronoun", "a pronoun for the name", OK, _of_record(4, _pronoun)),
    Kind("number words", "a number in words", OK, _of_record(4, _of_value(in_words, *_NUMBERS))),
    Kind("date format", "a date as in the United States", OK, _of_record(4, _of_value(month_first, "date"))),
    Kind("formatting", "lists, bold, headings, capitals, lower case", OK, _of_record(4, _formatting)),
    Kind("repetition", "a fact is said twice, in two ways", OK, _of_record(3, _twice)),
)  # fmt: skip
