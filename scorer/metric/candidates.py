"""Rows whose texts are lists of candidates, and these candidates as rows of one text each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError
from .attributes import NAME
from .column_names import ColumnNames
from .inputs import FactColumns, check_unique, is_list_of, one_array, read_facts, required_field
from .ranking import NO_CANDIDATES
from .refusals import BadRows, bad_rows, why_bad
from .rows import NULL_TEXT, Rows, from_arrow
from .subset import take_triples
from .triples import NO_TRIPLES, RowTriples

CANDIDATES = "candidates"
TEXT = "text"
"""The column of candidates unless another is named, and that of a table of single candidates."""


class CandidateColumns(FactColumns):
    """The columns of one schema where each row has a list of texts."""

    def bad_rows(self, table: pa.Table) -> BadRows | None:
        """The rows of a table that get no label, and why the first does not; ``None`` if there are none."""
        errors = self.parse(table).all_errors()

        def why(row: int) -> str:
            if errors[row] in (NO_CANDIDATES, NULL_TEXT):
                what = "no candidates" if errors[row] == NO_CANDIDATES else "null candidates alone"
                return f"has {what} in column {self.text!r}; name another column with --candidates-column"
            return why_bad(table, row, errors[row], self.text, self.facts, self.form, self.subject or NAME)

        return bad_rows(errors, len(table), why)

    def parse(self, table: pa.Table) -> Candidates:
        """The facts and candidates of a window."""
        lists = one_array(table, self.text)
        if pa.types.is_null(lists.type):  # the type that writers give a column of nothing but nulls
            lists = lists.cast(pa.list_(pa.string()))
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        return Candidates(
            read_facts(table, self.facts, self.form, self.subject),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            pc.list_flatten(lists),
            pc.is_null(lists).to_numpy(zero_copy_only=False),
            one_array(table, self.selected) if self.selected else None,
        )


@dataclass(frozen=True)
class Candidates:
    """The candidates of a window. ``triples``: the facts of each row. ``offsets``: int64, *Shape:* (rows + 1,); row *r*
    owns ``texts[offsets[r]:offsets[r + 1]]``. ``null``: bool, *Shape:* (rows,), rows whose list is null.
    ``selected``: the selection of each row, if there is one."""

    triples: RowTriples
    offsets: npt.NDArray[np.int64]
    texts: pa.Array
    null: npt.NDArray[np.bool_]
    selected: pa.Array | None

    @property
    def owner(self) -> npt.NDArray[np.int64]:
        """The row of each candidate. int64, *Shape:* (candidates,)."""
        return np.repeat(np.arange(len(self.triples)), np.diff(self.offsets))

    def piece(self, start: int, end: int) -> CandidatePiece:
        """The candidates from one position to another."""
        return CandidatePiece(self, self.owner[start:end])

    def errors(self) -> dict[int, str]:
        """By row, why none of its candidates can have a label: its facts, or because there are none."""
        found = dict.fromkeys(np.flatnonzero(np.diff(self.offsets) == 0).tolist(), NO_CANDIDATES)
        found.update(dict.fromkeys(np.flatnonzero(self.triples.lengths == 0).tolist(), NO_TRIPLES))
        found.update(self.triples.errors)
        return found

    def all_errors(self) -> dict[int, str]:
        """By row, why none of its candidates can be scored: as :meth:`errors`, or the error of its first candidate."""
        found = self.errors()
        errors = self.piece(0, len(self.texts)).rows(pa.table({TEXT: self.texts})).errors
        failed = np.bincount(self.owner[list(errors)], minlength=len(self.triples))
        for row in np.flatnonzero((failed == np.diff(self.offsets)) & (failed > 0)).tolist():
            found.setdefault(row, errors[int(self.offsets[row])])
        return found


@dataclass(frozen=True)
class CandidatePiece:
    """Some candidates as rows of one text each: columns of a table that has the column :data:`TEXT` alone.

    ``owner``: int64, *Shape:* (rows,), the row in ``source`` that each belongs to.
    """

    source: Candidates
    owner: npt.NDArray[np.int64]
    passed: tuple[str, ...] = ()
    needed: Sequence[str] = (TEXT,)
    keeps_all: bool = False

    @property
    def shape(self) -> dict[str, object]:
        """Of no use to a receipt: a run writes the rows of ``source``."""
        return {}

    def bad_rows(self, table: pa.Table) -> None:
        """A run asks the columns of the shard."""

    def rows(self, table: pa.Table) -> Rows:
        """The candidates of the table, each with the facts of its row."""
        selected = None if self.source.selected is None else self.source.selected.take(pa.array(self.owner))
        return from_arrow(take_triples(self.source.triples, self.owner), one_array(table, TEXT), selected)


def find_candidates(
    schema: pa.Schema, names: ColumnNames, candidates: str, added: Sequence[pa.Field]
) -> CandidateColumns:
    """Find and check the columns of a schema.

    Args:
        candidates: the column of candidates.
        added: the output columns, without the prefix.

    Raises:
        ColumnError: a column is missing, has a type that cannot be read, occurs twice, or has an output column's name.
    """
    check_unique(schema)
    kind = required_field(schema, candidates, "candidates", "--candidates-column").type
    if not (pa.types.is_null(kind) or is_list_of(kind, "text")):
        raise ColumnError(
            f"column {candidates!r} is {kind}, but candidates are list<string>, the texts to choose from; name another "
            "with --candidates-column"
        )
    return CandidateColumns.find(schema, names, candidates, added)
