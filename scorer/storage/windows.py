"""Windows: the rows of a shard, cut as a pure function of them and of the budgets of a plan, checked, and written as
the row groups of a Parquet file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import lib, types

from ..errors import OutputError
from ..system.files import sha256_of
from .local_files import crash_point, create_file, discard, output_errors
from .receipts import WrittenFile

COMPRESSION_LEVEL = 1
Sizes = npt.NDArray[np.int64]
_WIDTHS = {
    **dict.fromkeys((lib.Type_STRING, lib.Type_BINARY, lib.Type_LIST), 4),
    **dict.fromkeys((lib.Type_LARGE_STRING, lib.Type_LARGE_BINARY, lib.Type_LARGE_LIST, lib.Type_LIST_VIEW), 8),
    **dict.fromkeys((lib.Type_STRING_VIEW, lib.Type_BINARY_VIEW, lib.Type_LARGE_LIST_VIEW), 16),
}
"""Bytes of the offset or the view of a value, by type."""


def cut(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    *,
    max_rows: int,
    max_bytes: int,
    first_rows: Sequence[int] = (),
) -> Iterator[pa.Table]:
    """Cut a stream of batches into windows.

    A window ends where the next row would make it exceed ``max_rows`` rows or ``max_bytes`` bytes; a row that exceeds
    ``max_bytes`` alone is its own window, and no rows are one empty window. Each table has one chunk per column, unless
    Arrow cannot join them.

    Args:
        batches: the rows.
        schema: schema of the batches.
        max_rows: most rows of a window.
        max_bytes: most bytes of a window, but for a single row that has more.
        first_rows: most rows of the first windows, where they are to be smaller.
    """
    pending: list[pa.RecordBatch] = []
    begin = rows = size = 0
    firsts = list(zip(accumulate(first_rows), first_rows, strict=True))
    for batch in batches:
        count, start = batch.num_rows, 0
        ends = np.append(0, np.cumsum(sum(map(row_bytes, batch.columns), np.zeros(count, np.int64))))
        while start < count:
            largest = min(next((most for end, most in firsts if begin < end), max_rows), max_rows)
            fits = int(np.searchsorted(ends, ends[start] + max_bytes - size, side="right")) - 1 - start
            take = min(fits, largest - rows, count - start)
            if take <= 0 and rows == 0:
                take = 1
            if take > 0:
                pending.append(batch.slice(start, take))
                rows += take
                size += int(ends[start + take] - ends[start])
                start += take
            if rows >= largest or (take <= 0 and rows):
                yield join(pending, schema)
                begin += rows
                pending, rows, size = [], 0, 0
    if rows or not begin:
        yield join(pending, schema)


def join(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """One table of several batches, with one chunk per column where possible. The dictionaries of a row group depend on
    how the file was written, so those without an order have the used values in the order of their first use."""
    table = pa.Table.from_batches(batches, schema)
    try:
        table = table.combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowCapacityError):
        return table
    for i, field in enumerate(schema):
        if types.is_dictionary(field.type) and not field.type.ordered and table.num_rows:
            chunks = [_compact(chunk) for chunk in table.column(i).chunks]
            table = table.set_column(i, field, pa.chunked_array(chunks, field.type))
    return table


def _compact(array: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same values with a dictionary of the used ones, in the order of their first use."""
    indices = array.indices
    used = indices.unique().drop_null()
    new_codes = np.zeros(max(len(array.dictionary), 1), np.int64)
    new_codes[used.to_numpy()] = np.arange(len(used))
    mask = indices.is_null().to_numpy(zero_copy_only=False) if indices.null_count else None
    compacted = pa.array(new_codes[indices.fill_null(0).to_numpy()], mask=mask).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(compacted, array.dictionary.take(used))


