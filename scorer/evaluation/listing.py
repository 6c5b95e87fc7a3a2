"""Rows of an output, for ``scorer show``: filtered and sorted by DuckDB, which sees this output alone.

The rows are handed to DuckDB batch by batch, so that an output larger than the memory can be listed; it may not open a
file, load an extension, or see a variable of this process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ..errors import ColumnError, UsageError
from ..metric.verdict import FINE
from ..scoring.output_files import data_files, guarded, open_parquet, run_columns, schema_of
from ..scoring.partitions import partition_keys, with_partition_keys
from ..scoring.places import shard_place
from ..scoring.plan import Plan

PLACE = "row"
"""The column that names a row as ``scorer explain --row`` takes it: ``part-0.parquet:17``."""
_BATCH = 1 << 14
_SHOWN = ("id", "system", "text")
_LABELS = ("fine", "confidence", "error", "note")


@dataclass(frozen=True)
class RowQuery:
    """Which rows, in which order. ``labels``: FINE labels to keep. ``not_ok``: leave out rows that are OK. ``where``: a
    condition in SQL. ``sort``: column to sort by, ``-`` before it for the falling order. ``limit``: ``None`` for all.
    ``columns``: to show; by default some."""

    not_ok: bool = False
    labels: tuple[str, ...] = ()
    where: str | None = None
    sort: str | None = None
    limit: int | None = None
    columns: tuple[str, ...] = ()


def list_rows(path: Path, query: RowQuery, *, every_column: bool = False) -> Iterator[pa.RecordBatch]:
    """The rows of an output folder or a scored file that a query asks for; the first batch may be empty.

    Args:
        every_column: show all columns unless the query names some; otherwise the place, label and text of a row.

    Raises:
        InputError: nothing to read. ColumnError: a column is not there. UsageError: a label or a condition that is not
            one; says what DuckDB says.
    """
    import duckdb

    files, prefix = data_files(path), run_columns(path).prefix
    schema = _schema(path, files)
    for name in (*query.columns, *((query.sort.removeprefix("-"),) if query.sort else ())):
        if name not in schema.names:
            raise ColumnError(f"no column {name!r}; the columns are {', '.join(schema.names)}")
    shown = query.columns or tuple(schema.names if every_column else _default(schema.names, path, prefix))
    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": False,
        "python_enable_replacements": False,
        "memory_limit": "1GB",
    }
    with duckdb.connect(config=settings) as connection:
        connection.execute("SET enable_progress_bar = false; SET lock_configuration = true")
        try:
            rows = connection.from_arrow(pa.RecordBatchReader.from_batches(schema, _batches(path, files, schema)))
            for condition in _conditions(query, prefix, schema.names):
                rows = rows.filter(condition)
            if query.sort:
                direction = "DESC" if query.sort.startswith("-") else "ASC"
                rows = rows.order(f"{_quoted(query.sort.removeprefix('-'))} {direction} NULLS LAST")
            if query.limit is not None:
                rows = rows.limit(query.limit)
            yield from rows.project(", ".join(map(_quoted, shown))).to_arrow_reader(_BATCH)
        except duckdb.Error as e:
            reason = str(e).split("\n", 1)[0]
            advice = "; write CAST(column AS DOUBLE) for a column of text" if "VARCHAR" in reason else ""
            raise UsageError(f"--where {query.where!r}: {reason}{advice}") from e


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


def _default(names: Sequence[str], path: Path, prefix: str) -> list[str]:
    text = run_columns(path).text
    wanted = [PLACE, *(name for name in _SHOWN[:2]), *(prefix + name for name in _LABELS), text]
    return [name for name in dict.fromkeys(wanted) if name in names]


def _schema(path: Path, files: Sequence[Path]) -> pa.Schema:
    """The columns of the first file, the partition keys of its path, and the place of a row unless a column has that
    name."""
    first = schema_of(files[0]).remove_metadata()
    keys = partition_keys(files[0].relative_to(path).as_posix()) if path.is_dir() else {}
    added = [pa.field(name, pa.string()) for name in (PLACE, *keys) if name not in first.names]
    return pa.schema([*added, *first])


def _batches(path: Path, files: Sequence[Path], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    plan = Plan.load(path) if path.is_dir() else None
    for file in files:
        relative = file.relative_to(path).as_posix() if path.is_dir() else file.name
        shard, row = shard_place(relative, plan.inputs if plan is not None else {})
        with open_parquet(file) as parquet:
            wanted = [name for name in schema.names if name in parquet.schema_arrow.names]
            batches = parquet.iter_batches(batch_size=_BATCH, columns=wanted)
            while (batch := guarded(file, next, batches, None)) is not None:
                table = with_partition_keys(pa.Table.from_batches([batch]), relative, schema.names)
                if PLACE not in table.schema.names:
                    places = pa.array([f"{shard}:{row + i}" for i in range(len(batch))], pa.string())
                    table = table.append_column(PLACE, places)
                missing = [name for name in schema.names if name not in table.schema.names]
                for name in missing:
                    table = table.append_column(name, pa.nulls(len(batch), schema.field(name).type))
                yield from table.select(schema.names).cast(schema).to_batches()
                row += len(batch)
