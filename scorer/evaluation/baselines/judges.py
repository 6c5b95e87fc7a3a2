"""The baselines that label rows, each with the output columns of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...errors import ColumnError
from ...metric.columns import OUTPUT, to_columns
from ...metric.rows import Rows
from ...metric.triples import Triple, iterate
from ...metric.verdict import EMPTY_TEXT, Verdicts
from . import e2e_slots, entities, keywords

SLOT_COLUMNS = ("slots_missing", "slots_added", "slots_wrong", "slots_repeated", "slot_error_rate")
ALIASES = {
    "eat_type": "eatType",
    "price_range": "priceRange",
    "family_friendly": "familyFriendly",
    "rating": "customer rating",
    "customer_rating": "customer rating",
    "customerRating": "customer rating",
}
"""Other spellings of E2E slots."""
E2E_SLOTS = frozenset({"eatType", "food", "priceRange", "customer rating", "area", "familyFriendly", "near"})


class Judge(Protocol):
    """A baseline: adds its columns to a window of rows."""

    name: str
    depends_on: str
    """The end of its signature: what the scores depend on besides the row."""
    settings: Mapping[str, object]
    """All that it was given, in the types of JSON: of a run's plan, and of the fingerprint of each shard."""
    keeps_labels: bool
    """Whether it adds its own columns alone to the output of a run, so that both are in one file."""
    needs_triples: bool
    """Whether it looks into triples, so that facts as sentences are refused."""

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        """The output columns of a run in order, then the baseline's own columns. *Shape:* (rows,) each."""
        ...


class SlotsJudge:
    """The E2E slot matcher; ``confidence`` is one minus the slot error rate, at least 0.

    ``as_gold``: see :func:`scorer.evaluation.baselines.e2e_slots.judge`; part of the signature.
    """

    depends_on = ""
    keeps_labels = False
    needs_triples = True

    def __init__(self, *, as_gold: bool = False) -> None:
        self.as_gold = as_gold
        self.settings: Mapping[str, object] = {"as_gold": as_gold}
        self.name = "e2e-slots-as-gold" if as_gold else "e2e-slots"

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        verdicts = nothing_said(rows)
        counts = np.zeros((len(rows), len(SLOT_COLUMNS)))
        seen: dict[tuple[bytes, str], e2e_slots.SlotErrors] = {}
        for r, triples, text in _judged(rows):
            slots = _named(triples)
            if not any(triple.predicate in E2E_SLOTS for triple in slots):
                raise ColumnError(
                    f"row {r} has no E2E slot but {triples[0].predicate!r}; this baseline knows {', '.join(E2E_SLOTS)}"
                )
            start, end = rows.triples.offsets[r : r + 2]
            key = (rows.triples.ids[start:end].tobytes(), text)
            found = seen.get(key)
            if found is None:
                found = seen[key] = e2e_slots.judge(slots, text, as_gold=self.as_gold)
            absent = found.missing + found.wrong
            _fill(verdicts, r, rows, absent, found.omission, found.hallucination, max(0.0, 1 - found.rate))
            verdicts.text_entailment[r] = not found.hallucination
            counts[r] = (
                len(found.missing) + (found.name == "missing"),
                len(found.added),
                len(found.wrong) + (found.name == "wrong"),
                found.repeated,
                found.rate,
            )
        without = np.zeros(len(rows), bool)
        without[list(verdicts.errors)] = True
        extra = [
            (name, pa.array(counts[:, c].astype(np.float32 if c == 4 else np.int16), mask=without))
            for c, name in enumerate(SLOT_COLUMNS)
        ]
        return [*output_columns(rows, verdicts), *extra]


