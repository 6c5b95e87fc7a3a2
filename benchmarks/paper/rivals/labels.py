"""The rivals that label rows. Keywords, where a fact is said if its value, or a common synonym, is in the text, and
entities find no hallucinations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa

from benchmarks.paper.rivals import e2e_slots, entities
from benchmarks.paper.rivals.e2e_slots import WORDS
from scorer.errors import ColumnError
from scorer.metric.facts import Triple
from scorer.metric.verdict import FINE

E2E_SLOTS = frozenset({"eatType", "food", "priceRange", "customer rating", "area", "familyFriendly", "near"})
_LABELS = {
    "fine": pa.string(), "confidence": pa.float32(), "fact_entailment": pa.list_(pa.float32()),
    "text_entailment": pa.float32(), "omitted": pa.list_(pa.int32()), "error": pa.string(),
}  # fmt: skip
_QUOTES = re.compile(r"^[\"']|[\"']$")


class Label(NamedTuple):
    """``omitted``: positions of the facts that are missing or have another value. ``hallucination``: whether something
    is added or wrong. ``value``: the metric of the row, 0 to 1. ``error_rate``: the slot error rate, of ``e2e-slots``.
    """

    omitted: list[int]
    omission: bool
    hallucination: bool
    value: float
    error_rate: float | None = None


Judge = Callable[[Sequence[Triple], str], Label]
Facts = Sequence[Triple] | None


def by_slots(triples: Sequence[Triple], text: str) -> Label:
    """One minus the slot error rate, at least 0; a ColumnError if no predicate is an E2E slot."""
    slots = _named(triples)
    if not any(triple.predicate in E2E_SLOTS for triple in slots):
        raise ColumnError(f"no E2E slot but {triples[0].predicate!r}; e2e-slots knows {', '.join(sorted(E2E_SLOTS))}")
    found = e2e_slots.judge(slots, text)
    omitted = sorted(found.missing + found.wrong)
    return Label(omitted, found.omission, found.hallucination, max(0.0, 1 - found.rate), found.rate)


def by_keywords(triples: Sequence[Triple], text: str) -> Label:
    plain = _plain(text)
    said = [any(keyword in plain for keyword in _keywords(triple)) for triple in _named(triples)]
    omitted = [position for position, found in enumerate(said) if not found]
    return Label(omitted, bool(omitted), False, sum(said) / len(said))


def by_entities(triples: Sequence[Triple], text: str) -> Label:
    there = entities.found(triples, text)
    omitted = [at for at, triple in enumerate(triples) if not (there[triple.subject] and there[triple.object])]
    return Label(omitted, bool(omitted), False, sum(there.values()) / len(there))


def label_rows(facts: Sequence[Facts], texts: Sequence[str | None], judge: Judge) -> list[Label | None]:
    """Labels of rows, equal rows judged once; ``None`` without a text or a fact."""
    once = cache(judge)
    rows = zip(facts, texts, strict=True)
    return [once(tuple(triples), text) if triples and text is not None else None for triples, text in rows]


def as_columns(
    name: str, labels: Sequence[Label | None], facts: Sequence[Facts], *, scored: bool
) -> dict[str, pa.Array]:
    """The metric's own column, and ``slot_error_rate``; unless the rows have labels of a run, also those that
    ``scorer evaluate`` compares with gold; entailment is 0 or 1."""
    own = name.replace("-", "_")
    kinds = {own: pa.float32()} | ({"slot_error_rate": pa.float32()} if name == "e2e-slots" else {})
    rows: list[dict[str, Any]] = []
    for label, triples in zip(labels, facts, strict=True):
        if label is None or triples is None:
            rows.append({"error": "no_text_or_facts"})
            continue
        seen = label.error_rate is not None  # hallucinations are
        rows.append({
            own: label.value, "slot_error_rate": label.error_rate, "confidence": label.value, "omitted": label.omitted,
            "fine": FINE[label.omission + 2 * label.hallucination],
            "fact_entailment": [float(at not in label.omitted) for at in range(len(triples))],
            "text_entailment": float(not label.hallucination) if seen else None,
        })  # fmt: skip
    table = pa.Table.from_pylist(rows, pa.schema(kinds if scored else kinds | _LABELS))
    return {column: table[column].combine_chunks() for column in table.column_names}


def _named(triples: Sequence[Triple]) -> list[Triple]:
    names = WORDS["other_slot_names"]
    return [triple._replace(predicate=names.get(triple.predicate, triple.predicate)) for triple in triples]


def _keywords(triple: Triple) -> list[str]:
    value = _QUOTES.sub("", triple.object.strip()).replace("_", " ")
    own = [] if triple.predicate == "familyFriendly" else [value]
    return [_plain(word) for word in (*own, *WORDS["synonyms"].get(triple.predicate, {}).get(triple.object, ()))]


def _plain(text: str) -> str:
    """Normalised, hyphens as blanks, and a blank at both ends, so that a match begins where a word begins."""
    return " " + e2e_slots.normalise(text).replace("-", " ")
