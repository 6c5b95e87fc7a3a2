"""Who did what to whom and who came first, each in wordings with either of the two named first.

What two sentences say must not show in the order of their names: a passive turns it, and so does another agent. In
half of the true pairs and in half of the false ones the names stand in one order on both sides.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.general.values import TABLES, sentence_case
from training.general.wording import Wording

ROLES: dict[str, Any] = json.loads(Path(__file__).with_name("roles.json").read_text(encoding="utf-8"))
"""``directed``: kind of the two, what the first is of the second, wordings. ``verbs``: kind, and verbs of one meaning
whose participles are their past. ``scales``: what the first is, and the same as the second has it. ``mutual``:
relations that hold both ways. ``people`` and ``groups``: names of either kind."""
RELATIONS: list[list[list[Wording]]] = json.loads(
    Path(__file__).with_name("relations.json").read_text(encoding="utf-8")
)
"""Families of relations that two things may have, each in wordings that say the same; no two follow from each other."""
KINDS = ("people", "groups")
RANKS = (("first", "second"), ("first", "second"), ("earlier", "later"), ("previous", "current"), ("old", "new"))
"""Of two in a numbered list; ``listed`` of tables.json has what is numbered, what it does and the whole's name."""


def directed(rng: random.Random) -> tuple[str, list[Wording]]:
    """The kind of the two, and the wordings of one relation; both orders of ``{a}`` and ``{b}`` are among them."""
    part = rng.choices(("directed", "verbs", "scales"), (5, 3, 2))[0]
    if part == "verbs":
        kind, *verbs = rng.choice(ROLES["verbs"])
        return kind, [f"{{a}} {verb} {{b}}." for verb in verbs] + [f"{{b}} was {verb} by {{a}}." for verb in verbs]
    if part == "scales":
        above, below = rng.choice(ROLES["scales"])
        found = [f"{{a}} {words} {{b}}." for words in above] + [f"{{b}} {words} {{a}}." for words in below]
        return rng.choice(KINDS), found
    kind, predicate, *wordings = rng.choice(ROLES["directed"])
    if " " not in predicate:
        article = "an" if predicate[0] in "aeio" else "a"
        wordings += [f"The {predicate} of {{b}} is {{a}}.", f"{{a}} is {article} {predicate} of {{b}}."]
    return kind, wordings


def leads(wording: Wording) -> bool:
    return wording.index("{a}") < wording.index("{b}")


def worded(wordings: Sequence[Wording], rng: random.Random) -> tuple[Wording, Wording]:
    """Two wordings, another one where there is one; in half of the draws both have the same of the two first."""
    first = rng.choice(wordings)
    as_first = leads(first) == (rng.random() < 0.5)
    fitting = [w for w in wordings if leads(w) == as_first]
    others = [w for w in fitting if w != first]
    if others and rng.random() < 0.9:
        fitting = others
    return first, rng.choice(fitting)


def sequenced(one: str, two: str, place: str, *, agree: bool, rng: random.Random) -> tuple[str, str]:
    """Two numbered facts and a text that says which of the two comes first, on either side; or exchanged. The order in
    which the names stand is the same on both sides in half of the pairs of either kind."""
    same_order = rng.random() < 0.5
    while True:
        premise, hypothesis = _in_sequence(one, two, place, rng)
        if (_first_leads(premise, one, two) == _first_leads(hypothesis, one, two)) == same_order:
            break
    if not agree:
        other = {one: two, two: one}
        hypothesis = re.sub(f"{re.escape(one)}|{re.escape(two)}", lambda name: other[name[0]], hypothesis)
    return sentence_case(premise), sentence_case(hypothesis)


def _first_leads(text: str, one: str, two: str) -> bool:
    """Whether `one` is named before `two`; of a text that names one of them, whether it is that one, and first."""
    first, second = text.find(one), text.find(two)
    if min(first, second) >= 0:
        return first < second
    numbered_first = any(f"The {rank} " in text for rank, _ in RANKS)
    return numbered_first == (first >= 0)


def _in_sequence(one: str, two: str, place: str, rng: random.Random) -> tuple[str, str]:
    what, does, whole = rng.choice(TABLES["listed"])
    whole, ranks = whole.replace("{n}", place), rng.choice(RANKS)

    def told() -> str:
        if rng.random() < 0.35:
            said = rng.choice(TABLES["had"]).replace("{w}", what).replace("{s}", whole)
        else:
            said = rng.choice(TABLES["before"]).replace("{v}", does)
            said = f"At {whole}, {said}" if rng.random() < 0.6 else f"{said[:-1]} at {whole}."
        return said.replace("{a}", one).replace("{b}", two)

    def listed() -> list[str]:
        of = rng.choice(("of", "of", "at"))
        facts = [f"The {rank} {what} {of} {whole} is {name}." for rank, name in zip(ranks, (one, two), strict=True)]
        return facts if rng.random() < 0.7 else facts[::-1]

    chance = rng.random()
    if chance < 0.45:
        return " ".join(listed()), told()
    if chance < 0.6:
        return told(), told()
    return told(), rng.choice(listed())
