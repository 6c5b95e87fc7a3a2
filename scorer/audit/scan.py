"""One scan of an output: a few bytes of each row are kept, and rows and facts are counted by group.

Six bytes a row stay in memory, and two more for each grouping: what distributions, comparisons and samples need. Texts
and facts are looked at a window at a time, and row keys are read again later (:mod:`scorer.audit.key_parts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError, InputError
from ..metric.inputs import FactForm, find_facts, one_array
from ..metric.nested import holder_of
from ..metric.verdict import EMPTY_TEXT
from ..scoring.output_columns import fine_codes, omitted_facts
from ..scoring.outputs import Output, arrow_errors
from ..scoring.signature import parse
from .counts import FACT_CLASSES, LENGTH_CLASSES, FactCounts, RowCounts, add_classes
from .facts import FactReader, Facts, Names
from .grouping import GroupCodes, Grouping
from .states import FINE_OF, STATES, states_of

NONE = -1
UNKNOWN_FACTS = -1


@dataclass
class ScannedRun:
    """What is known of each row. *Shape:* (rows,).

    ``state``: uint8, see :mod:`scorer.audit.states`. ``confidence``: float32, NaN for none. ``error``: int8 (int16 with
    more than 127 kinds), positions in ``errors``, -1 for none. ``groups``: by grouping, uint16. ``row_counts``,
    ``fact_counts``: by grouping. ``object_counts``: (predicate, object) → facts checked and omitted, where a template
    depends on the object. ``has_facts``, ``has_text``: whether the output kept these columns.
    """

    output: Output
    state: npt.NDArray[np.uint8]
    confidence: npt.NDArray[np.float32]
    error: npt.NDArray[np.int8] | npt.NDArray[np.int16]
    groups: dict[Grouping, npt.NDArray[np.uint16]]
    predicates: Names
    row_counts: dict[Grouping, RowCounts]
    fact_counts: dict[Grouping, FactCounts]
    object_counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    errors: Names = field(default_factory=Names)
    notes: Names = field(default_factory=Names)
    has_facts: bool = False
    has_text: bool = False

    def __len__(self) -> int:
        return len(self.state)

    @property
    def omissions_checked(self) -> bool:
        """Whether the run looked for omissions at all."""
        return parse(self.output.signature).get("checks") != "hallucination"

    def fine(self, rows: Any) -> npt.NDArray[np.int8]:
        """FINE labels of some rows: positions in :data:`scorer.metric.verdict.FINE`, -1 for an error."""
        return FINE_OF[self.state[rows]]


def scan_output(
    output: Output,
    groupings: Mapping[Grouping, GroupCodes],
    reader: FactReader | None,
) -> ScannedRun:
    """Scan an output once.

    Args:
        groupings: the groups to count by, whose codes grow with what is found.
        reader: of the facts; ``None`` when the output did not keep them.

    Raises:
        InputError: a file cannot be read, or its label columns are not those of a run.
    """
    return _Scan(output, groupings, reader).read()


class _Scan:
    """The state of one scan."""

    def __init__(self, output: Output, groupings: Mapping[Grouping, GroupCodes], reader: FactReader | None) -> None:
        n = len(output)
        self.output, self.groupings, self.reader = output, groupings, reader
        self.prefix = output.columns.prefix
        self.fact_column = fact_column(output)
        self.text_column = output.columns.text if holder_of(output.schema, output.columns.text) else None
        self.run = ScannedRun(
            output,
            state=np.empty(n, np.uint8),
            confidence=np.empty(n, np.float32),
            error=np.empty(n, np.int8),
            groups={grouping: _codes_of(grouping, n) for grouping in groupings},
            predicates=reader.predicates if reader else Names(),
            row_counts={grouping: RowCounts() for grouping in groupings},
            fact_counts={grouping: FactCounts() for grouping in groupings},
            has_facts=reader is not None,
            has_text=self.text_column is not None,
        )

    def read(self) -> ScannedRun:
        seen = 0
        for window in self.output.windows(self._leaves()):
            rows = slice(window.first, window.first + len(window.table))
            if rows.stop > len(self.run):
                raise InputError(f"{self.output.path}: there are more rows than the {len(self.run):,} of its receipts")
            with arrow_errors(self.output):
                fine = self._rows(rows, window.table)
                self._facts(rows, window.table, fine)
            seen += len(window.table)
        if seen != len(self.run):
            raise InputError(f"{self.output.path}: {seen:,} rows were read of {len(self.run):,}")
        return self.run

    def _leaves(self) -> list[str]:
        names = ("fine", "confidence", "omitted", "fact_entailment", "error", "note", "reused")
        leaves = [self.prefix + name for name in names]
        if self.text_column:
            leaves.append(holder_of(self.output.schema, self.text_column) or self.text_column)
        if self.reader is not None and self.fact_column:
            last = ("predicate", "object") if self.reader.objects_wanted else ("predicate",)
            paths = self.output.leaves(self.fact_column, *last)
            leaves += paths if len(paths) == len(last) else [holder_of(self.output.schema, self.fact_column) or ""]
        leaves += [column for grouping in self.groupings for column in grouping]
        return list(dict.fromkeys(leaves))

    def _rows(self, rows: slice, table: pa.Table) -> npt.NDArray[np.int8]:
        """Keep and count the rows of a window; returns their FINE labels."""
        run, prefix = self.run, self.prefix
        fine = fine_codes(one_array(table, prefix + "fine"), prefix + "fine")
        errors = _kinds(one_array(table, prefix + "error"), run.errors)
        notes = _kinds(one_array(table, prefix + "note"), run.notes)
        reused = one_array(table, prefix + "reused").fill_null(False).to_numpy(zero_copy_only=False) & (fine >= 0)
        if len(run.errors) > np.iinfo(run.error.dtype).max:
            run.error = run.error.astype(np.int16)
        run.state[rows] = states_of(fine, notes == run.notes.code(EMPTY_TEXT))
        run.confidence[rows] = one_array(table, prefix + "confidence").to_numpy(zero_copy_only=False)
        run.error[rows] = errors
        lengths = None
        if self.text_column and holder_of(table.schema, self.text_column):
            lengths = _text_lengths(one_array(table, self.text_column))
        for grouping, codes in self.groupings.items():
            if grouping:
                run.groups[grouping][rows] = codes.codes(table)
            group, counts, groups = run.groups[grouping][rows], run.row_counts[grouping], len(codes)
            counts.states.add(group, run.state[rows], groups, STATES)
            counts.errors.add(group[errors >= 0], errors[errors >= 0], groups, len(run.errors))
            counts.notes.add(group[notes >= 0], notes[notes >= 0], groups, len(run.notes))
            counts.reused.add(group[reused], 0, groups, 1)
            if lengths is not None:
                add_classes(counts.lengths, LENGTH_CLASSES, group, lengths, fine, groups)
        return fine

    def _facts(self, rows: slice, table: pa.Table, fine: npt.NDArray[np.int8]) -> None:
        run, reader = self.run, self.reader
        entailment = one_array(table, self.prefix + "fact_entailment")
        stored = pc.list_value_length(entailment).fill_null(UNKNOWN_FACTS).to_numpy(zero_copy_only=False)
        if reader is None or not self.fact_column or not holder_of(table.schema, self.fact_column):
            self._count_facts(rows, stored, fine)
            return
        facts = reader.read(one_array(table, self.fact_column))
        self._count_facts(rows, facts.lengths, fine)
        omitted = one_array(table, self.prefix + "omitted")
        known = omitted.is_valid().to_numpy(zero_copy_only=False) & (stored == facts.lengths)
        # A list stands for each fact only in rows that were checked; elsewhere there is nothing to align.
        row = np.repeat(np.arange(len(table)), facts.lengths)
        chosen = known[row]
        values = pc.list_flatten(entailment.filter(pa.array(known)))
        checked = np.zeros(len(row), bool)
        checked[chosen] = values.is_valid().to_numpy(zero_copy_only=False)
        failed = omitted_facts(omitted, facts.offsets) & checked
        readable = facts.predicate >= 0
        for grouping, codes in self.groupings.items():
            owner, counts = run.groups[grouping][rows][row], run.fact_counts[grouping]
            for to, mask in (
                (counts.all, readable),
                (counts.checked, checked & readable),
                (counts.omitted, failed & readable),
            ):
                to.add(owner[mask], facts.predicate[mask], len(codes), len(reader.predicates))
        self._by_object(reader, facts, checked, failed)

    def _count_facts(self, rows: slice, counts: npt.NDArray[Any], fine: npt.NDArray[np.int8]) -> None:
        """Count rows by their number of facts."""
        for grouping, codes in self.groupings.items():
            group, found = self.run.groups[grouping][rows], self.run.row_counts[grouping].facts
            add_classes(found, FACT_CLASSES, group, counts, fine, len(codes))

    def _by_object(self, reader: FactReader, facts: Facts, checked: Any, failed: Any) -> None:
        chosen = np.flatnonzero(checked & (facts.object >= 0))
        if not len(chosen):
            return
        width = len(reader.objects)
        pairs, inverse = np.unique(facts.predicate[chosen] * width + facts.object[chosen], return_inverse=True)
        all_facts = np.bincount(inverse, minlength=len(pairs)).tolist()
        omitted = np.bincount(inverse[failed[chosen]], minlength=len(pairs)).tolist()
        for pair, count, lost in zip(pairs.tolist(), all_facts, omitted, strict=True):
            names = reader.predicates.names[pair // width], reader.objects.names[pair % width]
            entry = self.run.object_counts.setdefault(names, [0, 0])
            entry[0] += count
            entry[1] += lost


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
        return find_facts(output.schema, output.columns)
    except ColumnError:  # the output of another program: a run refuses such columns
        return None


def _codes_of(grouping: Grouping, rows: int) -> npt.NDArray[np.uint16]:
    """Room for the groups of rows; that of all rows is one zero, however many there are."""
    return np.empty(rows, np.uint16) if grouping else np.broadcast_to(np.zeros(1, np.uint16), (rows,))


def _kinds(column: pa.Array, names: Names) -> npt.NDArray[np.int64]:
    """Numbers of error or note kinds: what stands before the colon; -1 for null."""
    if column.null_count == len(column):
        return np.full(len(column), NONE, np.int64)
    encoded = column.dictionary_encode()
    numbers = [names.code(str(value).partition(":")[0]) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.cast(pa.int64()).fill_null(len(numbers)).to_numpy(zero_copy_only=False)
    return np.array([*numbers, NONE], np.int64)[codes]


def _text_lengths(column: pa.Array) -> npt.NDArray[np.int32]:
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, np.int32)
    codes = None
    if pa.types.is_dictionary(column.type):
        column, codes = column.dictionary, column.indices
    if pa.types.is_string_view(column.type):  # which has no lengths; as bytes, because it may not be UTF-8
        column = column.cast(pa.large_binary()).cast(pa.large_string(), safe=False)
    lengths = pc.utf8_length(column)
    lengths = lengths if codes is None else lengths.take(codes)
    return np.asarray(lengths.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False), np.int32)