def row_bytes(array: pa.Array) -> Sizes:
    """Bytes of each row: int64, *Shape:* (rows,). Row groups, pages and batches have no influence.

    Fixed-width values count their width (a Boolean one byte), texts and lists an offset and their content, a view of a
    text 16 bytes and its content, a view of a list two offsets, structs the sum of their fields, null type nothing. A
    null counts as an empty value.
    """
    kind, rows = array.type, len(array)
    if isinstance(array, pa.ExtensionArray):
        return row_bytes(array.storage)
    if types.is_struct(kind):
        return sum((row_bytes(array.field(i)) for i in range(kind.num_fields)), np.zeros(rows, np.int64))
    if types.is_map(kind):
        content = np.append(0, np.cumsum(row_bytes(array.keys) + row_bytes(array.items)))
        return np.diff(content[array.offsets.to_numpy()]) + 4
    if types.is_dictionary(kind):
        values = np.append(row_bytes(array.dictionary), 0)  # the last one is that of null
        indices = array.indices.cast(pa.int64()).fill_null(len(values) - 1)
        return values[indices.to_numpy()] + kind.index_type.bit_width // 8
    width = _WIDTHS.get(kind.id, 0)
    if kind.num_fields:
        bounds = np.append(0, np.cumsum(pc.list_value_length(array).fill_null(0).to_numpy(), dtype=np.int64))
        return np.diff(np.append(0, np.cumsum(row_bytes(array.flatten())))[bounds]) + width
    if width:
        values = array.cast(pa.large_binary()) if width == 16 else array  # no length is computed of a view
        return pc.binary_length(values).fill_null(0).to_numpy().astype(np.int64) + width
    fixed = 0 if types.is_null(kind) else 1 if types.is_boolean(kind) else kind.bit_width // 8
    return np.full(rows, fixed, np.int64)


class ShardWriter:
    """Writer of one Parquet file. The same tables, schema and metadata give the same bytes. A method that fails
    (:class:`.OutputError`) deletes the file.

    Args:
        temporary: the file to write, which does not exist yet.
        schema: schema of all tables; its metadata is kept.
        metadata: metadata to add.
        path: final name of the file, for messages.
    """

    def __init__(
        self, temporary: Path, schema: pa.Schema, *, metadata: Mapping[str, str] | None = None, path: Path
    ) -> None:
        self._temporary, self._path, self._rows, self._is_finished = temporary, path, 0, False
        self._metadata = {key.encode(): value.encode() for key, value in (metadata or {}).items()}
        self._schema = schema.with_metadata({**(schema.metadata or {}), **self._metadata})
        self._parquet: Any = None
        with output_errors("write", path):
            self._file = create_file(temporary)
        with self._or_abandoned():
            self._parquet = pq.ParquetWriter(
                self._file,
                self._schema,
                compression="zstd",
                compression_level=COMPRESSION_LEVEL,
                write_page_checksum=True,
                store_schema=True,
            )

    def write(self, table: pa.Table) -> None:
        """Append a table as one row group; one without rows adds nothing."""
        with self._or_abandoned():
            if not table.schema.equals(self._schema):
                raise OutputError(f"{self._path}: the columns of a later window differ from those of the first")
            if table.num_rows:
                self._parquet.write_table(table, row_group_size=table.num_rows)
        self._rows += table.num_rows

    def finish(self) -> WrittenFile:
        """Close, sync once, read back and check the file, and leave it under its temporary name."""
        with self._or_abandoned():
            crash_point("output", "written")
            self._parquet.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            # Opened here and not by pyarrow, which takes some names for URIs and cannot open names that are not UTF-8.
            with self._temporary.open("rb") as file:
                size, digest = os.fstat(file.fileno()).st_size, sha256_of(file)
                parquet = pq.ParquetFile(file)
                metadata, names = parquet.metadata, parquet.schema_arrow.names
            if metadata.num_rows != self._rows:
                raise OSError(f"{metadata.num_rows} rows were read back, {self._rows} written")
            if names != self._schema.names:
                raise OSError(f"the columns {names} were read back")
            if not self._metadata.items() <= (metadata.metadata or {}).items():
                raise OSError("the metadata was not read back as written")
        self._is_finished = True
        return WrittenFile(digest, size, self._rows)

    @contextmanager
    def _or_abandoned(self) -> Iterator[None]:
        try:
            with output_errors("write", self._path):
                yield
        except pa.ArrowException as error:
            self.abandon()
            raise OutputError(f"cannot write {self._path} as Parquet: {error}") from error
        except OutputError:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Delete the file; does nothing after :meth:`finish`."""
        if self._is_finished:
            return
        # Closing writes a footer. This may fail as the writes before it did, but the file is deleted anyway.
        with suppress(OSError, pa.ArrowException):
            if self._parquet is not None:
                self._parquet.close()
        with suppress(OSError):
            self._file.close()
        discard(self._temporary)
