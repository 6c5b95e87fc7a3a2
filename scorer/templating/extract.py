"""Make candidate templates from references, with counts, and report how much of the data they cover."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from ..metric.triples import Triple
from .document import ExtractionCounts
from .matching import delexicalise, is_boolean
from .references import References

Key = tuple[str, str | None]
"""The key of a template: a predicate, and for yes-or-no predicates also the object."""


@dataclass
class Candidate:
    """A template and its origin. ``count``: number of references that give it. ``sources``: the distinct ones.

    ``score``: set by a choice that computes one, otherwise ``None``.
    """

    template: str
    count: int = 0
    sources: list[tuple[Triple, str]] = field(default_factory=list)
    score: float | None = None


@dataclass
class Extraction:
    """``candidates``: by predicate (and object), in the order of the data. ``references``: by key, all distinct ones
    that are usable or used, for the choice. ``report``: counts of both."""

    candidates: dict[Key, list[Candidate]]
    references: dict[Key, list[tuple[Triple, str]]]
    report: ExtractionCounts


def extract(references: References) -> Extraction:
    """Delexicalise all references: replace subject and object by slots.

    The report: ``references`` {``all``, ``used``, ``share``, ``rejected`` {reason: n}}, ``predicates`` {``all``,
    ``usable``, ``covered``, ``usable_covered``, ``share``, ``missing``}, ``candidates``. A predicate is *usable* if one
    of its references is (:func:`is_usable`), which does not depend on the matching; ``share`` is the share of usable
    predicates that have a template.
    """
    found: dict[Key, dict[str, Candidate]] = {}
    others: dict[Key, list[tuple[Triple, str]]] = {}
    rejected, used = Counter(references.rejected), 0
    predicates: dict[str, bool] = {}
    for (triple, text), count in references.counts.items():
        if triple.predicate.startswith("$"):  # keys like "$aliases" are settings of a template file
            rejected["reserved_predicate"] += count
            continue
        key = key_of(triple)
        usable = is_usable(triple, text)
        predicates[triple.predicate] = predicates.get(triple.predicate, False) or usable
        outcome = delexicalise(triple, text)
        if outcome.template is None:
            rejected[outcome.reason or ""] += count
        else:
            used += count
            candidate = found.setdefault(key, {}).setdefault(outcome.template, Candidate(outcome.template))
            candidate.count += count
            candidate.sources.append((triple, text))
        if usable or outcome.template is not None:
            others.setdefault(key, []).append((triple, text))
    candidates = {key: list(by_template.values()) for key, by_template in found.items()}
    covered = {predicate for predicate, _ in candidates}
    usable_ones = {predicate for predicate, usable in predicates.items() if usable}
    report: ExtractionCounts = {
        "references": {
            "all": references.rows,
            "used": used,
            "share": _share(used, references.rows),
            "rejected": dict(rejected.most_common()),
        },
        "predicates": {
            "all": len(predicates),
            "usable": len(usable_ones),
            "covered": len(covered),
            "usable_covered": len(usable_ones & covered),
            "share": _share(len(usable_ones & covered), len(usable_ones)),
            "missing": sorted(predicates.keys() - covered),
        },
        "candidates": sum(len(choices) for choices in candidates.values()),
    }
    return Extraction(candidates, others, report)


def key_of(triple: Triple) -> Key:
    """The predicate, and for a yes-or-no object also the object in the spelling of the template file."""
    return triple.predicate, triple.object.strip("\"'") if is_boolean(triple.object) else None


def is_usable(triple: Triple, text: str) -> bool:
    """Whether a reference names enough of both entities for a template to be expected.

    True if at least half of the words of each entity occur in the text, in any order and position. Words are runs of
    letters or digits, in lower case without diacritics; only those of three or more characters count if an entity has
    any; its parentheses are left out. This is less strict than the matching, and shares no code with it.
    """
    there = set(_words(text))
    sides = (triple.subject,) if is_boolean(triple.object) else (triple.subject, triple.object)
    for side in sides:
        words = _words(re.sub(r"\([^()]*\)", " ", side)) or _words(side)
        words = [word for word in words if len(word) > 2] or words
        if 2 * sum(word in there for word in words) < len(words) or not words:
            return False
    return True


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text).casefold()
    return re.findall(r"[^\W_]+", "".join(c for c in plain if not unicodedata.combining(c)))


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
