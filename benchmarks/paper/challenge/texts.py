"""Facts of invented things, and texts that say them: names, values, domains, wordings, all of ``texts.json``.

A wording is a verb phrase with ``{o}`` for the value; the template of a fact and the first wording are close, the
second is a paraphrase. ``wrong``: another relation with the same value, which the fact does not support. ``wider``,
``narrower``: by value, a more general and a more special one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec

from scorer.metric.facts import Triple

DATA: dict[str, Any] = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))
MONTHS: list[str] = DATA["months"]
T = TypeVar("T")
_ARTICLE = re.compile(r"\ba (?=[aeiouAEIO])")


def make_name(kind: str, rng: Random) -> str:
    form, *parts = DATA["names"][kind]
    return str(form.format(*(rng.choice(part) for part in parts)))


@dataclass(frozen=True)
class Value:
    """A value in words. ``parts``: the number, or day, month and year. ``other_unit``: one of the same dimension."""

    text: str
    kind: str
    parts: tuple[int, ...] = ()
    unit: str = ""
    other_unit: str = ""


def make_value(how: Sequence[Any], rng: Random) -> Value:
    """A value of a kind, drawn from names, words, or a range of numbers: ``[kind, *arguments]``."""
    kind, *given = how
    if kind == "name":
        return Value(make_name(given[0], rng), kind)
    if kind == "word":
        return Value(rng.choice(given), kind)
    if kind == "date":
        return _date(rng.randint(1, 28), rng.randint(1, 12), rng.randrange(*given))
    if kind == "year":
        n = rng.randrange(*given)
        return Value(str(n), kind, (n,))
    units = given[2:] if kind == "quantity" else []
    n = rng.randrange(*(given[:2] if units else given))
    return Value(_number(n, *units[:1]), kind, (n,), *units)


def _number(n: int, unit: str = "") -> str:
    return f"{n:,} {unit}".strip()


def _date(day: int, month: int, year: int) -> Value:
    return Value(f"{day} {MONTHS[month - 1]} {year}", "date", (day, month, year))


def by_one(value: Value, rng: Random) -> str:
    (n,) = value.parts
    n += 1 if n < 3 or rng.random() < 0.5 else -1
    return str(n) if value.kind == "year" else _number(n, value.unit)


def in_other_unit(value: Value, rng: Random) -> str:
    return _number(value.parts[0], value.other_unit)


def in_words(value: Value, rng: Random) -> str | None:
    """A number in words, up to 99; ``None`` above."""
    (n,), ones, tens = value.parts, DATA["ones"], DATA["tens"]
    if n >= 100:
        return None
    words = ones[n] if n < 20 else tens[n // 10] + (f"-{ones[n % 10]}" if n % 10 else "")
    return f"{words} {value.unit}".strip()


def near_date(value: Value, rng: Random) -> str:
    """Another date: the day, the month or the year changes."""
    day, month, year = value.parts
    part = rng.randrange(3)
    if part == 0:
        return _date(day % 28 + 1, month, year).text
    if part == 1:
        return _date(day, month % 12 + 1, year).text
    return _date(day, month, year + rng.choice((-1, 1))).text


def month_first(value: Value, rng: Random) -> str:
    """The same day as it is written in the United States."""
    day, month, year = value.parts
    return f"{MONTHS[month - 1]} {day}, {year}"


def misspelt(name: str, rng: Random) -> str:
    """A name with one letter changed into a similar one; never the first letter of a word."""
    similar = DATA["similar"]
    places = [i for i, c in enumerate(name) if c in similar and i and name[i - 1] != " "]
    if not places:
        return name + "s"
    at = rng.choice(places)
    return name[:at] + similar[name[at]] + name[at + 1 :]


class Attribute(msgspec.Struct, frozen=True, eq=False):
    """One thing that can be said, and how. ``value``: as :func:`make_value` takes it."""

    predicate: str
    template: str
    wordings: tuple[str, str]
    negated: str
    wrong: str
    value: list[Any]
    wider: dict[str, str] = {}
    narrower: dict[str, str] = {}


class Domain(msgspec.Struct, frozen=True):
    """``subject``: a kind of names. ``personal``: its pronoun depends on the name, otherwise it is *it*."""

    name: str
    subject: str
    personal: bool
    attributes: tuple[Attribute, ...]


DOMAINS = msgspec.convert(DATA["domains"], tuple[Domain, ...])


@dataclass(frozen=True)
class Said:
    """An attribute with its value, and how a text says it. ``clause``: a verb phrase that replaces the wording."""

    attribute: Attribute
    value: Value
    wording: int = 0
    clause: str | None = None

    def phrase(self) -> str:
        clause = self.attribute.wordings[self.wording].format(o=self.value.text) if self.clause is None else self.clause
        return _ARTICLE.sub("an ", clause)

    def with_value(self, text: str) -> Said:
        return replace(self, clause=self.attribute.wordings[self.wording].format(o=text))


@dataclass(frozen=True)
class InventedThing:
    domain: Domain
    subject: str
    facts: tuple[Said, ...]

    @property
    def triples(self) -> list[Triple]:
        return [Triple(self.subject, fact.attribute.predicate, fact.value.text) for fact in self.facts]

    def text(self, facts: Sequence[Said] | None = None, *, pronouns: bool = False, subject: str | None = None) -> str:
        """The facts, or other ones, as sentences of two clauses."""
        said = self.facts if facts is None else facts
        name, pronoun = subject or self.subject, "It"
        if self.domain.personal:
            pronoun = "She" if self.subject.split()[0] in DATA["female"] else "He"
        name = f"The {name}" if self.domain.name == "phone" else name
        sentences = []
        for start in range(0, len(said), 2):
            clauses = " and ".join(fact.phrase() for fact in said[start : start + 2])
            sentences.append(f"{pronoun if pronouns and start else name} {clauses}.")
        return " ".join(sentences)


def invent(domain: Domain, facts: int, rng: Random) -> InventedThing:
    """A subject with so many different attributes, or all that the domain has."""
    chosen = rng.sample(domain.attributes, min(facts, len(domain.attributes)))
    subject = make_name(domain.subject, rng)
    said: list[Said] = []
    for attribute in chosen:
        taken = {subject, *(one.value.text for one in said)}
        value = draw_until(partial(make_value, attribute.value, rng), lambda one, taken=taken: one.text not in taken)
        said.append(Said(attribute, value, rng.randrange(2)))
    return InventedThing(domain, subject, tuple(said))


def draw_until(draw: Callable[[], T], fits: Callable[[T], bool]) -> T:
    while not fits(found := draw()):
        pass
    return found
