"""One scan of an output: a few bytes of each row are kept, and the facts are counted by group and predicate.

Some 42 bytes a row stay in memory (and 8 more for each grouping), so that rates, distributions, matches and samples of
any group can be taken afterwards without reading again. Texts and facts are looked at a window at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from .facts import FactReader, Facts, Names
from .grouping import GroupCodes, Grouping

NONE = -1
UNKNOWN_FACTS = -1


@dataclass
class FactCounts:
    """Facts by group and predicate. int64, *Shape:* (groups, predicates) each.

    ``checked``: those asked of a text; ``omitted``: of these; ``all``: every fact that could be read.
    """

    checked: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, 16), np.int64))
    omitted: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, 16), np.int64))
    all: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, 16), np.int64))

    def add(self, which: str, groups: int, predicates: int, group: Any, predicate: Any) -> None:
        """Count facts: ``group`` and ``predicate``, int64, *Shape:* (facts,)."""
        counts = getattr(self, which)
        counted = np.bincount(group * predicates + predicate, minlength=groups * predicates)
        if counts.shape[0] < groups or counts.shape[1] < predicates:
            grown = np.zeros((max(groups, counts.shape[0]), max(2 * predicates, counts.shape[1])), np.int64)
            grown[: counts.shape[0], : counts.shape[1]] = counts
            setattr(self, which, counts := grown)
        counts[:groups, :predicates] += counted.reshape(groups, predicates)

    def table(self, which: str, groups: int, predicates: int) -> npt.NDArray[np.int64]:
        """One of the three as *Shape:* (groups, predicates)."""
        found = np.zeros((groups, predicates), np.int64)
        counts = getattr(self, which)[:groups, :predicates]
        found[: counts.shape[0], : counts.shape[1]] = counts
        return found


@dataclass
class ScannedRun:
    """What is known of each row. *Shape:* (rows,), ``keys`` (rows, 2).

    ``fine``: int8, position in :data:`scorer.metric.verdict.FINE`, -1 for an error. ``confidence``: float32, NaN for
    none. ``error``, ``note``: int16, positions in ``errors`` and ``notes``, -1 for none. ``facts``: int32, -1 where
    not known. ``length``: int32, characters of the text, -1 without one. ``groups``: by grouping, int64.
    ``object_counts``: (predicate, object) → facts checked and omitted, where a template depends on the object.
    ``has_facts``, ``has_text``: whether the output kept these columns.
    """

    output: Output
    keys: npt.NDArray[np.uint64]
    fine: npt.NDArray[np.int8]
    confidence: npt.NDArray[np.float32]
    error: npt.NDArray[np.int16]
    note: npt.NDArray[np.int16]
    reused: npt.NDArray[np.bool_]
    facts: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    groups: dict[Grouping, npt.NDArray[np.int64]]
    predicates: Names
    fact_counts: dict[Grouping, FactCounts]
    object_counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    errors: Names = field(default_factory=Names)
    notes: Names = field(default_factory=Names)
    has_facts: bool = False
    has_text: bool = False

    def __len__(self) -> int:
        return len(self.fine)

    @property
    def omissions_checked(self) -> bool:
        """Whether the run looked for omissions at all."""
        return parse(self.output.signature).get("checks") != "hallucination"

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """Rows with a blank text."""
        return np.asarray(self.note == self.notes.code(EMPTY_TEXT))


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
            keys=np.empty((n, 2), np.uint64),
            fine=np.empty(n, np.int8),
            confidence=np.empty(n, np.float32),
            error=np.empty(n, np.int16),
            note=np.empty(n, np.int16),
            reused=np.empty(n, bool),
            facts=np.full(n, UNKNOWN_FACTS, np.int32),
            length=np.full(n, -1, np.int32),
            groups={grouping: np.empty(n, np.int64) for grouping in groupings},
            predicates=reader.predicates if reader else Names(),
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
                self._rows(rows, window.table)
                self._facts(rows, window.table)
            seen += len(window.table)
        if seen != len(self.run):
            raise InputError(f"{self.output.path}: {seen:,} rows were read of {len(self.run):,}")
        return self.run

    def _leaves(self) -> list[str]:
        names = ("fine", "confidence", "omitted", "fact_entailment", "error", "note", "reused", "row_key")
        leaves = [self.prefix + name for name in names]
        if self.text_column:
            leaves.append(holder_of(self.output.schema, self.text_column) or self.text_column)
        if self.reader is not None and self.fact_column:
            last = ("predicate", "object") if self.reader.objects_wanted else ("predicate",)
            paths = self.output.leaves(self.fact_column, *last)
            leaves += paths if len(paths) == len(last) else [holder_of(self.output.schema, self.fact_column) or ""]
        leaves += [column for grouping in self.groupings for column in grouping]
        return list(dict.fromkeys(leaves))

    def _rows(self, rows: slice, table: pa.Table) -> None:
        run, prefix = self.run, self.prefix
        run.fine[rows] = fine_codes(one_array(table, prefix + "fine"), prefix + "fine")
        run.confidence[rows] = one_array(table, prefix + "confidence").to_numpy(zero_copy_only=False)
        run.error[rows] = _kinds(one_array(table, prefix + "error"), run.errors)
        run.note[rows] = _kinds(one_array(table, prefix + "note"), run.notes)
        run.reused[rows] = one_array(table, prefix + "reused").fill_null(False).to_numpy(zero_copy_only=False)
        run.keys[rows] = _keys(one_array(table, prefix + "row_key"))
        if self.text_column and holder_of(table.schema, self.text_column):
            run.length[rows] = _text_lengths(one_array(table, self.text_column))
        for grouping, codes in self.groupings.items():
            run.groups[grouping][rows] = codes.codes(table)

    def _facts(self, rows: slice, table: pa.Table) -> None:
        run, reader = self.run, self.reader
        entailment = one_array(table, self.prefix + "fact_entailment")
        stored = pc.list_value_length(entailment).fill_null(UNKNOWN_FACTS).to_numpy(zero_copy_only=False)
        if reader is None or not self.fact_column or not holder_of(table.schema, self.fact_column):
            run.facts[rows] = stored
            return
        facts = reader.read(one_array(table, self.fact_column))
        run.facts[rows] = facts.lengths
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
            for which, mask in (("all", readable), ("checked", checked & readable), ("omitted", failed & readable)):
                counts.add(which, len(codes), len(reader.predicates), owner[mask], facts.predicate[mask])
        self._by_object(reader, facts, checked, failed)

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


def _keys(column: pa.Array) -> npt.NDArray[np.uint64]:
    data = column.buffers()[1]
    start = column.offset * 16
    return np.frombuffer(data, np.uint64, 2 * len(column), start).reshape(-1, 2) if len(column) else _NO_KEYS


_NO_KEYS = np.empty((0, 2), np.uint64)


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


def counted_kinds(codes: npt.NDArray[np.int16], names: Sequence[str]) -> dict[str, int]:
    """Rows by kind, most frequent first; kinds that do not occur are left out."""
    counts = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
    return {names[i]: counts[i] for i in sorted(range(len(names)), key=lambda i: (-counts[i], names[i])) if counts[i]}
