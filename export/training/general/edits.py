"""Made pairs about several entities: values crossed, references, exchanged arguments, order, facts beside the point.

Every kind draws one true and one false pair in the same way, and neither side on its own tells which it is. Names and
domains are those of `schemas.json` and `roles.json`, made up for this; the challenge set has others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from export.training.general import measures
from export.training.general.levels import levels
from export.training.general.wording import sentence_case

_HERE = Path(__file__).parent
SCHEMAS: dict[str, Any] = json.loads((_HERE / "schemas.json").read_text(encoding="utf-8"))
ROLES: dict[str, Any] = json.loads((_HERE / "roles.json").read_text(encoding="utf-8"))
Sides = tuple[str, str]
Kind = Callable[[bool, random.Random], Sides]


class Fact(NamedTuple):
    """``kind``: the schema that the subject is of."""

    kind: str
    subject: str
    predicate: str
    object: str

    def data(self) -> str:
        """The backoff wording of the metric."""
        return f"The {self.predicate} of {self.subject} is {self.object}."

    def text(self, rng: random.Random) -> str:
        """One of the sentences of the schema."""
        said = rng.choice(SCHEMAS[self.kind]["attributes"][self.predicate])
        return sentence_case(said.replace("{s}", self.subject).replace("{o}", self.object))


def style(rng: random.Random) -> Callable[[Fact], str]:
    """How the facts of one side are worded: all by backoff, or all by sentences."""
    backoff = rng.random() < 0.5
    return lambda fact: fact.data() if backoff else fact.text(rng)


def crossed(agree: bool, rng: random.Random) -> Sides:
    """Two rows of one schema; the other side has their values, or has them exchanged between the two."""
    schema, (one, two), predicates, table = _two(rng)
    facts = [Fact(schema, s, p, table[s, p]) for p in predicates for s in (one, two)]
    exchanged = rng.choice(predicates)
    said = list(facts)
    if not agree:
        said = [
            f._replace(object=table[two if f.subject == one else one, exchanged]) if f.predicate == exchanged else f
            for f in facts
        ]
    rng.shuffle(facts)
    if rng.random() < 0.5:
        said.sort(key=lambda f: f.subject)
    word = style(rng)
    if rng.random() < 0.5:
        return " ".join(map(word, facts)), " ".join(f.text(rng) for f in said)
    asked = rng.choice([f for f in said if f.predicate == exchanged])
    return " ".join(f.text(rng) for f in facts), word(asked)


def _two(rng: random.Random) -> tuple[str, list[str], list[str], dict[tuple[str, str], str]]:
    """A schema, two of its names, one to three predicates, and a value for each, no two alike."""
    schema = rng.choice(sorted(SCHEMAS))
    found = SCHEMAS[schema]
    names = rng.sample(found["names"], 2)
    predicates = rng.sample(sorted(found["attributes"]), rng.choice((1, 1, 2, 3)))
    table = {}
    for p in predicates:
        for name, value in zip(names, rng.sample(found["values"][p], 2), strict=True):
            table[name, p] = value
    return schema, names, predicates, table


def reference(agree: bool, rng: random.Random) -> Sides:
    """*The former* and *the latter*, *respectively*, *the first* and *the second*: right, or the other way round."""
    schema, (one, two), (predicate, *_), table = _two(rng)
    facts = [Fact(schema, s, predicate, table[s, predicate]) for s in rng.sample((one, two), 2)]
    first, second = (table[s, predicate] for s in ((one, two) if agree else (two, one)))
    word = style(rng)
    chance = rng.random()
    if chance < 0.25:
        said = f"The {predicate} of {one} and {two} is {first} and {second}, respectively."
    else:
        names = rng.choice((("the former", "the latter"), ("the first", "the second"), ("the former", "the latter")))
        opening = rng.choice((
            f"There are {one} and {two}.", f"{one} and {two} were compared.", f"Here we look at {one} and {two}.",
            f"{one} is listed together with {two}.",
        ))  # fmt: skip
        parts = [
            Fact(schema, name, predicate, value).text(rng).replace("The the", "The").replace("the the", "the")
            for name, value in zip(names, (first, second), strict=True)
        ]
        kept = parts if rng.random() < 0.6 else [rng.choice(parts)]
        said = " ".join([sentence_case(opening), *kept])
        if rng.random() < 0.3:  # text → fact
            asked = rng.choice(facts)
            return " ".join([sentence_case(opening), *parts]), word(asked)
    facts = [f for f in facts if f.object in said or rng.random() < 0.8] if agree else facts
    return " ".join(map(word, facts)), said


def exchanged(agree: bool, rng: random.Random) -> Sides:
    """A relation between two of one type, in other words; arguments in their places, or exchanged.

    Some relations hold both ways: there an exchange is true, and a third name is false.
    """
    mutual = rng.random() < 0.2
    kind, predicate, *wordings = rng.choice(ROLES["mutual" if mutual else "directed"])
    one, two, third = rng.sample(ROLES[kind], 3)
    wordings = [*wordings, "The " + predicate + " of {b} is {a}."] if " " not in predicate else wordings
    first, second = (wordings if rng.random() < 0.3 else rng.sample(wordings, 2))[:2]
    ends = (one, two)
    if mutual:
        ends = rng.choice(((one, two), (two, one))) if agree else rng.choice(((one, third), (third, two)))
    elif not agree:
        ends = (two, one)
    premise, hypothesis = _related(first, one, two), _related(second, *ends)
    if rng.random() < 0.4:
        premise = _beside(premise, ROLES[kind], (one, two), rng)
    return premise, hypothesis


def _related(wording: str, one: str, two: str) -> str:
    return sentence_case(wording.replace("{a}", one).replace("{b}", two))


def _beside(premise: str, names: list[str], taken: tuple[str, ...], rng: random.Random) -> str:
    """The premise, and a relation of other names before or after it."""
    kind, _, *wordings = rng.choice(ROLES["directed"])
    others = [n for n in ROLES[kind] if n not in taken]
    more = _related(rng.choice(wordings), *rng.sample(others, 2))
    return f"{premise} {more}" if rng.random() < 0.5 else f"{more} {premise}"


def _record(rng: random.Random, least: int) -> tuple[list[Fact], Callable[[Fact], str]]:
    """At least so many facts of one entity, worded in one style."""
    schema = rng.choice([s for s in sorted(SCHEMAS) if len(SCHEMAS[s]["attributes"]) >= least])
    found = SCHEMAS[schema]
    name = rng.choice(found["names"])
    chosen = rng.sample(sorted(found["attributes"]), rng.randint(least, len(found["attributes"])))
    return [Fact(schema, name, p, rng.choice(found["values"][p])) for p in chosen], style(rng)


def ordered(agree: bool, rng: random.Random) -> Sides:
    """The facts of one entity in another order, all right or one with another value."""
    facts, word = _record(rng, 3)
    said = list(facts)
    if not agree:
        i = rng.randrange(len(said))
        values = [v for v in SCHEMAS[said[i].kind]["values"][said[i].predicate] if v != said[i].object]
        said[i] = said[i]._replace(object=rng.choice(values))
    rng.shuffle(said)
    return " ".join(map(word, facts)), " ".join(f.text(rng) for f in said)


def beside(agree: bool, rng: random.Random) -> Sides:
    """Facts of which the text says some: all that it says is given, or one thing is not."""
    facts, word = _record(rng, 4)
    said = rng.sample(facts, rng.randint(1, len(facts) - 2))
    given = [f for f in facts if f in said or rng.random() < 0.6]
    if not agree:
        left = rng.choice(said)
        spare = [f for f in facts if f not in said]
        given = [rng.choice(spare) if f == left else f for f in given]
    other, other_word = _record(rng, 3)
    if other[0].subject != facts[0].subject and rng.random() < 0.4:
        given += other[: rng.randint(1, 2)]
    del other_word
    return " ".join(map(word, dict.fromkeys(given))), " ".join(f.text(rng) for f in said)


KINDS: dict[Kind, float] = {
    crossed: 0.2, reference: 0.16, exchanged: 0.2, ordered: 0.05, beside: 0.07, measures.numbers: 0.07,
    measures.units: 0.1, measures.signs: 0.07, levels: 0.2,
}  # fmt: skip


def pairs(count: int, rng: random.Random) -> list[tuple[str, str, bool]]:
    """Premise, hypothesis and whether it is entailed; of every kind as many true ones as false ones, or one more."""
    found = []
    for kind in rng.choices(list(KINDS), list(KINDS.values()), k=(count + 1) // 2):
        for agree in (True, False):
            found.append((*kind(agree, rng), agree))
    return found[:count]
