"""Made pairs about one thing: levels of scales, and values with another sign (:mod:`.values`).

Every kind draws one true and one false pair in the same way, and neither side on its own tells which it is. Names and
wordings are those of `levels.json`, made up for this; the challenge set has others. A text about a place describes it
on several scales; each level of a scale has several wordings, the metric's backoff among them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from training.general.values import Sides, sentence_case, signs, twins

_LEVELS: dict[str, Any] = json.loads(Path(__file__).with_name("levels.json").read_text(encoding="utf-8"))
NAMES: list[str] = _LEVELS["names"]
SCALES: dict[str, list[list[str]]] = _LEVELS["scales"]
"""Scale → its levels, each a list of wordings; ``{f}`` is the backoff wording up to the value."""
PLACES: dict[str, list[str]] = _LEVELS["places"]
"""Where a place is, as it follows *is* in a text → the same in other words."""
Kind = Callable[[bool, random.Random], Sides]


class Level(NamedTuple):
    """One level of a scale."""

    scale: str
    number: int

    def said(self, name: str, rng: random.Random) -> str:
        """In one of its sentences, as a text has it."""
        return _fill(rng.choice([words for words in self._wordings() if "{f}" not in words]), self.scale, name)

    def asked(self, name: str, rng: random.Random) -> str:
        """As a fact: in a sentence or by backoff."""
        return _fill(rng.choice(self._wordings()), self.scale, name)

    def _wordings(self) -> list[str]:
        return SCALES[self.scale][self.number]

    def another(self, rng: random.Random) -> Level:
        """Another level of the scale, each as likely."""
        return self._replace(number=rng.choice([i for i in range(len(SCALES[self.scale])) if i != self.number]))


def _fill(words: str, scale: str, name: str) -> str:
    return sentence_case(words.replace("{f}", f"The {scale} of {{s}} is").replace("{s}", name))


def _described(found: list[Level], name: str, place: str, rng: random.Random) -> str:
    """A text: the place's name first, then *it*; where it is stands in the first sentence or nowhere."""
    sentences = [level.said(name, rng) for level in found]
    if place:
        sentences.insert(0, _fill("{s} is " + place + ".", "", name))
    if rng.random() < 0.6:
        capital = re.escape(sentence_case(name))
        sentences[1:] = [re.sub(f"^{capital}", "It", s).replace(name, "it") for s in sentences[1:]]
    if len(sentences) > 1 and rng.random() < 0.5 and sentences[1].startswith("It "):
        sentences[:2] = [f"{sentences[0].rstrip('.')} and {sentences[1].removeprefix('It ')}"]
    return " ".join(sentences)


def levels(agree: bool, rng: random.Random) -> tuple[str, str]:
    """A text and one of its levels or its place in other words; or facts and a text; all right or one level wrong."""
    name = rng.choice(NAMES)
    # What is free to enter is in no price range.
    known = sorted(SCALES.keys() - {rng.choice(("price range", "entry fee"))})
    found = [Level(scale, rng.randrange(len(SCALES[scale]))) for scale in rng.sample(known, rng.randint(1, 5))]
    place = rng.choice(sorted(PLACES)) if rng.random() < 0.5 else ""
    text = _described(found, name, place, rng)
    if place and rng.random() < 0.2:  # text → where
        asked = place if agree else rng.choice([other for other in sorted(PLACES) if other != place])
        return text, _fill(rng.choice(PLACES[asked]), "", name)
    i = rng.randrange(len(found))
    asked_level = found[i] if agree else found[i].another(rng)
    if rng.random() < 0.6:  # text → fact
        return text, asked_level.asked(name, rng)
    facts = [level.asked(name, rng) for level in [*found[:i], asked_level, *found[i + 1 :]]]
    if place:
        facts.append(_fill(rng.choice(PLACES[place]), "", name))
    rng.shuffle(facts)
    return " ".join(facts), text


KINDS: dict[Kind, float] = {
    signs: 0.12, levels: 0.32,
}  # fmt: skip


def pairs(count: int, rng: random.Random) -> list[tuple[str, str, bool]]:
    """Premise, hypothesis and whether it is entailed; of every kind as many true ones as false ones, or one more."""
    found: list[tuple[str, str, bool]] = []
    for kind in rng.choices(list(KINDS), list(KINDS.values()), k=(count + 1) // 2):
        true, false = twins(kind, rng)
        found += [(*true, True), (*false, False)]
    return found[:count]
