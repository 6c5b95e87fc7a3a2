"""Rows of an output, for ``scorer show``: filtered and sorted by DuckDB, which sees this output alone.

The rows are handed to DuckDB batch by batch, so that an output larger than the memory can be listed; it may not open a
file, load an extension, or see a variable of this process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from ..errors import ColumnError, UsageError
from ..metric.verdict import FINE
from ..scoring.outputs import Output
from . import RowQuery

PLACE = "row"
"""The column that names a row as ``scorer explain --row`` takes it: ``part-0.parquet:17``."""
_BATCH = 1 << 14
_SHOWN = ("id", "system")
_LABELS = ("fine", "confidence", "error", "note")


def list_rows(output: Output, query: RowQuery, *, every_column: bool = False) -> Iterator[pa.RecordBatch]:
    """The rows of an output that a query asks for; the first batch may be empty.

    Args:
        every_column: show all columns unless the query names some; otherwise the place, label and text of a row.

    Raises:
        InputError: a file cannot be read. ColumnError: no such column. UsageError: a label or a condition that is
            not one; says what DuckDB says.
    """
    import duckdb

    fields = {field.name: field for field in output.schema}
    names = [name for name in output.names if name != PLACE]
    schema = pa.schema([(PLACE, pa.string()), *(fields.get(name, pa.field(name, pa.string())) for name in names)])
    columns = [name.strip() for name in (query.columns or "").split(",") if name.strip()]
    sort = query.sort
    for name in (*columns, *((sort.removeprefix("-"),) if sort else ())):
        if name not in schema.names:
            raise ColumnError(f"no column {name!r}; the columns are {', '.join(schema.names)}")
    prefix = output.columns.prefix
    usual = (PLACE, *_SHOWN, *(prefix + name for name in _LABELS), output.columns.text)
    shown = columns or (schema.names if every_column else [name for name in usual if name in schema.names])
    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": False,
        "python_enable_replacements": False,
        "memory_limit": "1GB",
    }
    with duckdb.connect(config=settings) as connection:
        connection.execute("SET enable_progress_bar = false; SET lock_configuration = true")
        try:
            rows = connection.from_arrow(pa.RecordBatchReader.from_batches(schema, _batches(output, schema)))
            for condition in _conditions(query, prefix, schema.names):
                rows = rows.filter(condition)
            if sort:
                direction = "DESC" if sort.startswith("-") else "ASC"
                rows = rows.order(f"{_quoted(sort.removeprefix('-'))} {direction} NULLS LAST")
            if query.limit is not None:
                rows = rows.limit(query.limit)
            yield from rows.project(", ".join(map(_quoted, shown))).to_arrow_reader(_BATCH)
        except duckdb.Error as e:
            reason = str(e).split("\n", 1)[0]
            advice = "; write CAST(column AS DOUBLE) for a column of text" if "VARCHAR" in reason else ""
            raise UsageError(f"--where {query.where!r}: {reason}{advice}") from e


def _batches(output: Output, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """All rows with the columns of the schema, those that a file lacks as null."""
    for window in output.windows(schema.names[1:]):
        file, row = output.locate(window.first)
        file = file or output.outs[0].name
        places = pa.array([f"{file}:{row + i}" for i in range(len(window.table))], pa.string())
        table = window.table.drop_columns([PLACE]) if PLACE in window.table.schema.names else window.table
        table = table.append_column(PLACE, places)
        for name in schema.names:
            if name not in table.schema.names:
                table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
        yield from table.select(schema.names).cast(schema).to_batches()


def _conditions(query: RowQuery, prefix: str, names: Sequence[str]) -> Iterator[str]:
    label = next((prefix + name for name in ("fine", "rough") if prefix + name in names), None)
    if (query.not_ok or query.labels) and label is None:
        raise ColumnError(f"no column {prefix + 'fine'!r}: score the data first, with `scorer run`")
    if query.not_ok:
        yield f"{_quoted(label or '')} IS DISTINCT FROM 'OK'"
    if query.labels:
        unknown = [one for one in query.labels if one not in (*FINE, "not_OK")]
        if unknown:
            raise UsageError(f"--label {unknown[0]!r} is not one of {', '.join(FINE)}")
        yield f"{_quoted(label or '')} IN ({', '.join(repr(one) for one in query.labels)})"
    if query.where:
        yield query.where


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
