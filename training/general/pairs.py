"""Pairs of premise and hypothesis from rows of facts and text, half of them false.

Three directions, as the metric asks: text → fact, facts → text, and text → all facts. A false pair is labelled
*not entailment*: whether it is neutral or contradicting depends on reading, and the metric needs entailment alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from training.general import contests
from training.general.contests import Contest, foreign_fact, quantity
from training.general.nli import NOT_ENTAILMENT
from training.general.rows import Corpus, Row
from training.general.values import twins
from training.general.wording import Worder

T = TypeVar("T")
ENTAILMENT = 2
Maker = Callable[[Corpus, Row, bool, random.Random], Contest | None]

SOURCES = {"rel2text": 0.46, "rnnlg": 0.18, "viggo": 0.16, "sgd": 0.2}
TO_FACT: dict[Maker, float] = {
    contests.value: 0.26, contests.roles: 0.15, contests.subject: 0.12, contests.foreign: 0.19, contests.unspoken: 0.14,
    quantity: 0.14,
}  # fmt: skip
TO_TEXT: dict[Maker, float] = {
    contests.value: 0.2, contests.roles: 0.12, contests.subject: 0.08, contests.dropped: 0.38, contests.unspoken: 0.08,
    quantity: 0.14,
}  # fmt: skip
DIRECTIONS = {"text_to_fact": 0.45, "facts_to_text": 0.45, "text_to_facts": 0.1}


@dataclass(frozen=True)
class Pair:
    """Two texts and the label: 2 entailment, 3 not entailment. ``kind``: direction and contest, for counting."""

    premise: str
    hypothesis: str
    label: int
    kind: str


def _choose(weights: dict[T, float], rng: random.Random) -> T:
    return rng.choices(list(weights), list(weights.values()))[0]


def draw_row(corpus: Corpus, rng: random.Random) -> Row:
    """A row of the data, or several put together: their facts, and their texts one after the other."""
    source = _choose({name: share for name, share in SOURCES.items() if name in corpus.rows}, rng)
    rows = corpus.rows[source]
    if source == "rel2text":
        drawn = [rng.choice(rows) for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 5)))]
        return joined(drawn, rng.random() < 0.4, rng.choice(("", "It", "He", "She")))
    first = rng.choice(rows)
    if rng.random() < 0.75 or not first.named(first.triples[0].subject):
        return first
    second = rng.choice(rows)
    if not second.named(second.triples[0].subject) or second.domain != first.domain:
        return first
    return joined([first, second], False)


def joined(rows: list[Row], one_subject: bool, pronoun: str = "") -> Row:
    """Several rows as one, without those about a subject or a value that came before. A subject that begins two texts
    in a row becomes the pronoun, if one is given."""
    kept = rows[:1]
    for row in rows[1:]:
        said = " ".join(other.text for other in kept).lower()
        subjects = {t.subject.lower() for t in row.triples}
        if one_subject and len(subjects) == 1:
            old = row.triples[0].subject
            if not row.named(old) or row.triples[0].predicate in {t.predicate for other in kept for t in other.triples}:
                continue
            row = row.with_subject(old, kept[0].triples[0].subject)
        elif any(s in said for s in subjects):
            continue
        if any(t.object.lower() in said for t in row.triples):
            continue
        kept.append(row)
    texts = [row.text if row.text.rstrip().endswith((".", "!", "?")) else row.text.rstrip() + "." for row in kept]
    for i, row in enumerate(kept[1:], 1):
        name = row.triples[0].subject
        if pronoun and kept[i - 1].text.startswith(f"{name} ") and row.text.startswith(f"{name} "):
            texts[i] = pronoun + texts[i][len(name) :]
    return replace(kept[0], triples=tuple(t for row in kept for t in row.triples), text=" ".join(texts))


def make(corpus: Corpus, agree: bool, rng: random.Random) -> Pair | None:
    """One pair, true if they agree, or None where the drawn row does not allow the drawn contest."""
    direction = _choose(DIRECTIONS, rng)
    maker = _choose(TO_TEXT if direction == "facts_to_text" else TO_FACT, rng)
    contest = maker(corpus, draw_row(corpus, rng), agree, rng)
    if contest is None:
        return None
    row, word = contest.row, Worder(corpus.templates, rng)
    kind = f"{direction}:{maker.__name__}"
    label = ENTAILMENT if agree else NOT_ENTAILMENT
    if direction == "text_to_fact":
        return Pair(row.text, word(contest.fact), label, kind)
    facts = list(row.triples)
    if direction == "text_to_facts":
        if contest.extra:  # in the place of one of the text's facts, so that the number of facts is not a hint
            facts[rng.randrange(len(facts))] = contest.fact
        facts = facts[:4] if contest.fact in facts[:4] else [contest.fact, *facts[:3]]
        return Pair(row.text, " ".join(map(word, facts)), label, kind)
    more = rng.choice((0, 0, 0, 1, 2)) + (contest.extra and rng.random() < 0.8)
    for _ in range(more):
        found = foreign_fact(corpus, row, rng)
        # What was dropped must not come back by another row, and unrelated facts must not contradict each other.
        taken = {fact.predicate for fact in (*facts, contest.fact)}
        if found is not None and found.predicate not in taken:
            facts.insert(rng.randint(0, len(facts)), found)
    if rng.random() < 0.5:
        rng.shuffle(facts)
    return Pair(" ".join(map(word, facts)), row.text, label, kind)


def pairs(corpus: Corpus, count: int, rng: random.Random) -> list[Pair]:
    """`count` pairs, true and false ones in equal numbers for every kind."""
    found: list[Pair] = []
    while len(found) < count:
        true, false = twins(partial(make, corpus), rng)
        if true is not None and false is not None:
            found += [true, false]
    return found[:count]
