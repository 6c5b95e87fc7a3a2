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
) -> Iterator[pa.Table]:
    """Cut a stream of batches into windows.

    Args:
        first_rows: rows of the first windows of the shard, where they are to be smaller (:func:`most_rows`).

    A window ends where the next row would make it exceed ``max_rows`` rows or ``max_bytes`` bytes; a row that exceeds
    ``max_bytes`` alone is its own window. Each table has one chunk per column, unless Arrow cannot join them.
    """
    held: list[pa.RecordBatch] = []
    begin = rows = size = 0
    largest = most_rows(begin, max_rows, first_rows)
    for batch in batches:
        count, start = batch.num_rows, 0
        ends = _ends(sum(map(row_bytes, batch.columns), np.zeros(count, np.int64)))
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
    if isinstance(array, pa.ExtensionArray):
        return row_bytes(array.storage)
    if types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if types.is_boolean(kind):
        return np.ones(len(array), np.int64)
    if types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind) or types.is_large_binary(kind):
        offsets, width = _offsets(array)
        return np.diff(offsets) + width
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        offsets, width = _offsets(array)
        values = row_bytes(array.keys) + row_bytes(array.items) if types.is_map(kind) else row_bytes(array.values)
        return np.diff(_ends(values)[offsets]) + width
    if types.is_fixed_size_list(kind):
        bounds = (np.arange(len(array) + 1, dtype=np.int64) + array.offset) * kind.list_size
        return np.diff(_ends(row_bytes(array.values))[bounds])
    if types.is_struct(kind):
        return sum((row_bytes(array.field(i)) for i in range(kind.num_fields)), np.zeros(len(array), np.int64))
    if types.is_dictionary(kind):
        return _dictionary(array)
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        return _list_view(array)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        # The first four of a view's 16 bytes are the length of its value.
        lengths = np.frombuffer(array.buffers()[1], np.int32, len(array) * 4, array.offset * 16)[::4]
        return np.where(_is_valid(array), lengths, 0).astype(np.int64) + 16
    try:
        width = kind.bit_width // 8
    except ValueError as error:
        raise TypeError(f"no size is known for values of type {kind}") from error
    return np.full(len(array), width, np.int64)


def _offsets(array: pa.Array) -> tuple[Sizes, int]:
    """Offsets of a text, binary, list or map array, int64, *Shape:* (rows + 1,); and the bytes of one of them."""
    kind = array.type
    is_large = types.is_large_string(kind) or types.is_large_binary(kind) or types.is_large_list(kind)
    offset, width = (np.int64, 8) if is_large else (np.int32, 4)
    if len(array) == 0:
        return np.zeros(1, np.int64), width
    return np.frombuffer(array.buffers()[1], offset, len(array) + 1, array.offset * width).astype(np.int64), width


def _ends(values: Sizes) -> Sizes:
    """Sums of the first 0, 1, 2, … values."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])


def _is_valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    return array.is_valid().to_numpy(zero_copy_only=False)


def _list_view(array: pa.Array) -> Sizes:
    width, kind = (8, np.int64) if types.is_large_list_view(array.type) else (4, np.int32)
    starts, lengths = (
        np.where(_is_valid(array), np.frombuffer(array.buffers()[i], kind, len(array), array.offset * width), 0)
        for i in (1, 2)
    )
    ends = _ends(row_bytes(array.values))
    return ends[starts.astype(np.int64) + lengths] - ends[starts] + 2 * width


def _dictionary(array: pa.Array) -> Sizes:
    values, width = row_bytes(array.dictionary), array.type.index_type.bit_width // 8
    if not len(values):
        return np.full(len(array), width, np.int64)
    indices = array.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return np.where(_is_valid(array.indices), values[indices], 0) + width


def check_batch(batch: pa.RecordBatch) -> None:
    """Check that offsets, indices and lengths of a batch are in bounds; whether texts are UTF-8 is not checked.

    A text that is not UTF-8 fails its row or is passed through; an offset out of bounds would crash the process.

    Raises:
        pyarrow.ArrowInvalid: something is out of bounds.
    """
    batch.validate()
    for column, field in zip(batch.columns, batch.schema, strict=True):
        column.view(_as_binary(field).type).validate(full=True)


def _as_binary(field: pa.Field) -> pa.Field:
    """A field with binary in place of text, whose layout is the same."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        return _as_binary(field.with_type(kind.storage_type))
    if types.is_string(kind):
        kind = pa.binary()
    elif types.is_large_string(kind):
        kind = pa.large_binary()
    elif types.is_string_view(kind):
        kind = pa.binary_view()
    elif types.is_dictionary(kind):
        values = _as_binary(pa.field("values", kind.value_type))
        kind = pa.dictionary(kind.index_type, values.type, kind.ordered)
    elif types.is_struct(kind):
        kind = pa.struct([_as_binary(kind.field(i)) for i in range(kind.num_fields)])
    elif types.is_map(kind):
        kind = pa.map_(_as_binary(kind.key_field), _as_binary(kind.item_field))
    elif types.is_fixed_size_list(kind):
        kind = pa.list_(_as_binary(kind.value_field), kind.list_size)
    elif types.is_list(kind):
        kind = pa.list_(_as_binary(kind.value_field))
    elif types.is_large_list(kind):
        kind = pa.large_list(_as_binary(kind.value_field))
    elif types.is_list_view(kind):
        kind = pa.list_view(_as_binary(kind.value_field))
    elif types.is_large_list_view(kind):
        kind = pa.large_list_view(_as_binary(kind.value_field))
    return field.with_type(kind)
