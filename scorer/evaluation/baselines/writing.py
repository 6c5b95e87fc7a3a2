"""Run a baseline over input files and write one Parquet file with a run's output columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...errors import ColumnError, InputError, OutputError
from ...metric.columns import OUTPUT, to_columns
from ...metric.inputs import ColumnNames, InputColumns, find_columns
from ...metric.rows import Rows
from ...metric.triples import Triple, decode, iterate
from ...metric.verdict import EMPTY_TEXT, Verdicts
from ...scoring.signature import Signature
from ...storage import ShardReader, ShardWriter, resolve_inputs
from ...storage.user_files import staged
from . import e2e_slots, keywords, overlap

REVISION = 1
"""Part of the signature; increased whenever a baseline's labels change."""
WINDOW_ROWS, WINDOW_BYTES = 16384, 32 << 20

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

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        """The output columns of a run in order, then the baseline's own columns. *Shape:* (rows,) each."""
        ...


def write(
    inputs: Iterable[str],
    out: Path,
    judge: Judge,
    names: ColumnNames,
    progress: Callable[[int], None] = lambda rows: None,
) -> int:
    """Score all rows of the inputs in order and write them to one Parquet file. Returns the number of rows written.

    Raises:
        InputError: nothing to read, or inputs of different columns.
        ColumnError: a column is missing, or has the name of an output column.
        OutputError: the file cannot be written, or is one of the inputs.
    """
    writer: ShardWriter | None = None
    rows, first = 0, None
    files = resolve_inputs(list(inputs))
    with staged(out, "--out") as place, ShardReader() as reader:
        try:
            for file in files:
                if Path(file.uri.removeprefix("file://")).resolve() == out.resolve():
                    raise OutputError(f"--out {out} is the input itself; name another file")
                info = reader.probe(file.uri)
                first = first or info.schema
                if info.schema.names != first.names or info.schema.types != first.types:
                    raise InputError(f"{file.uri} has other columns than the inputs before it; run them one at a time")
                for table in _windows(reader, file.uri, info.schema, names, judge):
                    if writer is None:
                        writer = ShardWriter(place, table.schema, metadata=_signature(judge, first).footer)
                    writer.write(table)
                    rows += len(table)
                    progress(len(table))
            if writer is not None:
                writer.commit()
                writer = None
        finally:
            if writer is not None:
                writer.abandon()
    return rows


class SlotsJudge:
    """The E2E slot matcher; ``confidence`` is one minus the slot error rate, at least 0.

    ``as_gold``: see :func:`scorer.evaluation.baselines.e2e_slots.judge`; part of the signature.
    """

    def __init__(self, *, as_gold: bool = False) -> None:
        self.as_gold = as_gold
        self.name = "e2e-slots-as-gold" if as_gold else "e2e-slots"

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        verdicts = _nothing(rows)
        counts = np.zeros((len(rows), len(SLOT_COLUMNS)))
        seen: dict[tuple[bytes, str], e2e_slots.SlotErrors] = {}
        for r, triples, text in _judged(rows):
            slots = _named(triples)
            if not any(triple.predicate in E2E_SLOTS for triple in slots):
                raise ColumnError(
                    f"row {r} has no E2E slot but {triples[0].predicate!r}; this baseline knows {', '.join(E2E_SLOTS)}"
                )
            start, end = rows.triples.offsets[r], rows.triples.offsets[r + 1]
            key = (rows.triples.ids[start:end].tobytes(), text)
            found = seen.get(key)
            if found is None:
                found = seen[key] = e2e_slots.judge(slots, text, as_gold=self.as_gold)
            absent = found.missing + found.wrong
            _fill(verdicts, r, start, end, absent, found.omission, found.hallucination, max(0.0, 1 - found.rate))
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
        return [*zip(OUTPUT.names, to_columns(rows, verdicts), strict=True), *extra]


class KeywordsJudge:
    """Finds values in the text; ``confidence`` is the share of facts found, and there is no hallucination side."""

    name = "keywords"

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        verdicts = _nothing(rows)
        for r, triples, text in _judged(rows):
            start, end = rows.triples.offsets[r], rows.triples.offsets[r + 1]
            there = keywords.present(_named(triples), text)
            absent = [position for position, found in enumerate(there) if not found]
            _fill(verdicts, r, start, end, absent, bool(absent), False, sum(there) / len(there))
        return list(zip(OUTPUT.names, to_columns(rows, verdicts), strict=True))


