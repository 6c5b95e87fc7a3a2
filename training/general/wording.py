"""Facts in words: by backoff, by plain patterns, by sentences; and several of them as a text.

Sentences come from two places: the patterns of ``wordings.json``, written for this project, and, for data whose
texts say one fact, those texts with subject and object cut out: a template for other facts of the predicate.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scorer.metric.fact_templates import Templates
from scorer.metric.facts import Triple
from training.general.values import sentence_case

_FILE: dict[str, Any] = json.loads(Path(__file__).with_name("wordings.json").read_text(encoding="utf-8"))
NAMES: dict[str, str] = _FILE["names"]
"""Predicates of the training data that run words together."""
BOOLEANS: dict[str, list[str]] = _FILE["booleans"]
"""Predicate → the sentences for yes and for no."""
DATES: dict[str, list[str]] = _FILE["dates"]
NUMBERS: dict[str, list[str]] = _FILE["numbers"]
"""Predicate → sentences that :func:`.contests.quantity` adds to texts."""
SENTENCES: dict[str, list[str]] = _FILE["sentences"] | DATES | NUMBERS
"""Predicate → sentences."""
TRUE = frozenset({"true", "yes"})
FALSE = frozenset({"false", "no"})
PATTERNS = (
    "{s} has {p} {o}.", "{s}'s {p} is {o}.", "{o} is the {p} of {s}.", "{s}: {p} {o}.", "{s} | {p} | {o}",
    "For {s}, the {p} is {o}.", "{s} {p} {o}.",
)  # fmt: skip
Wording = str
"""A sentence with ``{s}`` and ``{o}``, or ``{a}`` and ``{b}``."""
Said = tuple[str, Wording, str]
"""Subject, wording and object of a fact."""
PRONOUNS = (("It", "Its"), ("He", "His"), ("She", "Her"))
_BACKOFF = Templates()
_CAMEL = re.compile(r"([a-z])([A-Z])")
# Beginnings of wordings that can be denied: forms of *to be* and modal verbs, *has*, and verbs in the present whose
# infinitive is known from the ending (*contains*, *makes*; not *goes* or *carries*).
_TO_BE = re.compile(r"((?:The [^{}]+ of \{s\}|\{s\}'s [^{}]+|\{s\}) (?:is|was|are|were|can|could|will|would)) (?=.)")
_HAS = re.compile(r"\{s\} (?:(has)|had) (?!be|\w+(?:ed|en|wn|on|ng) )(?=.)")
_PRESENT = re.compile(r"\{s\} ((?!ha|wa)[a-z]+[^sieo\W]|[a-z]+(?:ak|at|iv|iz|ar|as|id|uc|ud|in|ag)e)s (?=.)")


def fill(wording: Wording, subject: str, value: str) -> str:
    """The sentence with its names in place, in one pass, so that braces in a name stay characters."""
    return sentence_case(re.sub(r"\{[saob]\}", lambda mark: subject if mark[0] in ("{s}", "{a}") else value, wording))


def spoken(predicate: str) -> str:
    """A predicate as words."""
    return NAMES.get(predicate) or _CAMEL.sub(r"\1 \2", predicate).replace("_", " ")


def backoff(fact: Triple) -> str:
    """``The <predicate> of <subject> is <object>.``, exactly as the metric words it."""
    return _BACKOFF.fill(Triple(fact.subject, NAMES.get(fact.predicate, fact.predicate), fact.object)).text


def sentence(fact: Triple, extracted: Mapping[str, list[str]], rng: random.Random) -> str:
    """A natural sentence; backoff where none is known for the predicate."""
    if fact.predicate in BOOLEANS and fact.object.lower() in TRUE | FALSE:
        return _fill(BOOLEANS[fact.predicate][fact.object.lower() in FALSE], fact)
    known = extracted.get(fact.predicate) or SENTENCES.get(fact.predicate)
    return _fill(rng.choice(known), fact) if known else backoff(fact)


def _fill(pattern: str, fact: Triple) -> str:
    parts = {"{s}": fact.subject, "{p}": spoken(fact.predicate), "{o}": fact.object}
    return re.sub(r"\{[spo]\}", lambda found: parts[found.group()], pattern)


class Worder:
    """Words the facts of one pair in one style: backoff, patterns, or sentences."""

    def __init__(self, extracted: Mapping[str, list[str]], rng: random.Random) -> None:
        self._extracted, self._rng = extracted, rng
        self._style = rng.random()

    def __call__(self, fact: Triple) -> str:
        if self._style < 0.4:
            return backoff(fact)
        if self._style < 0.55:
            return _fill(self._rng.choice(PATTERNS), fact)
        return sentence(fact, self._extracted, self._rng)


def told(facts: Sequence[Said], rng: random.Random) -> str:
    """The sentences of the facts. Of two in a row that begin with one name, in most texts the second has a pronoun,
    and in some the two are one sentence."""
    pronouns = {name: rng.choice(PRONOUNS) for name, *_ in facts} if rng.random() < 0.7 else {}
    joins = rng.random() < 0.4
    sentences: list[str] = []
    topic, open_clause = None, False
    for name, wording, value in facts:
        begins, clause = wording.startswith("{s}"), wording.startswith("{s} ") and wording.endswith(".")
        if joins and open_clause and clause and name == topic:
            sentences[-1] = f"{sentences[-1][:-1]} and {fill(wording, '', value).lstrip()}"
            open_clause = False
            continue
        if name == topic and name in pronouns:
            wording = _referring(wording, *pronouns[name])
        sentences.append(fill(wording, name, value))
        topic, open_clause = name if begins or name == topic else None, clause
    return " ".join(sentences)


def denial(wording: Wording) -> Wording | None:
    """The wording that says the opposite, or None where none is known."""
    for pattern, opposite in (
        (_TO_BE, r"\1 not "), (_HAS, lambda m: f"{{s}} {'does' if m[1] else 'did'} not have "),
        (_PRESENT, r"{s} does not \1 "),
    ):  # fmt: skip
        if pattern.match(wording) and not re.search(r"\b(?:not|never|no|and|but|only|also)\b", wording):
            return pattern.sub(opposite, wording, count=1)
    return None


def _referring(wording: Wording, it: str, its: str) -> Wording:
    """The wording with a pronoun for a subject that begins it, or that has what begins it."""
    wording = re.sub(r"^The ([^{}]+) of \{s\} ", rf"{its} \1 ", wording)
    wording = re.sub(r"^\{s\}'s ", f"{its} ", wording)
    return re.sub(r"^\{s\} ", f"{it} ", wording)
