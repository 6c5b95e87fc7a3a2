"""Training pairs: new facts are sampled for every text, so that true and false pairs differ only in their truth.

A pair is (premise parts, hypothesis parts): the text is one part, the facts are one part each, in the order
of the pair. Labels are those of the checkpoint: 0 contradiction, 1 neutral, 2 entailment.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from export.training.e2e.corpus import Item, Source
from export.training.e2e.facts import FACT_SLOTS, SLOTS, Wordings, group_of, some_value

CONTRADICTION, NEUTRAL, ENTAILMENT = 0, 1, 2
# The relation of text and facts for each slot, for the auxiliary head.
NEITHER, FACTS_ONLY, TEXT_ONLY, AGREE, DIFFER = range(5)

# Slots of wrong facts; those that systems get wrong more often occur more often.
_DRAWN = tuple(
    slot for slot in FACT_SLOTS for _ in range({"familyFriendly": 3, "eatType": 2, "priceRange": 2}.get(slot, 1))
)
_WORDINGS = Wordings()


@dataclass(frozen=True)
class Pair:
    """One training pair. `facts_first`: facts → text, else text → facts."""

    text: str
    facts: tuple[str, ...]
    facts_first: bool
    label: int
    fact_labels: tuple[int, ...]  # label of each fact, given the text
    states: tuple[int, ...]  # per slot of SLOTS


@dataclass(frozen=True)
class Mix:
    """Shares of a stage: of facts → text pairs, of pairs kept as in the system outputs, of false pairs."""

    facts_first: float = 0.5
    natural: float = 0.35
    false_omission: float = 0.45
    false_hallucination: float = 0.4
    many_facts: float = 0.0  # text → several facts at once: only the auxiliary labels teach


def fact_label(item: Item, name: str, slot: str, value: str) -> int:
    """Whether the text expresses this fact about this venue."""
    names = item.says.get("name", frozenset())
    held = item.says.get(slot, frozenset())
    if name in names and value in held:
        return ENTAILMENT
    wrong_name = bool(names) and name not in names
    return CONTRADICTION if wrong_name or (held and value not in held) else NEUTRAL


def slot_states(item: Item, facts: dict[str, str]) -> tuple[int, ...]:
    """For each slot: neither side has it, one side has it, both agree, or the text has another value (too)."""
    states = []
    for slot in SLOTS:
        held = item.says.get(slot, frozenset())
        if slot not in facts:
            states.append(TEXT_ONLY if held else NEITHER)
        elif not held:
            states.append(FACTS_ONLY)
        else:
            states.append(AGREE if held == {facts[slot]} else DIFFER)
    return tuple(states)


def text_label(states: tuple[int, ...]) -> int:
    """Whether the facts support everything that the text says."""
    if DIFFER in states:
        return CONTRADICTION
    return NEUTRAL if TEXT_ONLY in states else ENTAILMENT


def _pair(item: Item, facts: dict[str, str], facts_first: bool, rng: random.Random) -> Pair:
    slots = [(slot, value) for slot, value in facts.items() if slot != "name"]
    sentences = _WORDINGS.fill(facts["name"], slots, rng)
    each = tuple(fact_label(item, facts["name"], slot, value) for slot, value in slots)
    states = slot_states(item, facts)
    label = text_label(states) if facts_first else min(each)
    return Pair(item.text, tuple(sentences), facts_first, label, each, states)


def _ordered(facts: dict[str, str], rng: random.Random) -> dict[str, str]:
    """In the order of E2E's inputs or shuffled, independently of the label."""
    slots = [slot for slot in SLOTS if slot in facts]
    if rng.random() < 0.5:
        rng.shuffle(slots)
    return {slot: facts[slot] for slot in slots}


def _base(item: Item, rng: random.Random) -> dict[str, str]:
    """The facts that a text expresses, one value per slot."""
    facts = {slot: rng.choice(sorted(values)) for slot, values in item.says.items()}
    if "name" not in facts:
        facts["name"] = item.mr["name"] if item.mr else some_value("name", rng)
    return facts


def omission_pair(item: Item, mix: Mix, rng: random.Random) -> Pair:
    """text → one fact."""
    if item.mr is not None and len(item.mr) > 1 and rng.random() < mix.natural:
        slot = rng.choice([slot for slot in item.mr if slot != "name"])
        return _pair(item, {"name": item.mr["name"], slot: item.mr[slot]}, False, rng)
    base = _base(item, rng)
    held = [slot for slot in _DRAWN if slot in base]
    if rng.random() >= mix.false_omission and held:
        slot = rng.choice(held)
        return _pair(item, {"name": base["name"], slot: base[slot]}, False, rng)
    if held and rng.random() < 0.2:
        slot = rng.choice(held)
        name = some_value("name", rng, tuple(item.says.get("name", ())))
        return _pair(item, {"name": name, slot: base[slot]}, False, rng)
    slot = rng.choice(_DRAWN)
    value = some_value(slot, rng, tuple(item.says.get(slot, ())))
    return _pair(item, {"name": base["name"], slot: value}, False, rng)


def hallucination_pair(item: Item, mix: Mix, rng: random.Random, facts_first: bool = True) -> Pair:
    """all facts → text."""
    if item.mr is not None and len(item.mr) > 1 and rng.random() < mix.natural:
        return _pair(item, dict(item.mr), facts_first, rng)
    facts = _base(item, rng)
    absent = [slot for slot in FACT_SLOTS if slot not in facts]
    rng.shuffle(absent)
    extras = sum(rng.random() < 0.4 for _ in absent)
    if rng.random() < mix.false_hallucination:
        for _ in range(1 if rng.random() < 0.85 else 2):
            held = [slot for slot in _DRAWN if slot in facts and slot in item.says]
            kind = rng.random()
            if kind < 0.18:
                facts["name"] = some_value("name", rng, tuple(item.says.get("name", ())))
            elif held and kind < 0.55 and len(facts) > 2:
                del facts[rng.choice(held)]
                extras += 1  # as many facts as a true pair would have, where there is another slot to add
            elif held:
                slot = rng.choice(held)
                facts[slot] = some_value(slot, rng, tuple(item.says[slot]))
    for slot in absent[:extras]:
        facts[slot] = some_value(slot, rng)
    if len(facts) < 2:
        slot = rng.choice([slot for slot in FACT_SLOTS if slot not in item.says])
        facts[slot] = some_value(slot, rng)
    return _pair(item, _ordered(facts, rng), facts_first, rng)


def pairs(source: Source, mix: Mix, count: int, rng: random.Random) -> list[Pair]:
    """`count` pairs of a stage's mix."""
    found: list[Pair] = []
    while len(found) < count:
        item = source.draw(rng)
        kind = rng.random()
        if kind < mix.facts_first:
            found.append(hallucination_pair(item, mix, rng))
        elif kind < mix.facts_first + mix.many_facts:
            found.append(hallucination_pair(item, mix, rng, facts_first=False))
        else:
            found.append(omission_pair(item, mix, rng))
    return found


__all__ = [
    "Mix",
    "Pair",
    "fact_label",
    "group_of",
    "hallucination_pair",
    "omission_pair",
    "pairs",
    "slot_states",
]
