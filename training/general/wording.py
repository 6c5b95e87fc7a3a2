"""Facts in words: backoff as the metric has it, plain patterns, and sentences.

Sentences come from two places: the patterns of ``wordings.json``, written for this project, and, for data whose
texts say one fact, those texts with subject and object cut out: a template for other facts of the predicate.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scorer.metric.facts import Triple
from scorer.metric.templates import Templates

_FILE: dict[str, Any] = json.loads(Path(__file__).with_name("wordings.json").read_text(encoding="utf-8"))
NAMES: dict[str, str] = _FILE["names"]
"""Predicates of the training data that run words together."""
BOOLEANS: dict[str, list[str]] = _FILE["booleans"]
"""Predicate → the sentences for yes and for no."""
DATES: dict[str, list[str]] = _FILE["dates"]
NUMBERS: dict[str, list[str]] = _FILE["numbers"]
"""Predicate → sentences that :mod:`.quantities` adds to texts."""
SENTENCES: dict[str, list[str]] = _FILE["sentences"] | DATES | NUMBERS
"""Predicate → sentences."""
TRUE = frozenset({"true", "yes"})
FALSE = frozenset({"false", "no"})
PATTERNS = (
    "{s} has {p} {o}.", "{s}'s {p} is {o}.", "{o} is the {p} of {s}.", "{s}: {p} {o}.", "{s} | {p} | {o}",
    "For {s}, the {p} is {o}.", "{s} {p} {o}.",
)  # fmt: skip
_BACKOFF = Templates()
_CAMEL = re.compile(r"([a-z])([A-Z])")


def _fill(pattern: str, subject: str, predicate: str, obj: str) -> str:
    """One pass, so that braces in a value stay characters."""
    parts = {"{s}": subject, "{p}": predicate, "{o}": obj}
    return re.sub(r"\{[spo]\}", lambda found: parts[found.group()], pattern)


def sentence_case(text: str) -> str:
    """With a capital letter in front."""
    return text[0].upper() + text[1:]


def spoken(predicate: str) -> str:
    """A predicate as words."""
    return NAMES.get(predicate) or _CAMEL.sub(r"\1 \2", predicate).replace("_", " ")


def backoff(fact: Triple) -> str:
    """``The <predicate> of <subject> is <object>.``, exactly as the metric words it."""
    return _BACKOFF.fill(Triple(fact.subject, NAMES.get(fact.predicate, fact.predicate), fact.object)).text


def pattern(fact: Triple, rng: random.Random) -> str:
    """One of the plain patterns."""
    return _fill(rng.choice(PATTERNS), fact.subject, spoken(fact.predicate), fact.object)


def sentence(fact: Triple, extracted: Mapping[str, list[str]], rng: random.Random) -> str:
    """A natural sentence; a plain pattern where none is known for the predicate."""
    if fact.predicate in BOOLEANS and fact.object.lower() in TRUE | FALSE:
        return _fill(BOOLEANS[fact.predicate][fact.object.lower() in FALSE], fact.subject, "", fact.object)
    known = extracted.get(fact.predicate) or SENTENCES.get(fact.predicate)
    if not known:
        return backoff(fact)
    return _fill(rng.choice(known), fact.subject, "", fact.object)


class Worder:
    """Words the facts of one pair in one style: backoff, patterns, or sentences."""

    def __init__(self, extracted: Mapping[str, list[str]], rng: random.Random) -> None:
        self._extracted, self._rng = extracted, rng
        self._style = rng.random()

    def __call__(self, fact: Triple) -> str:
        if self._style < 0.4:
            return backoff(fact)
        if self._style < 0.55:
            return pattern(fact, self._rng)
        return sentence(fact, self._extracted, self._rng)
