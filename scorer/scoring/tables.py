"""Tables as Python programs have them: pyarrow, polars, pandas, lists of dictionaries, or the path of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import ColumnError
from ..system.arguments import described
from .windows import WINDOW_BYTES, WINDOW_ROWS

Back = Callable[[pa.Table], Any]
"""Turns a table of Arrow into the kind of table that was given."""
FORMS = "a table or record batch of pyarrow, a DataFrame of polars or pandas, or a list of dictionaries"


def as_table(given: Any, what: str = "table") -> tuple[pa.Table, Back]:
    """A table as one of Arrow, and the way back to its own kind. No copy is made where none is needed.

    Args:
        what: names it in messages.

    Raises:
        TypeError: another kind of object.
        ColumnError: a column of Python objects that have no common type.
    """
    if isinstance(given, pa.Table):
        return given, lambda table: table
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given]), _as_batch
    if isinstance(given, list) and all(isinstance(row, Mapping) for row in given):
        return _from_rows(given, what)
    library = type(given).__module__.partition(".")[0]
    if library == "polars" and hasattr(given, "to_arrow"):
        return _converted(given.to_arrow, what), _as_polars
    if library == "pandas" and hasattr(given, "columns"):
        index = given.index

        def back(table: pa.Table) -> Any:
            return table.to_pandas().set_axis(index)

        return _converted(lambda: pa.Table.from_pandas(given, preserve_index=False), what), back
    raise TypeError(f"{what} is {described(given)}; give {FORMS}")


def read_table(path: str | Path) -> pa.Table:
    """All rows of a Parquet, CSV, TSV or JSON Lines file, by its suffix.

    Raises:
        ShardError: it cannot be read.
    """
    from ..storage import ShardReader

    with ShardReader() as reader:
        tables = list(reader.windows(os.fspath(path), max_rows=WINDOW_ROWS, max_bytes=WINDOW_BYTES))
    return pa.concat_tables(tables)


def _from_rows(rows: list[Mapping[str, Any]], what: str) -> tuple[pa.Table, Back]:
    """Objects and lists whose values are of several types are read as strings of JSON, as from a JSON Lines file, and
    come back as they were given."""
    given = {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
    as_json = {}
    for name, values in given.items():
        try:
            pa.array(values)
        except (pa.ArrowException, UnicodeError):
            if all(value is None or isinstance(value, str | list | tuple | Mapping) for value in values):
                with suppress(TypeError, ValueError):
                    as_json[name] = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]

    def back(table: pa.Table) -> list[dict[str, Any]]:
        changed = [name for name in as_json if name in table.column_names]
        return [{**row, **{name: given[name][i] for name in changed}} for i, row in enumerate(table.to_pylist())]

    return _converted(lambda: pa.table({**given, **as_json}), what), back


def _converted(convert: Callable[[], pa.Table], what: str) -> pa.Table:
    try:
        return convert()
    except (pa.ArrowException, UnicodeError) as error:
        raise ColumnError(
            f"{what} has a column whose values have no common type: {' '.join(str(error).split())}; triples with parts "
            "of several types may be strings of JSON"
        ) from error


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def _as_polars(table: pa.Table) -> Any:
    import polars

    return polars.from_arrow(table)
