"""Run a baseline over input files and write one Parquet file with a run's output columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from ...errors import ColumnError, InputError
from ...metric.columns import OUTPUT
from ...metric.inputs import ColumnNames, InputColumns, find_columns
from ...scoring.signature import Signature
from ...storage import ShardReader, ShardWriter, resolve_inputs
from ...storage.user_files import check_user_file, staged
from .judges import Judge, is_scored

REVISION = 1
"""Part of the signature; increased whenever a baseline's labels change."""
WINDOW_ROWS, WINDOW_BYTES = 16384, 32 << 20


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
    check_user_file(out, "--out", inputs=[file.uri for file in files], is_parquet=True)
    with staged(out, "--out") as place, ShardReader() as reader:
        try:
            for file in files:
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
    if judge.keeps_labels and is_scored(schema):
        names = replace(names, keep=tuple(name for name in schema.names if name not in OUTPUT.names))
    return inputs_of(judge, schema, names)


def inputs_of(judge: Judge, schema: pa.Schema, names: ColumnNames) -> InputColumns:
    """The columns that a baseline reads.

    Raises:
        ColumnError: as a run; the facts are sentences, and the baseline looks into triples.
    """
    found = find_columns(schema, names)
    return found.with_triples(f"the baseline {judge.name} needs triples") if judge.needs_triples else found


def signature_of(judge: Judge) -> Signature:
    """The signature of a baseline's scores."""
    return Signature(f"baseline:{judge.name}|metric:{REVISION}{judge.depends_on}")


def _signature(judge: Judge, schema: pa.Schema) -> Signature:
    """That of the baseline; where a run's labels are kept, the run's own."""
    earlier = Signature.of_footer(schema.metadata)
    if judge.keeps_labels and is_scored(schema) and earlier.line:
        return earlier
    return signature_of(judge)
