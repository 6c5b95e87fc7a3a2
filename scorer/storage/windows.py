"""Windows: the rows of a shard, cut as a pure function of them and of the budgets of a plan.

Row groups, pages and the sizes of the batches that are read have no influence, so that a resumed run, or one that ran
out of memory and read smaller batches, gets the same windows. So a row counts as many bytes as its value has: a
dictionary-encoded value counts as an index and the value, in every row that has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

Sizes = npt.NDArray[np.int64]


def most_rows(start: int, max_rows: int, first_rows: Iterable[int]) -> int:
    """The largest number of rows of a window that begins ``start`` rows after the first row of a shard.

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
        first_rows: rows of the first windows of the shard, where they are to be smaller (:func:`most_rows`).
        begin: number of the first of these rows in the shard.

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


def row_bytes(array: pa.Array) -> Sizes:
    """Bytes of each row: int64, *Shape:* (rows,), none negative.

    Fixed-width values count their width (a Boolean one byte), texts and lists an offset and their content, structs
    the sum of their fields, null type nothing. A null counts as an empty value.

    Raises:
        TypeError: a type that is never read from Parquet, such as a union.
    """
    kind = array.type
    if types.is_string(kind) or types.is_binary(kind):
        return np.diff(_offsets(array, 4)) + 4
    if isinstance(array, pa.ExtensionArray):
        return row_bytes(array.storage)
    if types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if types.is_boolean(kind):
        return np.ones(len(array), np.int64)
    if types.is_dictionary(kind):
        return _dictionary(array)
    if types.is_struct(kind):
        return sum((row_bytes(array.field(i)) for i in range(kind.num_fields)), np.zeros(len(array), np.int64))
    if types.is_map(kind):
        return _slices(_offsets(array, 4), row_bytes(array.keys) + row_bytes(array.items)) + 4
    if types.is_list(kind) or types.is_large_list(kind):
        width = 8 if types.is_large_list(kind) else 4
        return _slices(_offsets(array, width), row_bytes(array.values)) + width
    if types.is_fixed_size_list(kind):
        bounds = (np.arange(len(array) + 1, dtype=np.int64) + array.offset) * kind.list_size
        return _slices(bounds, row_bytes(array.values))
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        return _list_view(array)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return _view_lengths(array) + 16
    if types.is_large_string(kind) or types.is_large_binary(kind):
        return np.diff(_offsets(array, 8)) + 8
    try:
        width = kind.bit_width // 8
    except ValueError as error:
        raise TypeError(f"no size is known for values of type {kind}") from error
    return np.full(len(array), width, np.int64)


def batch_bytes(batch: pa.RecordBatch) -> Sizes:
    """Bytes of each row of a batch: int64, *Shape:* (rows,)."""
    return sum((row_bytes(column) for column in batch.columns), np.zeros(batch.num_rows, np.int64))


def check_batch(batch: pa.RecordBatch) -> None:
    """Check that offsets, indices and lengths of a batch are in bounds; whether texts are UTF-8 is not checked.

    A text that is not UTF-8 fails its row or is passed through; an offset out of bounds would crash the process.

    Raises:
        pyarrow.ArrowInvalid: something is out of bounds.
    """
    batch.validate()
    for column in batch.columns:
        _check(column)


def _check(array: pa.Array) -> None:
    kind = array.type
    if types.is_string(kind):
        array.view(pa.binary()).validate(full=True)
    elif types.is_large_string(kind):
        array.view(pa.large_binary()).validate(full=True)
    elif types.is_string_view(kind):
        array.view(pa.binary_view()).validate(full=True)
    elif isinstance(array, pa.ExtensionArray):
        _check(array.storage)
    elif types.is_dictionary(kind):
        _check(array.dictionary)
        array.indices.validate(full=True)
        used = array.indices.drop_null().to_numpy()
        if len(used) and (used.min() < 0 or used.max() >= len(array.dictionary)):
            raise pa.ArrowInvalid(f"a dictionary of {len(array.dictionary)} values has indices outside of it")
    elif types.is_struct(kind):
        array.validate()
        for i in range(kind.num_fields):
            _check(array.field(i))
    elif types.is_map(kind):
        _check_lists(array, pa.list_(pa.null()), 2, len(array.keys))
        _check(array.keys)
        _check(array.items)
    elif types.is_list(kind) or types.is_large_list(kind):
        plain = pa.list_(pa.null()) if types.is_list(kind) else pa.large_list(pa.null())
        _check_lists(array, plain, 2, len(array.values))
        _check(array.values)
    elif types.is_fixed_size_list(kind):
        _check_lists(array, pa.list_(pa.null(), kind.list_size), 1, len(array.values))
        _check(array.values)
    elif types.is_list_view(kind) or types.is_large_list_view(kind):
        plain = pa.list_view(pa.null()) if types.is_list_view(kind) else pa.large_list_view(pa.null())
        _check_lists(array, plain, 3, len(array.values))
        _check(array.values)
    else:
        array.validate(full=True)


def _check_lists(array: pa.Array, kind: pa.DataType, buffers: int, values: int) -> None:
    """Check the buffers of a list itself, with the same number of nulls in place of its values."""
    own = array.buffers()[:buffers]
    plain = pa.Array.from_buffers(kind, len(array), own, offset=array.offset, children=[pa.nulls(values)])
    plain.validate(full=True)


def _offsets(array: pa.Array, width: int) -> Sizes:
    """Offsets of a text, binary, list or map array: int64, *Shape:* (rows + 1,)."""
    if len(array) == 0:
        return np.zeros(1, np.int64)
    kind = np.int32 if width == 4 else np.int64
    found = np.frombuffer(array.buffers()[1], kind, len(array) + 1, array.offset * width)
    return found.astype(np.int64)


def _slices(bounds: Sizes, values: Sizes) -> Sizes:
    """Sum of ``values`` between consecutive bounds."""
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
    return np.diff(sums[bounds])


def _list_view(array: pa.Array) -> Sizes:
    large = types.is_large_list_view(array.type)
    width, kind = (8, np.int64) if large else (4, np.int32)
    starts, lengths = (
        np.frombuffer(array.buffers()[i], kind, len(array), array.offset * width).astype(np.int64) for i in (1, 2)
    )
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(row_bytes(array.values))])
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    starts, lengths = np.where(valid, starts, 0), np.where(valid, lengths, 0)
    return sums[starts + lengths] - sums[starts] + 2 * width


def _view_lengths(array: pa.Array) -> Sizes:
    """The first four of a view's 16 bytes are the length of its value."""
    views = np.frombuffer(array.buffers()[1], np.int32, len(array) * 4, array.offset * 16)[::4]
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), views, 0).astype(np.int64)


def _dictionary(array: pa.Array) -> Sizes:
    values = row_bytes(array.dictionary)
    width = array.type.index_type.bit_width // 8
    valid = array.indices.is_valid().to_numpy(zero_copy_only=False)
    if not len(values):
        return np.full(len(array), width, np.int64)
    indices = array.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return np.where(valid, values[indices], 0) + width
