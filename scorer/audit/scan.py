"""One pass over an output: each row becomes a few numbers in a table of the database, each fact a count.

Facts are read a window at a time, by pyarrow and the parsers of :mod:`scorer.metric`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError, InputError
from ..metric import Sides
from ..metric.column_paths import holders_of, one_array
from ..metric.facts import encode
from ..metric.formats import part_columns
from ..metric.inputs import FactForm, find_facts, read_facts
from ..metric.values import is_text
from ..metric.verdict import EMPTY_TEXT, FINE
from ..scoring.output_columns import fine_codes, omitted_facts
from ..scoring.outputs import Output, arrow_errors
from ..scoring.summary import OTHER_PREDICATES
from .database import Database, Grouping, Ints

MOST_SENTENCES = 10_000
"""Of facts that are sentences, the first so many distinct ones are counted apart."""
Names = dict[str, int]
"""Strings and their codes, in order of first appearance."""
Hashes = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
_ODD = np.uint64(0x9E3779B97F4A7C15)

_LABELS = len(FINE) + 1  # and none, of an error row
_NONE_WRONG, _SOME_WRONG, _ALL_WRONG = range(3)
STATES = 3 * 2 * _LABELS
"""A row's *state* is its label (0: none, of an error row), whether its text is blank, and whether the text contradicts
none, some or all of the facts that it omits, in one byte."""
FINE_OF = np.tile(np.arange(-1, len(FINE), dtype=np.int8), 3 * 2)
"""Label of each state: position in :data:`scorer.metric.verdict.FINE`, -1 without one. int8, *Shape:* (STATES,)."""
BLANK = np.arange(STATES) // _LABELS % 2 == 1
"""States of rows with a blank text. bool, *Shape:* (STATES,)."""
_WRONG = np.arange(STATES) // (2 * _LABELS)
LEFT_OUT = (FINE_OF > 0) & ((FINE_OF & 1) == 1) & (_WRONG != _ALL_WRONG)
"""States of rows that leave a fact out instead of saying it wrongly. bool, *Shape:* (STATES,)."""
FINE_LABEL = f"({{}} % {_LABELS})::TINYINT - 1"
"""SQL of the FINE label of a state, -1 for none; see :data:`FINE_OF`."""

_ROWS = """
    row BIGINT, high UBIGINT, low UBIGINT, input UBIGINT, state UTINYINT, confidence FLOAT, error SMALLINT,
    note SMALLINT, reused BOOLEAN
"""
"""Columns of a table of rows:

