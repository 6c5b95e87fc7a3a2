"""Made pairs about one entity: its facts in another order, some of them left out, values in another notation.

Every kind draws one true and one false pair in the same way, and neither side on its own tells which it is. Names and
domains are those of `schemas.json`, made up for this; the challenge set has others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from training.general import measures
from training.general.levels import levels
from training.general.twins import twins
from training.general.wording import sentence_case

SCHEMAS: dict[str, Any] = json.loads(Path(__file__).with_name("schemas.json").read_text(encoding="utf-8"))
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


def selected(agree: bool, rng: random.Random) -> Sides:
    """Facts of which the text says some: all that it says is given, or one thing is not."""
    facts, word = _record(rng, 4)
    said = rng.sample(facts, rng.randint(1, len(facts) - 2))
    given = [f for f in facts if f in said or rng.random() < 0.6]
    if not agree:
        left = rng.choice(said)
        spare = [f for f in facts if f not in said]
        given = [rng.choice(spare) if f == left else f for f in given]
    other, _ = _record(rng, 3)
    if other[0].subject != facts[0].subject and rng.random() < 0.4:
        given += other[: rng.randint(1, 2)]
    return " ".join(map(word, dict.fromkeys(given))), " ".join(f.text(rng) for f in said)


KINDS: dict[Kind, float] = {
    ordered: 0.1, selected: 0.14, measures.numbers: 0.16, measures.units: 0.16, measures.signs: 0.12, levels: 0.32,
}  # fmt: skip


def pairs(count: int, rng: random.Random) -> list[tuple[str, str, bool]]:
    """Premise, hypothesis and whether it is entailed; of every kind as many true ones as false ones, or one more."""
    found: list[tuple[str, str, bool]] = []
    for kind in rng.choices(list(KINDS), list(KINDS.values()), k=(count + 1) // 2):
        true, false = twins(kind, rng)
        found += [(*true, True), (*false, False)]
    return found[:count]
