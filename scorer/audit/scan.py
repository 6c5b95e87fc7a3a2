"""One pass over an output: each row becomes a few numbers in a table of the database, each fact a count.

Texts and facts are read a window at a time, by pyarrow and the parsers of :mod:`scorer.metric`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError, InputError
from ..metric.facts import FactTable, encode
from ..metric.formats import as_elements, part_columns
from ..metric.inputs import FactForm, find_facts, one_array, read_facts
from ..metric.paths import holders_of
from ..metric.values import is_text
from ..metric.verdict import EMPTY_TEXT, FINE
from ..scoring.output_columns import fine_codes, omitted_facts
from ..scoring.outputs import Output, arrow_errors
from ..scoring.signature import parse
from ..scoring.summary import OTHER_PREDICATES
from .database import Database, Grouping

MOST_SENTENCES = 10_000
"""Of facts that are sentences, the first so many distinct ones are counted apart."""
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
Policy = Literal["not-ok", "excluded"]
Bools = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

_LABELS = len(FINE) + 1  # and none, of an error row
STATES = 2 * _LABELS
FINE_OF = np.tile(np.arange(-1, len(FINE), dtype=np.int8), 2)
"""Label of each state: position in :data:`scorer.metric.verdict.FINE`, -1 without one. int8, *Shape:* (STATES,)."""
BLANK = np.arange(STATES) >= _LABELS
"""States of rows with a blank text. bool, *Shape:* (STATES,)."""
FINE_LABEL = f"({{}} % {_LABELS})::TINYINT - 1"
"""SQL of the FINE label of a state, -1 for none; see :data:`FINE_OF`."""
NONE = -1
FACT_CLASSES = (*((n, n) for n in range(1, 10)), (10, None))
LENGTH_CLASSES = ((0, 49), (50, 99), (100, 149), (150, 199), (200, 299), (300, 499), (500, 999), (1000, None))
Classes = Sequence[tuple[int, int | None]]
Codes = npt.NDArray[np.integer[Any]]

_ROWS = """
    row BIGINT, high UBIGINT, low UBIGINT, input UBIGINT, state UTINYINT, confidence FLOAT, error SMALLINT,
    note SMALLINT, reused BOOLEAN, facts TINYINT, length TINYINT
