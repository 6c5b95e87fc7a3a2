"""A scored output with its gold columns, as Arrow columns and small integers, and which of its rows share an input.

Rows never become objects; the bootstrap draws inputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError
from ..metric.facts import FactTable
from ..metric.inputs import find_columns, one_array
from ..metric.options import ColumnNames
from ..metric.paths import find_field, holders_of
from ..scoring.output_columns import group_codes, numbers
from ..scoring.outputs import Output
from ..scoring.signature import optional_of, parse
from ..scoring.summary import RunSummary


@dataclass(frozen=True)
class Scored:
    """A scored folder or file.

    ``table``: the columns that were asked for, all files concatenated. ``signature``: the same in all files, ``None``
    if they have none. ``finished``: whether the run is complete (always true for a single file). ``summary``: its
    ``_run.json``, ``None`` if there is none.
    """

    table: pa.Table
    signature: str | None
    finished: bool
    summary: RunSummary | None

    @property
    def omissions_checked(self) -> bool:
        """Whether the run checked for omissions, according to its signature."""
        return not self.signature or parse(self.signature).get("checks") != "hallucination"

    @property
    def optional(self) -> frozenset[str]:
        """The optional facts, as the signature lists them (``eatType=restaurant``)."""
        return frozenset("=".join(pair) for pair in optional_of(self.signature or ""))

    def has(self, name: str) -> bool:
        """Whether the table has this column, or a field of a struct of this name with dots."""
        return bool(holders_of(self.table.schema, name))

    def array(self, name: str) -> pa.Array:
        """A column as one array."""
        return one_array(self.table, name)


def load(output: Output, columns: Iterable[str] | None = None) -> Scored:
    """Read a scored output.

    Args:
        columns: read only those of these columns that exist; all columns by default. A missing column is not an error
        here: the code that needs it reports it.

    Raises:
        InputError: a file cannot be read, files of different columns.
    """
    wanted = None
    if columns is not None:
        found = [holder for name in dict.fromkeys(columns) for holder in holders_of(output.schema, name) or [name]]
        wanted = list(dict.fromkeys(found))
    return Scored(
        output.table(wanted),
        output.signature or None,
        output.coverage.is_complete,
        output.summary if output.runs and len(output.runs) == len(output.outs) else None,
    )


@dataclass(frozen=True)
class Inputs:
    """The input of each row.

    ``codes``: int64, *Shape:* (rows,), equal for rows of the same input. ``lengths``: int64, *Shape:* (rows,), number
    of facts of each row, or ``None``. ``known`` is False if no column identifies the inputs; each row then counts as
    its own input, and there are no intervals.
    """

    codes: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64] | None
    known: bool = True


def find_inputs(scored: Scored, names: ColumnNames, column: str | None = None) -> Inputs:
    """Identify inputs by their facts in any order, or by the values of a column.

    A row whose facts do not parse is its own input. If the column of facts is missing or has another type, the number
    of facts is the length of the stored ``fact_entailment``, or the value of the column ``n_triples``.

    Raises:
        ColumnError: ``column`` does not exist, or has lists or structs.
    """
    if column is not None and not scored.has(column):
        raise ColumnError(f"--input-column {column!r}: no such column; name a column of the scored files")
    by_column = group_codes(scored.array(column))[0] if column is not None else None
    parsed = _facts(scored, names)
    if parsed is None:
        codes = by_column if by_column is not None else np.arange(len(scored.table))
        return Inputs(codes, _stored_lengths(scored, names.prefix), by_column is not None)
    return Inputs(by_column if by_column is not None else _by_facts(parsed), parsed.lengths)


def _facts(scored: Scored, names: ColumnNames) -> FactTable | None:
    """The facts of all rows, read from the column that a run would read; ``None`` without one."""
    forms = (names.triples, names.attributes, names.facts, names.mr)
    candidates = [name or form for name, form in zip(forms, ("triples", "attributes", "facts", "mr"), strict=True)]
    candidates += [name for name in (names.subject, names.document) if name]
    known = [name for name in dict.fromkeys(candidates) if scored.has(name)]
    fields = [find_field(scored.table.schema, name) for name in known]
    schema = pa.schema([("", pa.string()), *(field for field in fields if field is not None)])
    try:
        found = find_columns(schema, replace(names, text="", keep=()))
    except ColumnError:
        return None
    return found.triples(pa.table({name: scored.array(name) for name in known}))


def _by_facts(parsed: FactTable) -> npt.NDArray[np.int64]:
    seen: dict[bytes, int] = {}
    codes = np.empty(len(parsed), np.int64)
    for row, (start, end) in enumerate(pairwise(parsed.offsets.tolist())):
        key = np.sort(parsed.ids[start:end]).tobytes() or b"row %d" % row
        codes[row] = seen.setdefault(key, len(seen))
    return codes


def _stored_lengths(scored: Scored, prefix: str) -> npt.NDArray[np.int64] | None:
    name = prefix + "fact_entailment"
    if scored.has(name) and pa.types.is_list(scored.array(name).type):
        lengths = numbers(pc.list_value_length(scored.array(name)), name)
    elif scored.has("n_triples"):
        lengths = numbers(scored.array("n_triples"), "n_triples")
    else:
        return None
    return np.nan_to_num(lengths, posinf=0, neginf=0).astype(np.int64)