class OverlapJudge:
    """Scores against references, without labels. Output columns of a run in the input are kept, so that both kinds of
    scores can be in one file."""

    name = "overlap"

    def __init__(self, text: str, references: str) -> None:
        self.text, self.references = text, references
        self.metric = overlap.Overlap()

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        for name in (self.text, self.references):
            if name not in table.schema.names:
                raise ColumnError(f"no column {name!r}; overlap needs texts, and a list of references for each row")
        found = self.metric.scores([rows.text_of(r) for r in range(len(rows))], self._references(table))
        extra = [
            (name, pa.array(found[:, c].astype(np.float32), mask=np.isnan(found[:, c])))
            for c, name in enumerate(overlap.COLUMNS)
        ]
        if _is_scored(table.schema):
            return extra
        return [*zip(OUTPUT.names, to_columns(rows, _nothing(rows)), strict=True), *extra]

    def _references(self, table: pa.Table) -> list[list[str] | None]:
        """The references of each row, those left out that are no UTF-8: Parquet strings are not checked on reading."""
        kind = table.schema.field(self.references).type
        lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if not lists or not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
            raise ColumnError(f"column {self.references!r} is {kind}, but references are list<string>")
        found: list[list[str] | None] = []
        for references in table[self.references].cast(pa.large_list(pa.large_binary())).to_pylist():
            decoded = [decode(reference) for reference in references or () if reference is not None]
            found.append(None if references is None else [text for text in decoded if text is not None])
        return found


def _windows(reader: ShardReader, uri: str, schema: pa.Schema, names: ColumnNames, judge: Judge) -> Iterator[pa.Table]:
    columns = _input_columns(schema, names, judge)
    for table in reader.windows(uri, max_rows=WINDOW_ROWS, max_bytes=WINDOW_BYTES):
        yield add_columns(table, judge.columns(columns.rows(table), table)).replace_schema_metadata(None)


def add_columns(table: pa.Table, added: list[tuple[str, pa.Array]]) -> pa.Table:
    """A table with the columns of a baseline behind its own.

    Raises:
        ColumnError: it has a column of such a name.
    """
    for name, array in added:
        if name in table.schema.names:
            raise ColumnError(f"the input has a column {name!r}, which this baseline writes; leave it out")
        table = table.append_column(name, array)
    return table


def _input_columns(schema: pa.Schema, names: ColumnNames, judge: Judge) -> InputColumns:
    if isinstance(judge, OverlapJudge) and _is_scored(schema):
        names = replace(names, keep=tuple(name for name in schema.names if name not in OUTPUT.names))
    return inputs_of(judge, schema, names)


def inputs_of(judge: Judge, schema: pa.Schema, names: ColumnNames) -> InputColumns:
    """The columns that a baseline reads.

    Raises:
        ColumnError: as a run; the facts are sentences, and the baseline looks into triples.
    """
    found = find_columns(schema, names)
    return found if isinstance(judge, OverlapJudge) else found.with_triples(f"the baseline {judge.name} needs triples")


def _is_scored(schema: pa.Schema) -> bool:
    return set(OUTPUT.names) <= set(schema.names)


def _signature(judge: Judge, schema: pa.Schema) -> Signature:
    """That of the baseline; where a run's labels are kept, the run's own."""
    earlier = Signature.of_footer(schema.metadata)
    if isinstance(judge, OverlapJudge) and _is_scored(schema) and earlier.line:
        return earlier
    return Signature(f"baseline:{judge.name}|metric:{REVISION}")


def _named(triples: list[Triple]) -> list[Triple]:
    """E2E slots by their own names."""
    return [triple._replace(predicate=ALIASES.get(triple.predicate, triple.predicate)) for triple in triples]


def _judged(rows: Rows) -> Iterator[tuple[int, list[Triple], str]]:
    """Row number, triples and text of all rows without an error."""
    for r, triples in enumerate(iterate(rows.triples)):
        text = rows.text_of(r)
        if r not in rows.errors and text is not None:
            yield r, triples, text


def _nothing(rows: Rows) -> Verdicts:
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
    verdicts: Verdicts,
    row: int,
    start: Any,
    end: Any,
    absent: list[int],
    omission: bool,
    hallucination: bool,
    confidence: float,
) -> None:
    said: npt.NDArray[np.float32] = np.ones(end - start, np.float32)
    said[absent] = 0.0
    verdicts.fact_entailment[start:end] = said
    verdicts.omitted[start:end] = said == 0
    verdicts.fine[row] = omission + 2 * hallucination
    verdicts.confidence[row] = confidence
    verdicts.omission_known[row] = verdicts.facts_checked[row] = True
