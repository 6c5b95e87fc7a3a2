"""The kinds of change that apply to any record: each takes a record and returns the changed text.

``None``: the record offers no place for the change; the caller takes another record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from .case import HALLUCINATION, NOT_OK, OK, OMISSION, Case, case
from .domains import Domain
from .realise import Record, Said
from .values import Date, Number, Value, misspelt

Edit = Callable[[Record, Random], "Case | None"]


@dataclass(frozen=True)
class Kind:
    """``about``: what is changed, for people. ``facts``: how many a record has. ``edit``: makes the case."""

    name: str
    about: str
    expected: str
    facts: int
    edit: Edit


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


def _changed(
    name: str, expected: str, record: Record, facts: Sequence[Said], at: int | None, base: str | None = None
) -> Case:
    return case(name, record.domain.name, record.triples, base or record.text(), record.text(facts), expected, at)


def _at(record: Record, at: int, said: Said) -> list[Said]:
    return [said if position == at else fact for position, fact in enumerate(record.facts)]


def _omission(record: Record, rng: Random) -> Case:
    at = rng.randrange(len(record.facts))
    left = [fact for position, fact in enumerate(record.facts) if position != at]
    return _changed("omission", OMISSION, record, left, at)


def _extra(record: Record, rng: Random) -> Case:
    taken = {fact.attribute.predicate for fact in record.facts}
    free = [attribute for attribute in record.domain.attributes if attribute.predicate not in taken]
    attribute = rng.choice(free)
    facts = list(record.facts)
    facts.insert(rng.randrange(len(facts) + 1), Said(attribute, attribute.make(rng), rng.randrange(2)))
    return _changed("extra fact", HALLUCINATION, record, facts, None)


def _wrong_value(record: Record, rng: Random) -> Case:
    at = rng.randrange(len(record.facts))
    fact = record.facts[at]
    value = fact.attribute.make(rng)
    while value.text == fact.value.text or value.text == record.subject:
        value = fact.attribute.make(rng)
    return _changed("wrong value", NOT_OK, record, _at(record, at, fact.with_value(value.text)), at)


def _relation(record: Record, rng: Random) -> Case:
    at = rng.randrange(len(record.facts))
    fact = record.facts[at]
    wrong = replace(fact, clause=fact.attribute.wrong.format(o=fact.value.text))
    return _changed("wrong relation", NOT_OK, record, _at(record, at, wrong), at)


def _negation(record: Record, rng: Random) -> Case:
    at = rng.randrange(len(record.facts))
    fact = record.facts[at]
    denied = replace(fact, clause=fact.attribute.negated.format(o=fact.value.text))
    return _changed("negation", NOT_OK, record, _at(record, at, denied), at)


def _of_value(
    name: str, expected: str, fits: Callable[[Value], bool], change: Callable[[Value, Random], str | None]
) -> Edit:
    """A change of one value of a fitting kind."""

    def edit(record: Record, rng: Random) -> Case | None:
        places = [at for at, fact in enumerate(record.facts) if fits(fact.value)]
        if not places:
            return None
        at = rng.choice(places)
        text = change(record.facts[at].value, rng)
        if text is None:
            return None
        return _changed(name, expected, record, _at(record, at, record.facts[at].with_value(text)), at)

    return edit


def _is_count(value: Value) -> bool:
    return isinstance(value, Number)


def _by_one(value: Value, rng: Random) -> str:
    assert isinstance(value, Number)
    changed = value.by_one(rng)
    return str(changed.text.replace(",", "")) if value.kind == "year" else changed.text


def _unit(value: Value, rng: Random) -> str:
    assert isinstance(value, Number)
    return value.in_other_unit().text


def _date(value: Value, rng: Random) -> str:
    assert isinstance(value, Date)
    return value.near(rng).text


def _in_words(value: Value, rng: Random) -> str | None:
    return value.in_words() if isinstance(value, Number) else None


def _month_first(value: Value, rng: Random) -> str:
    assert isinstance(value, Date)
    return value.month_first()


def _wider(record: Record, rng: Random) -> Case | None:
    return _by_map(record, rng, "hypernym", OMISSION)


def _narrower(record: Record, rng: Random) -> Case | None:
    return _by_map(record, rng, "hyponym", HALLUCINATION)


def _by_map(record: Record, rng: Random, name: str, expected: str) -> Case | None:
    """A value replaced by a more general one (*a fact is lost*) or a more special one (*a fact is added*)."""
    maps = [fact.attribute.wider if name == "hypernym" else fact.attribute.narrower for fact in record.facts]
    places = [at for at, fact in enumerate(record.facts) if fact.value.text in maps[at]]
    if not places:
        return None
    at = rng.choice(places)
    fact = record.facts[at]
    return _changed(name, expected, record, _at(record, at, fact.with_value(maps[at][fact.value.text])), at)


def _name(record: Record, rng: Random) -> Case | None:
    """A name misspelt: of a value, or of the subject in the whole text."""
    places = [at for at, fact in enumerate(record.facts) if fact.value.kind == "name"]
    if not places or rng.random() < 0.3:
        text = record.text(subject=misspelt(record.subject, rng))
        return case("name by a letter", record.domain.name, record.triples, record.text(), text, NOT_OK)
    at = rng.choice(places)
    fact = record.facts[at]
    wrong = fact.with_value(misspelt(fact.value.text, rng))
    return _changed("name by a letter", NOT_OK, record, _at(record, at, wrong), at)


def _paraphrase(record: Record, rng: Random) -> Case:
    other = [replace(fact, wording=1 - fact.wording) for fact in record.facts]
    return _changed("paraphrase", OK, record, other, None)


def _order(record: Record, rng: Random) -> Case:
    facts = list(record.facts)
    while facts == list(record.facts):
        rng.shuffle(facts)
    return _changed("other order", OK, record, facts, None)


def _pronoun(record: Record, rng: Random) -> Case:
    text = record.text(pronouns=True)
    return case("pronoun", record.domain.name, record.triples, record.text(), text, OK)


def _formatting(record: Record, rng: Random) -> Case:
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
    return case("formatting", record.domain.name, record.triples, base, rng.choice(forms).strip(), OK)


def _twice(record: Record, rng: Random) -> Case:
    again = rng.choice(record.facts)
    text = record.text([*record.facts, replace(again, wording=1 - again.wording)])
    return case("repetition", record.domain.name, record.triples, record.text(), text, OK)


KINDS = (
    Kind("omission", "one fact is left out", OMISSION, 4, _omission),
    Kind("extra fact", "one fact is added", HALLUCINATION, 3, _extra),
    Kind("wrong value", "a value is replaced by another of its kind", NOT_OK, 4, _wrong_value),
    Kind("wrong relation", "another relation with the same value", NOT_OK, 4, _relation),
    Kind("number by one", "a number or a year is one off", NOT_OK, 4,
         _of_value("number by one", NOT_OK, _is_count, _by_one)),
    Kind("unit", "the same number of another unit", NOT_OK, 4,
         _of_value("unit", NOT_OK, lambda value: value.kind == "quantity", _unit)),
    Kind("date", "day, month or year is one off", NOT_OK, 4,
         _of_value("date", NOT_OK, lambda value: value.kind == "date", _date)),
    Kind("name by a letter", "a name with one wrong letter", NOT_OK, 3, _name),
    Kind("negation", "a fact is denied", NOT_OK, 4, _negation),
    Kind("hypernym", "a more general word loses a part of a fact", OMISSION, 4, _wider),
    Kind("hyponym", "a more special word adds to a fact", HALLUCINATION, 4, _narrower),
    Kind("paraphrase", "every fact in other words", OK, 4, _paraphrase),
    Kind("other order", "the facts in another order", OK, 4, _order),
    Kind("pronoun", "a pronoun for the name", OK, 4, _pronoun),
    Kind("number words", "a number in words", OK, 4, _of_value("number words", OK, _is_count, _in_words)),
    Kind("date format", "a date as in the United States", OK, 4,
         _of_value("date format", OK, lambda value: value.kind == "date", _month_first)),
    Kind("formatting", "lists, bold, headings, capitals, lower case", OK, 4, _formatting),
    Kind("repetition", "a fact is said twice, in two ways", OK, 3, _twice),
)  # fmt: skip
