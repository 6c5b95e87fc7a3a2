"""Who did what to whom: relations between two of one type, each in wordings with either of them first.

What two sentences say must not show in the order of their names: a passive turns it, and so does another agent. In
half of the true pairs and in half of the false ones the names stand in one order on both sides.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.general.telling import Wording

ROLES: dict[str, Any] = json.loads(Path(__file__).with_name("roles.json").read_text(encoding="utf-8"))
"""``directed``: kind of the two, what the first is of the second, wordings. ``verbs``: kind, and verbs of one meaning
whose participles are their past. ``scales``: what the first is, and the same as the second has it. ``mutual``:
relations that hold both ways. ``people`` and ``groups``: names of either kind."""
RELATIONS: list[list[list[Wording]]] = json.loads(
    Path(__file__).with_name("relations.json").read_text(encoding="utf-8")
)
"""Families of relations that two things may have, each in wordings that say the same; no two follow from each other."""
KINDS = ("people", "groups")
CLEFTS = ("It is {x} that {rest}", "{x} is the one that {rest}")
CLEFT_SHARE = 0.15


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
    """Whether ``{a}`` stands before ``{b}``."""
    return wording.index("{a}") < wording.index("{b}")


def worded(wordings: Sequence[Wording], rng: random.Random) -> tuple[Wording, Wording]:
    """Two wordings, another one where there is one; in half of the draws both have the same of the two first."""
    first = rng.choice(wordings)
    as_first = leads(first) == (rng.random() < 0.5)
    fitting = [w for w in wordings if leads(w) == as_first]
    others = [w for w in fitting if w != first]
    if others and rng.random() < 0.9:
        fitting = others
    return _cleft(first, rng), _cleft(rng.choice(fitting), rng)


def _cleft(wording: Wording, rng: random.Random) -> Wording:
    """Now and then as a cleft sentence: the first of the two is named as the one."""
    name, rest = wording.split(" ", 1)
    if name not in ("{a}", "{b}") or rng.random() >= CLEFT_SHARE:
        return wording
    return rng.choice(CLEFTS).replace("{x}", name).replace("{rest}", rest)