"""
"""``high``, ``low``: halves of the row key. ``input``: hash of the facts, or of the row where there are none.
``state``: see :mod:`.states`. ``error``, ``note``: kinds, -1 for none. ``facts``, ``length``: positions in
:data:`FACT_CLASSES` and :data:`LENGTH_CLASSES`, -1 for none."""
_FACTS = "predicate INTEGER, object INTEGER, facts BIGINT, checked BIGINT, omitted BIGINT"
"""Counts by predicate and object (-1 where that is not wanted), added up by window."""


def states_of(fine: npt.NDArray[np.int8], blank: Bools) -> npt.NDArray[np.uint8]:
    """States of rows: ``fine`` as in :data:`FINE_OF`. *Shape:* (rows,) each."""
    return (fine + 1 + _LABELS * blank).astype(np.uint8)


def labels(counts: Counts) -> list[int]:
    """Rows by FINE label, from rows by state, *Shape:* (STATES,)."""
    return [int(counts[code == FINE_OF].sum()) for code in range(len(FINE))]


def rate_states(errors: Policy, omissions_checked: bool) -> dict[str, tuple[Bools, Bools]]:
    """Which states count for each of :data:`scorer.audit.document.RATES`, and which of them are hits.

    bool, *Shape:* (STATES,) each. None counts for omissions where the run did not look for them.
    """
    labelled = FINE_OF >= 0
    every = np.ones(STATES, bool)
    counted = every if errors == "not-ok" else labelled
    looked = np.full(STATES, omissions_checked)
    return {
        "not_ok_rate": (counted, (FINE_OF != 0) & counted),
        "omission_rate": (counted & looked, labelled & ((FINE_OF & 1) == 1) & looked),
        "hallucination_rate": (counted, labelled & ((FINE_OF & 2) == 2)),
        "error_rate": (every, ~labelled),
        "empty_rate": (every, BLANK),
    }


@dataclass
class Names:
    """Strings as small numbers, in order of first appearance."""

    names: list[str] = field(default_factory=list)
    _codes: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self._codes

    def code(self, name: str) -> int:
        """The number of a string, a new one for a new string."""
        found = self._codes.setdefault(name, len(self.names))
        if found == len(self.names):
            self.names.append(name)
        return found

    def codes(self, values: Sequence[bytes]) -> Ints:
        """Numbers of UTF-8 strings without leading and trailing blanks, one dummy -1 at the end (for null)."""
        return np.array([*(self.code(value.decode(errors="replace").strip()) for value in values), -1], np.int64)


@dataclass
class ScannedRun:
    """A run in the database: rows in ``table``, facts in ``table`` + ``_facts``, group codes in ``g0``, ``g1``, ...

    ``predicates``, ``objects``, ``errors``, ``notes``: what their codes stand for. ``has_facts``, ``has_text``: whether
    the output kept these columns.
    """

    output: Output
    database: Database
    table: str
    predicates: Names = field(default_factory=Names)
    objects: Names = field(default_factory=Names)
    errors: Names = field(default_factory=Names)
    notes: Names = field(default_factory=Names)
    has_facts: bool = False
    has_text: bool = False

    def __len__(self) -> int:
        return len(self.output)

    def groups(self, grouping: Grouping) -> int:
        """The number of groups that any run of the audit has."""
        return len(self.database.groups[grouping])

    @property
    def omissions_checked(self) -> bool:
        """Whether the run looked for omissions at all."""
        return parse(self.output.signature).get("checks") != "hallucination"

    def rate_states(self, errors: Policy) -> dict[str, tuple[Bools, Bools]]:
        """Which states count for each rate of this run, and which are hits."""
        return rate_states(errors, self.omissions_checked)


def scan_output(output: Output, database: Database, table: str, reader: FactReader | None) -> ScannedRun:
    """Read an output into a new table.

    Args:
        reader: of the facts; ``None`` when the output did not keep them, or they are not wanted.

    Raises:
        InputError: a file cannot be read, or its label columns are not those of a run.
    """
    return _Scan(output, database, table, reader).read()


class _Scan:
    """The state of one pass."""

    def __init__(self, output: Output, database: Database, table: str, reader: FactReader | None) -> None:
        self.output, self.database, self.reader = output, database, reader
        self.prefix = output.columns.prefix
        self.fact_column = fact_column(output) if reader is not None else None
        self.text_column = output.columns.text if holders_of(output.schema, output.columns.text) else None
        self.run = ScannedRun(output, database, table, has_text=self.text_column is not None)
        if reader is not None:
            self.run.predicates, self.run.objects, self.run.has_facts = reader.predicates, reader.objects, True
        self.groups = [database.column(grouping) for grouping in database.groups]
        codes = ", ".join(f"{name} USMALLINT" for name in self.groups)
        database.run(f"CREATE TABLE {table} ({_ROWS}, {codes})")
        database.run(f"CREATE TABLE {table}_facts ({_FACTS}, {codes})")

    def read(self) -> ScannedRun:
        seen = 0
        for window in self.output.windows(self._leaves()):
            seen += len(window.table)
            if seen > len(self.run):
                raise InputError(f"{self.output.name}: there are more rows than the {len(self.run):,} of its receipts")
            with arrow_errors(self.output):
                self._window(window.first, window.table)
        self.database.flush()
        if seen != len(self.run):
            raise InputError(f"{self.output.name}: {seen:,} rows were read of {len(self.run):,}")
        return self.run

    def _leaves(self) -> list[str]:
        schema = self.output.schema
        names = ("fine", "confidence", "omitted", "fact_entailment", "error", "note", "reused", "row_key")
        leaves = [self.prefix + name for name in names]
        if self.text_column:
            leaves += holders_of(schema, self.text_column)
        if self.reader is not None and self.fact_column:
            leaves += holders_of(schema, self.fact_column)
            if self.reader.subject is not None:
                leaves.append(self.reader.subject)
        leaves += [column for grouping in self.database.groups for column in grouping]
        return list(dict.fromkeys(leaves))

    def _window(self, first: int, table: pa.Table) -> None:
        """Append the rows and facts of a window."""
        run, prefix = self.run, self.prefix
        fine = fine_codes(one_array(table, prefix + "fine"), prefix + "fine")
        notes = _kinds(one_array(table, prefix + "note"), run.notes)
        blank = np.array([*(EMPTY_TEXT in note.split("+") for note in run.notes.names), False])[notes]
        keys = _halves(one_array(table, prefix + "row_key"))
        entailment = one_array(table, prefix + "fact_entailment")
        stored = pc.list_value_length(entailment).fill_null(NONE).to_numpy(zero_copy_only=False)
        facts = self._facts(table)
        columns = {
            "row": np.arange(first, first + len(table)),
            "high": keys[:, 0],
            "low": keys[:, 1],
            "input": keys[:, 0] if facts is None else np.where(facts.lengths > 0, facts.inputs(), keys[:, 0]),
            "state": states_of(fine, blank),
            "confidence": _finite(one_array(table, prefix + "confidence")),
            "error": _kinds(one_array(table, prefix + "error"), run.errors),
            "note": notes,
            "reused": one_array(table, prefix + "reused").fill_null(False),
            "facts": _classes(FACT_CLASSES, stored if facts is None else facts.lengths),
            "length": self._lengths(table),
        }
        groups = {
            self.database.column(grouping): codes.codes(table).astype(np.uint16)
            for grouping, codes in self.database.groups.items()
        }
        self.database.append(f"INSERT INTO {run.table} BY NAME FROM batch", pa.table(columns | groups))
        if facts is not None:
            self._count(table, facts, entailment, stored, groups)

    def _facts(self, table: pa.Table) -> Facts | None:
        if self.reader is None or not self.fact_column or not holders_of(table.schema, self.fact_column):
            return None
        subject = self.reader.subject
        apart = one_array(table, subject) if subject is not None and subject in table.schema.names else None
        return self.reader.read(one_array(table, self.fact_column), apart)

    def _lengths(self, table: pa.Table) -> Codes:
        if not self.text_column or not holders_of(table.schema, self.text_column):
            return np.full(len(table), NONE)
        return _classes(LENGTH_CLASSES, _text_lengths(one_array(table, self.text_column)))

    def _count(self, table: pa.Table, facts: Facts, entailment: pa.Array, stored: Codes, groups: Any) -> None:
        """Append the facts of a window, counted by group, predicate and object."""
        omitted = one_array(table, self.prefix + "omitted")
        known = omitted.is_valid().to_numpy(zero_copy_only=False) & (stored == facts.lengths)
        # A list stands for each fact only in rows that were checked; elsewhere there is nothing to align.
        row = np.repeat(np.arange(len(table)), facts.lengths)
        values = pc.list_flatten(entailment.filter(pa.array(known)))
        checked = np.zeros(len(row), bool)
        checked[known[row]] = values.is_valid().to_numpy(zero_copy_only=False)
        failed = omitted_facts(omitted, facts.offsets) & checked
        columns = {"predicate": facts.predicate, "object": facts.object, "checked": checked, "omitted": failed}
        window = pa.table(columns | {name: codes[row] for name, codes in groups.items()})
        codes = ", ".join(self.groups)
        self.database.append(
            f"INSERT INTO {self.run.table}_facts BY NAME SELECT predicate, object, count(*) AS facts, "
            f"count_if(checked) AS checked, count_if(omitted) AS omitted, {codes} "
            f"FROM batch WHERE predicate >= 0 GROUP BY predicate, object, {codes}",
            window,
        )


def fact_column(output: Output) -> str | None:
    """The column of facts that the run read, if the output kept it."""
    found = _facts_of(output)
    return found[0] if found is not None else None


def fact_form(output: Output) -> FactForm:
    """How :func:`fact_column` holds facts."""
    found = _facts_of(output)
    return found[1] if found is not None else "triples"


def _facts_of(output: Output) -> tuple[str, FactForm] | None:
    try:
        found = find_facts(output.schema, output.columns)
        return found if found is None or found[1] != "document" else None  # a document has no facts
    except ColumnError:  # the output of another program: a run refuses such columns
        return None


def _halves(column: pa.Array) -> npt.NDArray[np.uint64]:
    """Row keys as two numbers each. fixed_size_binary(16), *Shape:* (rows,) → uint64, (rows, 2)."""
    if not len(column):
        return np.empty((0, 2), np.uint64)
    return np.frombuffer(column.buffers()[1], np.uint64, 2 * len(column), column.offset * 16).reshape(-1, 2)


def _finite(column: pa.Array) -> pa.Array:
    """Confidences, null where there is none."""
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def _classes(classes: Classes, values: Codes) -> Codes:
    """The class of each value; -1 below the first one."""
    return np.searchsorted([least for least, _ in classes], values, side="right") - 1


def _kinds(column: pa.Array, names: Names) -> npt.NDArray[np.int64]:
    """Codes of error or note kinds: what stands before the colon; -1 for null."""
    if column.null_count == len(column):
        return np.full(len(column), NONE, np.int64)
    encoded = column.dictionary_encode()
    numbers = [names.code(str(value).partition(":")[0]) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.cast(pa.int64()).fill_null(len(numbers)).to_numpy(zero_copy_only=False)
    return np.array([*numbers, NONE], np.int64)[codes]


def _text_lengths(column: pa.Array) -> npt.NDArray[np.int32]:
    if pa.types.is_null(column.type):
        return np.full(len(column), NONE, np.int32)
    codes = None
    if pa.types.is_dictionary(column.type):
        column, codes = column.dictionary, column.indices
    if pa.types.is_string_view(column.type):  # which has no lengths; as bytes, because it may not be UTF-8
        column = column.cast(pa.large_binary()).cast(pa.large_string(), safe=False)
    lengths = pc.utf8_length(column)
    lengths = lengths if codes is None else lengths.take(codes)
    return np.asarray(lengths.cast(pa.int32()).fill_null(NONE).to_numpy(zero_copy_only=False), np.int32)


@dataclass
class Facts:
    """The facts of a window. ``lengths``: int64, *Shape:* (rows,). ``predicate``, ``object``: int64, *Shape:*
    (facts,), numbers in the reader's ``predicates`` and ``objects``; -1 for null and for unwanted objects. ``hash``:
    uint64, *Shape:* (facts,), of all parts of a fact."""

    lengths: Ints
    predicate: Ints
    object: Ints
    hash: Hashes

    @property
    def offsets(self) -> Ints:
        """*Shape:* (rows + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    def inputs(self) -> Hashes:
        """A number for the facts of each row, in their order, 0 without any. uint64, *Shape:* (rows,)."""
        offsets = self.offsets
        place = np.arange(len(self.hash)) - np.repeat(offsets[:-1], self.lengths)
        sums = np.zeros(len(place) + 1, np.uint64)  # modulo 2^64, so that differences are exact
        np.cumsum(self.hash * (2 * place + 3).astype(np.uint64), out=sums[1:])
        return sums[offsets[1:]] - sums[offsets[:-1]]


class FactReader:
    """Reads the facts of window after window, with numbers that stay the same.

    A fact that is a sentence counts as a predicate; from :data:`MOST_SENTENCES` on, as one of the other predicates.

    Args:
        form: how the column holds the facts.
        by_object: tells of a predicate whether the objects of its facts are wanted too; ``None``: never.
        key, schema: what names the subject of attributes, and the columns of the output: one of these, or a key.

    ``subject``: the column that names the subjects, if there is one.
    """

    def __init__(
        self,
        form: FactForm,
        by_object: Callable[[str], bool] | None = None,
        key: str | None = None,
        schema: pa.Schema | None = None,
    ) -> None:
        self.predicates, self.objects = Names(), Names()
        self._key = key
        self.subject = key if form == "attributes" and schema is not None and key in schema.names else None
        self._form, self._by_object = form, by_object or (lambda predicate: False)
        self._wanted: list[bool] = []

    def read(self, column: pa.Array, subjects: pa.Array | None = None) -> Facts:
        """The facts of a column. ``subjects``: the column ``subject``."""
        if self._form == "triples" and not is_text(column.type):
            flat = as_elements(pc.list_flatten(column))
            if pa.types.is_struct(flat.type):
                lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
                return self._from_structs(lengths.astype(np.int64), flat)
        table = pa.table({"facts": column})
        if self._key is not None and subjects is not None:
            table = table.append_column(self._key, subjects)
        return self._from_parsed(read_facts(table, "facts", self._form, self._key))

    def _from_structs(self, lengths: Ints, flat: pa.Array) -> Facts:
        """Most facts are structs, whose parts are split in Arrow already: only distinct parts pass through Python."""
        children = {part: encode(child) for part, child in part_columns(flat).items()}
        codes, values = children["predicate"]
        predicate = self.predicates.codes(values)[codes]
        objects = np.full(len(predicate), -1, np.int64)
        wanted = self._wants(predicate)
        if wanted.any():
            codes, values = children["object"]
            used, inverse = np.unique(codes[wanted], return_inverse=True)
            objects[wanted] = self.objects.codes([values[code] for code in used[used >= 0]])[inverse - (used[0] < 0)]
        found = np.zeros(len(predicate), np.uint64)
        for codes, values in children.values():
            found = (found ^ hashes(values)[codes]) * _ODD
        return Facts(lengths, predicate, objects, found)

    def _from_parsed(self, parsed: FactTable) -> Facts:
        distinct, ids = parsed.distinct, parsed.ids
        predicate = np.array([self._predicate(one.predicate) for one in distinct], np.int64)
        wanted = self._wants(predicate).tolist()
        objects = [self.objects.code(t.object) if w else -1 for t, w in zip(distinct, wanted, strict=True)]
        found = hashes(["\0".join(triple).encode("utf-8", "surrogatepass") for triple in distinct])
        return Facts(parsed.lengths, predicate[ids], np.array(objects, np.int64)[ids], found[ids])

    def _wants(self, predicate: Ints) -> npt.NDArray[np.bool_]:
        names = self.predicates.names
        self._wanted += [self._by_object(name) for name in names[len(self._wanted) :]]
        return np.array([*self._wanted, False], bool)[predicate]

    def _predicate(self, name: str) -> int:
        bounded = self._form in ("facts", "attributes") and len(self.predicates) >= MOST_SENTENCES
        return self.predicates.code(OTHER_PREDICATES if bounded and name not in self.predicates else name)


def hashes(values: Sequence[bytes]) -> Hashes:
    """Numbers that tell values apart, one dummy 0 at the end (for null). uint64, *Shape:* (values + 1,)."""
    digests = b"".join(blake2b(value, digest_size=8).digest() for value in values)
    return np.frombuffer(digests + bytes(8), np.uint64)
