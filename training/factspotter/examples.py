"""Positive and negative examples, drawn again in each epoch (the paper's section 4, and its released code).

For each triple of each text there is one positive and one negative example. Half of all examples have their entities
exchanged first, in the triples and in the text, so that an unusual entity says nothing.

Type I, nine of ten negatives: the triple is not what the text says. Of these, half have another predicate, four of five
times one of the same domain; the others have another subject or object in the text, half of them with another predicate
as well. Type II, the others: the same, but words are taken out of the text instead. One in ten of these then also loses
words at random, has words repeated, or has its words in another order.

Two things differ from the code. It finds the words of a predicate with a sentence encoder; here they are the words that
begin as the predicate's do. Where a text does not contain an entity, the code leaves a positive example in place of the
negative; here the predicate is exchanged.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scorer.metric import factspotter
from scorer.metric.facts import Triple

from .data import DataText, Known

TYPE_II, PREDICATE_ONLY, SAME_DOMAIN, BOTH, EXCHANGED, NOISE = 0.1, 0.5, 0.8, 0.5, 0.5, 0.1
"""Shares; see above. ``BOTH``: of the negatives with another entity, those with another predicate as well."""
_SHORTEST = 3
"""Characters of the shortest entity that is looked for in a text."""


class Example(NamedTuple):
    """Input of the classifier, and whether the text says the triple."""

    said: str
    present: bool


def epoch(rows: Sequence[DataText], known: Known, seed: int, number: int, triples: int | None = None) -> list[Example]:
    """The examples of an epoch, the same for the same arguments; of so many ``triples``, drawn at random, or all."""
    rng = random.Random(f"factspotter {seed} {number}")
    places = [(r, t) for r, row in enumerate(rows) for t in range(len(row.triples))]
    if triples is not None and triples < len(places):
        places = rng.sample(places, triples)
    made = [example for r, t in places for example in _examples(rows[r], t, known, rng)]
    rng.shuffle(made)
    return made


def _examples(row: DataText, position: int, known: Known, rng: random.Random) -> Iterator[Example]:
    triple, text, _ = _exchanged(row, position, known, rng)
    yield Example(said(triple, text), True)
    triple, text, others = _exchanged(row, position, known, rng)
    yield Example(said(*_negative(triple, text, others, row.domain, known, rng)), False)


def said(triple: Triple, text: str) -> str:
    """The string that the classifier reads. ``triple``, ``text``: as :mod:`scorer.metric.factspotter` makes them."""
    return f"{factspotter.first_text(factspotter.describe(triple))} {text}"


def _exchanged(row: DataText, position: int, known: Known, rng: random.Random) -> tuple[Triple, str, list[Triple]]:
    """A triple, the text and all triples, half of the time with other entities."""
    text, triples = row.text, list(row.triples)
    if rng.random() < EXCHANGED:
        entities = sorted({part for t in triples for part in (t.subject, t.object)}, key=lambda e: (-len(e), e))
        others = {e: rng.choice(known.entities) for e in entities if len(e) >= _SHORTEST and _where(e, text)}
        if others:  # all in one pass: an entity may be part of another one
            pattern = re.compile("|".join(_whole(entity) for entity in others))
            text = pattern.sub(lambda match: others[match[0]], text)
            triples = [
                t._replace(subject=others.get(t.subject, t.subject), object=others.get(t.object, t.object))
                for t in triples
            ]
    return triples[position], text, triples


def _negative(
    triple: Triple, text: str, others: list[Triple], domain: str, known: Known, rng: random.Random
) -> tuple[Triple, str]:
    drops = rng.random() < TYPE_II
    predicate_too = entity_too = False
    if rng.random() < PREDICATE_ONLY:
        predicate_too = True
    else:
        entity_too = True
        predicate_too = rng.random() < BOTH
    done = False
    if entity_too:
        entity = triple.subject if rng.random() < 0.5 else triple.object
        found = _where(entity, text) if len(entity) >= _SHORTEST else None
        if found:
            other = "" if drops else _another(known.entities, {entity}, rng)
            changed = found.sub(lambda match: other, text)
            done = changed != text
            text = changed
    if drops and predicate_too:
        shorter = _without(triple.predicate, text)
        done, text = done or shorter != text, shorter
    elif predicate_too:
        triple, done = _other_predicate(triple, others, domain, known, rng), True
    if not done:
        triple = _other_predicate(triple, others, domain, known, rng)
    elif drops:
        text = _noisy(text, rng)
    return triple, " ".join(text.split())


def _other_predicate(triple: Triple, others: list[Triple], domain: str, known: Known, rng: random.Random) -> Triple:
    """The triple with a predicate that no triple of the row has; with any other one where they have all."""
    taken = {other.predicate for other in others}
    near = known.predicates.get(domain, ()) if rng.random() < SAME_DOMAIN else ()
    drawn = _another(near, taken, rng) or _another(known.all_predicates, taken, rng)
    return triple._replace(predicate=drawn or _another(known.all_predicates, {triple.predicate}, rng))


def _another(values: Sequence[str], taken: set[str], rng: random.Random) -> str:
    """One of the values that is not taken; empty where there is none."""
    for _ in range(20):
        if values and (drawn := rng.choice(values)) not in taken:
            return drawn
    left = [value for value in values if value not in taken]
    return rng.choice(left) if left else ""


def _where(entity: str, text: str) -> re.Pattern[str] | None:
    """A pattern that finds an entity in a text as whole words; ``None`` where the text does not have it."""
    pattern = re.compile(_whole(entity))
    return pattern if pattern.search(text) else None


def _whole(entity: str) -> str:
    return rf"(?<!\w){re.escape(entity)}(?!\w)"


def _without(predicate: str, text: str) -> str:
    """A text without the words that begin as a word of the predicate does."""
    stems = [word[:4] for word in predicate.split() if len(word) > 2]
    return " ".join(word for word in text.split() if not any(word.startswith(stem) for stem in stems))


def _noisy(text: str, rng: random.Random) -> str:
    """A text that one time in ten each has lost words, has words twice, or has its words in another order."""
    words = text.split()
    if rng.random() < NOISE:
        for word in rng.sample(words, min(len(words), len(words) // 10 + 1)):
            words.insert(rng.randint(0, len(words)), word)
    if rng.random() < NOISE:
        rng.shuffle(words)
    if rng.random() < NOISE:
        words = [word for word in words if rng.random() > 0.5]
    return " ".join(words)