- ``high``, ``low``: halves of the row key
- ``input``: hash of the facts, or of the row where there are none
- ``error``, ``note``: codes of the kinds, -1 for none
"""
_FACTS = "predicate INTEGER, facts BIGINT, checked BIGINT, omitted BIGINT, contradicted BIGINT"
"""Counts by predicate, added up by window."""


def rate_states(sides: Sides, contradictions_known: bool) -> dict[str, tuple[Bools, Bools]]:
    """The states that count for each of :data:`.document.RATES` in a run of these sides, and the states that are hits.
    bool, *Shape:* (STATES,) each."""
    is_known = np.full(STATES, contradictions_known)
    labelled, every = FINE_OF >= 0, np.ones(STATES, bool)
    omissions, additions = (np.full(STATES, sides != unchecked) for unchecked in ("hallucination", "omission"))
    return {
        "not_ok_rate": (every, FINE_OF != 0),
        "omission_rate": (omissions, labelled & ((FINE_OF & 1) == 1) & omissions),
        "contradicted_rate": (is_known, labelled & (_WRONG != _NONE_WRONG) & is_known),
        "hallucination_rate": (additions, labelled & ((FINE_OF & 2) == 2) & additions),
        "error_rate": (every, ~labelled),
        "empty_rate": (every, BLANK),
    }


@dataclass
class ScannedRun:
    """A run in the database."""

    output: Output
    """The output of the run."""
    database: Database
    """The database."""
    table: str
    """Table of the rows, with group codes in ``g0``, ``g1``, ...; the facts are in the table of this name with
    ``_facts``."""
    facts: tuple[str, FactForm] | None
    """Column of facts that the run read, and its form; null where the output did not keep it."""
    contradictions_known: bool = False
    """Whether some rows say which of their facts are contradicted."""
    predicates: Names = field(default_factory=dict)
    """Predicates and their codes."""
    errors: Names = field(default_factory=dict)
    """Kinds of errors and their codes."""
    notes: Names = field(default_factory=dict)
    """Joined notes and their codes."""

    def __len__(self) -> int:
        return len(self.output)

    def groups(self, grouping: Grouping) -> int:
        return len(self.database.groups[grouping])


def scan_output(output: Output, database: Database, table: str) -> ScannedRun:
    """Read an output into a new table.

    Raises:
        InputError: a file cannot be read, or its label columns are not those of a run.
    """
    return _Scan(ScannedRun(output, database, table, _fact_column(output))).read()


def _fact_column(output: Output) -> tuple[str, FactForm] | None:
    try:
        facts = find_facts(output.schema, output.columns)
    except ColumnError:  # the output of another program: a run refuses such columns
        return None
    return facts if facts[1] != "document" else None  # a document has no facts


class _Scan:
    """The state of one pass."""

    def __init__(self, run: ScannedRun) -> None:
        self.run, self.output, self.database = run, run.output, run.database
        self.names = run.output.columns
        self.reader = FactReader(*run.facts, self.names.subject, run.predicates) if run.facts else None
        self.codes = ", ".join(self.database.column(grouping) for grouping in self.database.groups)
        groups = self.codes.replace(",", " USMALLINT,") + " USMALLINT"
        self.database.run(f"CREATE TABLE {run.table} ({_ROWS}, {groups})")
        self.database.run(f"CREATE TABLE {run.table}_facts ({_FACTS}, {groups})")

    def read(self) -> ScannedRun:
        rows = 0
        for window in self.output.windows(self._leaves()):
            rows += len(window.table)
            if rows > len(self.run):
                break
            with arrow_errors(self.output):
                self._window(window.first, window.table)
        if rows != len(self.run):
            raise InputError(f"{self.output.name}: its receipts have {len(self.run):,} rows, its files have others")
        self.database.flush()
        return self.run

    def _leaves(self) -> list[str]:
        names = (
            "fine",
            "confidence",
            "omitted",
            "contradicted",
            "fact_entailment",
            "error",
            "note",
            "reused",
            "row_key",
        )
        leaves = [self.names.output(name) for name in names]
        for name in (self.reader.column, self.reader.subject or "") if self.reader is not None else ():
            leaves += holders_of(self.output.schema, name)
        leaves.append(self.output.marks)
        leaves += [column for grouping in self.database.groups for column in grouping]
        return list(dict.fromkeys(leaves))

    def _window(self, first: int, table: pa.Table) -> None:
        """Append the rows and facts of a window."""
        run = self.run
        fine = fine_codes(self._labels(table, "fine"), self.names.output("fine"))
        notes = _kinds(self._labels(table, "note"), run.notes)
        blank = np.array([*(EMPTY_TEXT in note.split("+") for note in run.notes), False])[notes]
        keys = _halves(self._labels(table, "row_key"))
        confidence = self._labels(table, "confidence")
        has_facts = self.reader is not None and holders_of(table.schema, self.reader.column)
        facts = self.reader.read(self.output.with_marks(table)) if self.reader is not None and has_facts else None
        columns = {
            "row": np.arange(first, first + len(table)),
            "high": keys[:, 0],
            "low": keys[:, 1],
            "input": keys[:, 0] if facts is None else np.where(facts.lengths > 0, facts.inputs(), keys[:, 0]),
            "state": (fine + 1 + _LABELS * blank + 2 * _LABELS * self._wrong(table)).astype(np.uint8),
            "confidence": pc.if_else(pc.is_nan(confidence), pa.scalar(None, confidence.type), confidence),
            "error": _kinds(self._labels(table, "error"), run.errors),
            "note": notes,
            "reused": self._labels(table, "reused").fill_null(False),
        }
        groups = {
            self.database.column(grouping): codes.codes(table).astype(np.uint16)
            for grouping, codes in self.database.groups.items()
        }
        self.database.append(f"INSERT INTO {run.table} BY NAME FROM batch", pa.table(columns | groups))
        if facts is not None:
            self._count(table, facts, groups)

    def _labels(self, table: pa.Table, name: str) -> pa.Array:
        """An output column of a window; *Shape:* (rows,)."""
        return one_array(table, self.names.output(name))

    def _wrong(self, table: pa.Table) -> Ints:
        """Whether the texts of a window contradict none, some or all of the facts that they omit. *Shape:* (rows,)."""
        if self.names.output("contradicted") not in table.schema.names:  # an output of before there was such a column
            return np.zeros(len(table), np.int64)
        column = self._labels(table, "contradicted")
        self.run.contradictions_known |= column.null_count < len(column)
        wrong, omitted = (
            pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
            for lists in (column, self._labels(table, "omitted"))
        )
        return np.where(wrong == 0, _NONE_WRONG, np.where(wrong < omitted, _SOME_WRONG, _ALL_WRONG))

    def _count(self, table: pa.Table, facts: Facts, groups: dict[str, Any]) -> None:
        """Append the facts of a window, counted by group and predicate."""
        omitted, entailment = (self._labels(table, name) for name in ("omitted", "fact_entailment"))
        stored = pc.list_value_length(entailment).fill_null(-1).to_numpy(zero_copy_only=False)
        is_checked = omitted.is_valid().to_numpy(zero_copy_only=False) & (stored == facts.lengths)
        # A list stands for each fact only in rows that were checked; elsewhere there is nothing to align.
        row = np.repeat(np.arange(len(table)), facts.lengths)
        values = pc.list_flatten(entailment.filter(pa.array(is_checked)))
        checked = np.zeros(len(row), bool)
        checked[is_checked[row]] = values.is_valid().to_numpy(zero_copy_only=False)
        failed = omitted_facts(omitted, facts.offsets) & checked
        wrong = np.zeros(len(row), bool)
        if self.names.output("contradicted") in table.schema.names:
            wrong = omitted_facts(self._labels(table, "contradicted"), facts.offsets) & failed
        columns = {"predicate": facts.predicate, "checked": checked, "omitted": failed, "contradicted": wrong}
        window = pa.table(columns | {name: codes[row] for name, codes in groups.items()})
        self.database.append(
            f"INSERT INTO {self.run.table}_facts BY NAME SELECT predicate, count(*) AS facts, "
            f"count_if(checked) AS checked, count_if(omitted) AS omitted, count_if(contradicted) AS contradicted, "
            f"{self.codes} "
            f"FROM batch WHERE predicate >= 0 GROUP BY predicate, {self.codes}",
            window,
        )


def _halves(column: pa.Array) -> Hashes:
    """Row keys as two numbers each. fixed_size_binary(16), *Shape:* (rows,) → uint64, (rows, 2)."""
    if not len(column):
        return np.empty((0, 2), np.uint64)
    return np.frombuffer(column.buffers()[1], np.uint64, 2 * len(column), column.offset * 16).reshape(-1, 2)


def _kinds(column: pa.Array, names: Names) -> Ints:
    """Codes of the kinds of errors or notes, the part before the colon; -1 for null. int64, *Shape:* (rows,)."""
    if column.null_count == len(column):
        return np.full(len(column), -1, np.int64)
    encoded = column.dictionary_encode()
    numbers = [names.setdefault(str(value).partition(":")[0], len(names)) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.cast(pa.int64()).fill_null(len(numbers)).to_numpy(zero_copy_only=False)
    return np.array([*numbers, -1], np.int64)[codes]


@dataclass
class Facts:
    """The facts of a window."""

    lengths: Ints
    """Number of facts of each row. int64, *Shape:* (rows,)."""
    predicate: Ints
    """Code of the reader's ``predicates``, -1 for null. int64, *Shape:* (facts,)."""
    hash: Hashes
    """Hash of all parts of each fact. uint64, *Shape:* (facts,)."""

    @property
    def offsets(self) -> Ints:
        """*Shape:* (rows + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    def inputs(self) -> Hashes:
        """A number for the facts of each row, in their order, 0 without any. uint64, *Shape:* (rows,)."""
        offsets = self.offsets
        position = np.arange(len(self.hash)) - np.repeat(offsets[:-1], self.lengths)
        sums = np.zeros(len(position) + 1, np.uint64)  # modulo 2^64, so that differences are exact
        np.cumsum(self.hash * (2 * position + 3).astype(np.uint64), out=sums[1:])
        return sums[offsets[1:]] - sums[offsets[:-1]]


@dataclass
class FactReader:
    """Reads the facts of window after window, with the same codes of predicates in all windows.

    A fact that is a sentence counts as a predicate; from :data:`MOST_SENTENCES` on, as one of the other predicates.
    """

    column: str
    """Column of the facts."""
    form: FactForm
    """Form of the facts."""
    subject: str | None = None
    """Column of the subjects, or their key; only for attributes."""
    predicates: Names = field(default_factory=dict)
    """Codes of the predicates so far."""

    def read(self, table: pa.Table) -> Facts:
        """The facts of a window."""
        if self.form == "triples" and not is_text((column := one_array(table, self.column)).type):
            flat = pc.list_flatten(column)
            if pa.types.is_struct(flat.type):
                return self._from_structs(column, flat)
        parsed = read_facts(table, self.column, self.form, self.subject)
        predicate = np.array([self._predicate(triple.predicate) for triple in parsed.distinct], np.int64)
        fact_hashes = hashes(["\0".join(triple).encode("utf-8", "surrogatepass") for triple in parsed.distinct])
        return Facts(parsed.lengths, predicate[parsed.ids], fact_hashes[parsed.ids])

    def _from_structs(self, column: pa.Array, flat: pa.Array) -> Facts:
        """The facts of structs. Their parts are separate columns in Arrow, so that only distinct parts go through
        Python."""
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        children = {part: encode(child) for part, child in part_columns(flat).items()}
        codes, values = children["predicate"]
        predicates = [self._predicate(value.decode(errors="replace").strip()) for value in values]
        fact_hashes = np.zeros(len(codes), np.uint64)
        for parts, texts in children.values():
            fact_hashes = (fact_hashes ^ hashes(texts)[parts]) * _ODD
        return Facts(lengths, np.array([*predicates, -1], np.int64)[codes], fact_hashes)

    def _predicate(self, name: str) -> int:
        bounded = self.form in ("facts", "attributes") and len(self.predicates) >= MOST_SENTENCES
        name = OTHER_PREDICATES if bounded and name not in self.predicates else name
        return self.predicates.setdefault(name, len(self.predicates))


def hashes(values: Sequence[bytes]) -> Hashes:
    """Hashes of values, and a 0 at the end for null. uint64, *Shape:* (values + 1,)."""
    digests = b"".join(blake2b(value, digest_size=8).digest() for value in values)
    return np.frombuffer(digests + bytes(8), np.uint64)
