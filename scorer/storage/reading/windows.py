"""Cut a shard into windows, as a pure function of its rows and of its budgets.

Row groups, pages and the sizes of the batches that are read have no influence, so that a resumed run, or one that ran
out of memory and read smaller batches, gets the same windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from .sizes import batch_bytes


def most_rows(start: int, max_rows: int, first_rows: Iterable[int]) -> int:
    """The largest number of rows of a window that begins ``start`` rows after the first row of a shard or piece.

    Args:
        first_rows: of the first windows.
    """
    end = 0
    for rows in first_rows:
        end += rows
        if start < end:
            return min(rows, max_rows)
    return max_rows


def cut(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    *,
    max_rows: int,
    max_bytes: int,
    first_rows: Sequence[int] = (),
    begin: int = 0,
) -> Iterator[pa.Table]:
    """Cut a stream of batches into windows.

    Args:
        first_rows: rows of the first windows of the shard or piece, where they are to be smaller (:func:`most_rows`).
        begin: number of the first of these rows in the shard or piece.

    A window ends where the next row would make it exceed ``max_rows`` rows or ``max_bytes`` bytes; a row that exceeds
    ``max_bytes`` alone is its own window. Each table has one chunk per column, unless Arrow cannot join them.
    """
    held: list[pa.RecordBatch] = []
    rows = size = 0
    largest = most_rows(begin, max_rows, first_rows)
    for batch in batches:
        count, start = batch.num_rows, 0
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(batch_bytes(batch))])
        while start < count:
            fits = int(np.searchsorted(ends, ends[start] + max_bytes - size, side="right")) - 1 - start
            take = min(fits, largest - rows, count - start)
            if take <= 0 and rows == 0:
                take = 1
            if take > 0:
                held.append(batch.slice(start, take))
                rows += take
                size += int(ends[start + take] - ends[start])
                start += take
            if rows >= largest or (take <= 0 and rows):
                yield join(held, schema)
                begin += rows
                largest = most_rows(begin, max_rows, first_rows)
                held, rows, size = [], 0, 0
    if rows:
        yield join(held, schema)


def join(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """One table of several batches, with one chunk per column where possible, and dictionaries reduced to used values.

    A dictionary read from Parquet is that of a whole row group: it could be larger than the window, and it depends on
    how the file was written. So the used values are put in the order of their first use. An ordered dictionary keeps
    its order.
    """
    table = pa.Table.from_batches(batches, schema)
    try:
        table = table.combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowCapacityError):
        return table
    for i, field in enumerate(schema):
        if pa.types.is_dictionary(field.type) and not field.type.ordered and table.num_rows:
            chunks = [_compact(chunk) for chunk in table.column(i).chunks]
            table = table.set_column(i, field, pa.chunked_array(chunks, field.type))
    return table


def _compact(array: pa.DictionaryArray) -> pa.DictionaryArray:
    indices = array.indices
    used = indices.unique().drop_null()
    places = np.zeros(max(len(array.dictionary), 1), np.int64)
    places[used.to_numpy()] = np.arange(len(used))
    moved = places[indices.fill_null(0).to_numpy()]
    mask = indices.is_null().to_numpy(zero_copy_only=False) if indices.null_count else None
    again = pa.array(moved, mask=mask).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(again, array.dictionary.take(used))
