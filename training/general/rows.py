"""Rows of facts and text, and where in the text each fact's value stands: one that stands there exactly once, as whole
words, can be exchanged both in the text and in the fact, so that true and false pairs differ only in their truth.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pyarrow.parquet as pq

from scorer.metric.facts import Triple
from training.general.wording import FALSE, TRUE

_TOO_NEAR = re.compile(
    r"\b(?:restaurants?|hotels?|pubs?|coffee shops?|eater(?:y|ies)|diners?|bistros?|cuisine)\b", re.IGNORECASE
)
_MARK = re.compile(r"\{[spo]\}")


def find_once(text: str, value: str) -> int:
    """Where `value` stands in `text` as whole words, letter case aside; -1 unless exactly once."""
    low, wanted = text.lower(), value.lower()
    if not wanted or len(low) != len(text):
        return -1
    places: list[int] = []
    start = low.find(wanted)
    while start >= 0 and len(places) < 2:
        end = start + len(wanted)
        before, after = low[start - 1 : start], low[end : end + 1]
        whole = not (wanted[0].isalnum() and before.isalnum()) and not (wanted[-1].isalnum() and after.isalnum())
        # "8" is not in "8.1", nor "24" in "$24,344".
        inside = wanted[-1].isdigit() and after in (".", ",") and low[end + 1 : end + 2].isdigit()
        inside = inside or (wanted[0].isdigit() and before in (".", ",") and low[start - 2 : start - 1].isdigit())
        if whole and not inside:
            places.append(start)
        start = low.find(wanted, start + 1)
    return places[0] if len(places) == 1 else -1


def exchange(text: str, old: str, new: str) -> str:
    """`text` with the one occurrence of `old` replaced."""
    at = find_once(text, old)
    return text if at < 0 else text[:at] + new + text[at + len(old) :]


HELD_OUT = ("rnnlg", "tv")
"""Source and domain that are not trained on: calibration and the shortcut test use them."""


@dataclass(frozen=True)
class Row:
    """Facts and a text that says all and only them."""

    triples: tuple[Triple, ...]
    text: str
    source: str
    domain: str

    @cached_property
    def literal(self) -> tuple[bool, ...]:
        """Per fact: its object stands in the text exactly once, and no other value holds it or is part of it."""
        values = [t.object.lower() for t in self.triples] + sorted({t.subject.lower() for t in self.triples})
        return tuple(
            find_once(self.text, t.object) >= 0
            and sum(t.object.lower() in v or v in t.object.lower() for v in values) == 1
            for t in self.triples
        )

    def with_object(self, i: int, value: str, *, text: bool = True, fact: bool = True) -> Row:
        """The row with another object of fact `i`, in its text, in its fact, or in both. Only for literal facts."""
        old = self.triples[i]
        triples = list(self.triples)
        if fact:
            triples[i] = old._replace(object=value)
        return replace(self, triples=tuple(triples), text=exchange(self.text, old.object, value) if text else self.text)

    def named(self, subject: str) -> bool:
        """Whether a subject can be exchanged: it stands in the text exactly once and is in no value."""
        low = subject.lower()
        return find_once(self.text, subject) >= 0 and not any(
            low in t.object.lower() or t.object.lower() in low for t in self.triples
        )

    def with_subject(self, old: str, new: str, *, text: bool = True, facts: bool = True) -> Row:
        """The row about another subject, in its text, in its facts, or in both."""
        triples = self.triples
        if facts:
            triples = tuple(t._replace(subject=new) if t.subject == old else t for t in triples)
        return replace(self, triples=triples, text=exchange(self.text, old, new) if text else self.text)


@dataclass(frozen=True)
class Corpus:
    """Rows by source, and what can take a value's or a name's place.

    ``objects``: (source, predicate) → objects as often as they occur. ``subjects``: (source, domain) → subjects.
    ``facts``: (source, domain) → all facts. ``shares``: (source, domain, predicate) → share of the rows that have it.
    ``templates``: predicate → sentences with ``{s}`` and ``{o}``.
    """

    rows: dict[str, list[Row]]
    objects: dict[tuple[str, str], list[str]]
    subjects: dict[tuple[str, str], list[str]]
    facts: dict[tuple[str, str], list[Triple]]
    shares: dict[tuple[str, str, str], float]
    templates: dict[str, list[str]]

    def another_object(self, row: Row, fact: Triple, rng: random.Random) -> str:
        """An object that facts of this kind have, as often as they have it; may be the same."""
        pool = self.objects[row.source, fact.predicate]
        if len(pool) < 40:  # a rare predicate: values of the same shape stand in
            pool = self.objects[row.source, shape(fact.object)]
        return rng.choice(pool)


def shape(value: str) -> str:
    """A crude kind of value: number, with a number in it, one word, several words."""
    if re.fullmatch(r"[-\d.,]+", value):
        return "#number"
    if re.search(r"\d", value):
        return "#mixed"
    return "#words" if " " in value else "#word"


def template_of(row: Row) -> str | None:
    """The text of a one-fact row with subject and object cut out, or None where that is impossible."""
    if len(row.triples) != 1 or "{" in row.text or row.text.endswith("?"):
        return None
    fact = row.triples[0]
    if not row.named(fact.subject) or not row.literal[0]:
        return None
    made = exchange(exchange(row.text, fact.subject, "{s}"), fact.object, "{o}")
    return made if sorted(_MARK.findall(made)) == ["{o}", "{s}"] else None


def corpus(rows: list[Row]) -> Corpus:
    by_source: dict[str, list[Row]] = defaultdict(list)
    objects: dict[tuple[str, str], list[str]] = defaultdict(list)
    subjects: dict[tuple[str, str], list[str]] = defaultdict(list)
    facts: dict[tuple[str, str], list[Triple]] = defaultdict(list)
    templates: dict[str, list[str]] = defaultdict(list)
    domains: Counter[tuple[str, str]] = Counter()
    holding: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        by_source[row.source].append(row)
        domains[row.source, row.domain] += 1
        holding.update((row.source, row.domain, predicate) for predicate in {t.predicate for t in row.triples})
        for fact in row.triples:
            objects[row.source, fact.predicate].append(fact.object)
            objects[row.source, shape(fact.object)].append(fact.object)
            facts[row.source, row.domain].append(fact)
        subjects[row.source, row.domain] += sorted({fact.subject for fact in row.triples})
        if row.source == "rel2text" and (made := template_of(row)):
            templates[row.triples[0].predicate].append(made)
    shares = {key: count / domains[key[:2]] for key, count in holding.items()}
    return Corpus(dict(by_source), dict(objects), dict(subjects), dict(facts), shares, dict(templates))


def read(path: Path) -> list[Row]:
    """The rows of the Parquet file, without those that speak of E2E's domain: it shall stay unseen."""
    table = [row for row in pq.read_table(path).to_pylist() if not _TOO_NEAR.search(row["text"])]
    return [
        Row(tuple(Triple(t["subject"], t["predicate"], t["object"]) for t in row["triples"]), row["text"],
            row["source"], row["domain"])
        for row in table
    ]  # fmt: skip


def is_boolean(value: str) -> bool:
    return value.lower() in TRUE | FALSE


def negated(value: str) -> str:
    """The other of yes and no, true and false, in the same letter case."""
    other = {"true": "false", "false": "true", "yes": "no", "no": "yes"}[value.lower()]
    return other.capitalize() if value[0].isupper() else other


def parts(found: list[Row]) -> tuple[list[Row], list[Row]]:
    """Rows to train on, and those of the held-out domain."""
    held = [(row.source, row.domain) == HELD_OUT for row in found]
    return [r for r, out in zip(found, held, strict=True) if not out], [
        r for r, out in zip(found, held, strict=True) if out
    ]
