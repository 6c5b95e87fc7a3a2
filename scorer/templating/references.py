"""References: rows of one triple with a sentence that expresses it, read from Parquet in windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..metric.inputs import ColumnNames, find_columns, find_facts, one_array
from ..metric.nested import holders_of
from ..metric.rows import Rows
from ..metric.triples import Triple
from ..scoring.windows import WINDOW_BYTES, WINDOW_ROWS
from ..storage import ShardReader, resolve_inputs


@dataclass
class References:
    """The references of the inputs.

    ``counts``: how often each distinct (triple, sentence) occurs, in the order of the data. ``rows``: number of
    references read. ``rejected``: by reason, the number of references that
    are not a sentence with one triple.
    """

    counts: dict[tuple[Triple, str], int] = field(default_factory=dict)
    rows: int = 0
    rejected: Counter[str] = field(default_factory=Counter)


def read_references(inputs: Sequence[str], names: ColumnNames) -> References:
    """Read all references of the inputs. The text column holds strings, or lists of strings.

    Raises:
        InputError, ShardError: nothing to read, or a shard that cannot be read.
        ColumnError: a column is missing, or of a type that cannot be read.
    """
    result = References()
    with ShardReader() as reader:
        for file in resolve_inputs(inputs):
            schema = reader.probe(file.uri).schema
            wanted = _needed(schema, names)
            for table in reader.windows(file.uri, max_rows=WINDOW_ROWS, max_bytes=WINDOW_BYTES, columns=wanted or None):
                _add(result, _one_text_a_row(table, names.text), names)
    return result


def _needed(schema: pa.Schema, names: ColumnNames) -> list[str]:
    facts = find_facts(schema, names)
    read = (names.text, *(facts[:1] if facts else ()), names.subject or "")
    holders = {holder for name in read for holder in holders_of(schema, name)}
    return [name for name in schema.names if name in holders]


def _one_text_a_row(table: pa.Table, name: str) -> pa.Table:
    """A row with a list of texts becomes one row per text; an empty or null list gives none."""
    position = table.schema.get_field_index(name)
    if position < 0:
        return table
    kind = table.schema.field(position).type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return table
    column = one_array(table, name)
    return table.take(pc.list_parent_indices(column)).set_column(position, name, pc.list_flatten(column))


def _add(result: References, table: pa.Table, names: ColumnNames) -> None:
    columns = find_columns(table.schema, names.inputs()).with_triples("templates are for triples")
    rows = columns.rows(table)
    result.rows += len(rows)
    result.rejected.update(rows.errors.values())
    good = np.ones(len(rows), bool)
    good[list(rows.errors)] = False
    several = good & (rows.triples.lengths > 1)
    result.rejected.update({"several_triples": int(several.sum())} if several.any() else {})
    for triple, text, count in _distinct(rows, np.flatnonzero(good & ~several)):
        if text.strip():
            result.counts[triple, text] = result.counts.get((triple, text), 0) + count
        else:
            result.rejected["blank_text"] += count


def _distinct(rows: Rows, chosen: npt.NDArray[np.int64]) -> Iterator[tuple[Triple, str, int]]:
    """Each distinct (triple, text) of the chosen rows with its count, by first occurrence."""
    ids = rows.triples.ids[rows.triples.offsets[chosen]].astype(np.int64)
    pairs = np.stack([ids, rows.text_codes[chosen]], axis=1)
    found, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
    for i in np.argsort(first, kind="stable").tolist():
        text = rows.texts[int(found[i, 1])]
        if text is not None:
            yield rows.triples.distinct[int(found[i, 0])], text, int(counts[i])