class _Presence:
    """A baseline that looks for something of the facts in the text: it has no hallucination side."""

    depends_on = ""
    settings: Mapping[str, object] = MappingProxyType({})
    needs_triples = True

    def said(self, triples: list[Triple], text: str) -> tuple[list[bool], float]:
        """Whether each fact is said, and the confidence."""
        raise NotImplementedError

    def verdicts(self, rows: Rows) -> Verdicts:
        """The verdicts of all rows."""
        verdicts = nothing_said(rows)
        for r, triples, text in _judged(rows):
            there, confidence = self.said(triples, text)
            absent = [position for position, found in enumerate(there) if not found]
            _fill(verdicts, r, rows, absent, bool(absent), False, confidence)
        return verdicts


class KeywordsJudge(_Presence):
    """Finds values in the text; ``confidence`` is the share of facts found."""

    name = "keywords"
    keeps_labels = False

    def said(self, triples: list[Triple], text: str) -> tuple[list[bool], float]:
        there = keywords.present(_named(triples), text)
        return there, sum(there) / len(there)

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        return output_columns(rows, self.verdicts(rows))


class EntitiesJudge(_Presence):
    """Looks for the subjects and objects in the text; ``confidence`` is the share of them that is found, as is the
    column ``entities``. A fact is said if both its subject and its object are found. Output columns of a run in the
    input are kept."""

    name = "entities"
    keeps_labels = True

    def said(self, triples: list[Triple], text: str) -> tuple[list[bool], float]:
        there = entities.found(triples, text)
        facts = [there[triple.subject] and there[triple.object] for triple in triples]
        return facts, sum(there.values()) / len(there)

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        verdicts = self.verdicts(rows)
        share = pa.array(verdicts.confidence, mask=np.isnan(verdicts.confidence))
        return [*([] if is_scored(table.schema) else output_columns(rows, verdicts)), (self.name, share)]


def is_scored(schema: pa.Schema) -> bool:
    """Whether a table has the output columns of a run."""
    return set(OUTPUT.names) <= set(schema.names)


def output_columns(rows: Rows, verdicts: Verdicts) -> list[tuple[str, pa.Array]]:
    """The output columns of a run, in order. *Shape:* (rows,) each."""
    return list(zip(OUTPUT.names, to_columns(rows, verdicts), strict=True))


def _named(triples: list[Triple]) -> list[Triple]:
    """E2E slots by their own names."""
    return [triple._replace(predicate=ALIASES.get(triple.predicate, triple.predicate)) for triple in triples]


def _judged(rows: Rows) -> Iterator[tuple[int, list[Triple], str]]:
    """Row number, triples and text of all rows without an error."""
    for r, triples in enumerate(iterate(rows.triples)):
        text = rows.text_of(r)
        if r not in rows.errors and text is not None:
            yield r, triples, text


def nothing_said(rows: Rows) -> Verdicts:
    """Verdicts that say nothing yet; errors of the rows, and a note for blank texts."""
    n, facts = len(rows), len(rows.triples.ids)
    blank = [r for r in range(n) if r not in rows.errors and not (rows.text_of(r) or "").strip()]
    return Verdicts(
        fine=np.full(n, -1, np.int8),
        confidence=np.full(n, np.nan, np.float32),
        text_entailment=np.full(n, np.nan, np.float32),
        all_facts_entailment=np.full(n, np.nan, np.float32),
        fact_entailment=np.full(facts, np.nan, np.float32),
        sentence_entailment=np.zeros(0, np.float32),
        omitted=np.zeros(facts, bool),
        omission_known=np.zeros(n, bool),
        facts_checked=np.zeros(n, bool),
        errors=dict(rows.errors),
        notes=dict.fromkeys(blank, EMPTY_TEXT),
    )


def _fill(
    verdicts: Verdicts, row: int, rows: Rows, absent: list[int], omission: bool, hallucination: bool, confidence: float
) -> None:
    start, end = rows.triples.offsets[row : row + 2]
    said: npt.NDArray[np.float32] = np.ones(end - start, np.float32)
    said[absent] = 0.0
    verdicts.fact_entailment[start:end] = said
    verdicts.omitted[start:end] = said == 0
    verdicts.fine[row] = omission + 2 * hallucination
    verdicts.confidence[row] = confidence
    verdicts.omission_known[row] = verdicts.facts_checked[row] = True
