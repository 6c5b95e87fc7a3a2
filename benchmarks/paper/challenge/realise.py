"""Facts → a text: two facts per sentence, in the wordings that are asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scorer.metric.facts import Triple

from . import words
from .domains import Attribute, Domain
from .values import Value

_ARTICLE = re.compile(r"\ba (?=[aeiouAEIO])")


@dataclass(frozen=True)
class Said:
    """An attribute with its value, and how a text says it. ``clause``: a verb phrase that replaces the wording."""

    attribute: Attribute
    value: Value
    wording: int = 0
    clause: str | None = None

    def phrase(self) -> str:
        """The verb phrase."""
        clause = self.clause
        if clause is None:
            clause = self.attribute.wordings[self.wording].format(o=self.value.text)
        return _ARTICLE.sub("an ", clause)

    def with_value(self, text: str) -> Said:
        """The same with another value in the text."""
        return replace(self, clause=self.attribute.wordings[self.wording].format(o=text))


@dataclass(frozen=True)
class Record:
    """A subject and what is said of it."""

    domain: Domain
    subject: str
    facts: tuple[Said, ...]

    @property
    def triples(self) -> list[Triple]:
        """The facts."""
        return [Triple(self.subject, fact.attribute.predicate, fact.value.text) for fact in self.facts]

    @property
    def pronoun(self) -> str:
        """What stands for the subject at the beginning of a sentence."""
        if not self.domain.personal:
            return "It"
        return "She" if words.is_female(self.subject) else "He"

    def text(self, facts: Sequence[Said] | None = None, *, pronouns: bool = False, subject: str | None = None) -> str:
        """The facts, or other ones, as sentences of two clauses."""
        said = self.facts if facts is None else facts
        name = _sentence_subject(self, subject or self.subject)
        sentences = []
        for start in range(0, len(said), 2):
            clauses = " and ".join(fact.phrase() for fact in said[start : start + 2])
            sentences.append(f"{self.pronoun if pronouns and start else name} {clauses}.")
        return " ".join(sentences)


def _sentence_subject(record: Record, name: str) -> str:
    return f"The {name}" if record.domain.name == "phone" else name
