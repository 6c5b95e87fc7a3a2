"""Valid strings in columns that pass through: strings of Parquet are UTF-8, and readers refuse a whole file for one
invalid byte. Such bytes are written as U+FFFD."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..metric.facts import encode
from ..metric.values import flatten, is_list, is_text

REPLACED_BYTES = "replaced_bytes"
"""The note of a row with invalid bytes in a column that passes through."""
Mask = npt.NDArray[np.bool_]


def replace_bytes(table: pa.Table) -> tuple[pa.Table, Mask]:
    """A table with valid UTF-8 in all strings, and the rows that had invalid bytes: bool, *Shape:* (rows,)."""
    replaced = np.zeros(table.num_rows, bool)
    for position, field in enumerate(table.schema):
        column = table.column(position)
        if not _is_valid(column):
            chunks = [_replaced(chunk) for chunk in column.chunks]
            column = pa.chunked_array([valid for valid, _ in chunks], field.type)
            table = table.set_column(position, field, column)
            replaced |= np.concatenate([mask for _, mask in chunks])
    return table, replaced


def with_note(notes: pa.Array, replaced: Mask) -> pa.Array:
    """The notes of rows, with :data:`REPLACED_BYTES` last for exactly the ``replaced`` rows: a note from an earlier
    output is about the columns of that output."""
    earlier = pc.fill_null(pc.match_substring(notes, REPLACED_BYTES), False).to_numpy(zero_copy_only=False)
    if not (replaced | earlier).any():
        return notes
    rows = notes.to_pylist()
    for row in np.flatnonzero(replaced | earlier).tolist():
        row_notes = [note for note in (rows[row] or "").split("+") if note not in ("", REPLACED_BYTES)]
        rows[row] = "+".join([*row_notes, *([REPLACED_BYTES] if replaced[row] else [])]) or None
    return pa.array(rows, notes.type)


def _is_valid(values: pa.Array | pa.ChunkedArray) -> bool:
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _replaced(array: pa.Array) -> tuple[pa.Array, Mask]:
    """Values of the same type with valid UTF-8 in all strings, and those that had invalid bytes: bool, *Shape:*
    (values,)."""
    kind, rows = array.type, np.zeros(len(array), bool)
    if _is_valid(array):
        return array, rows
    if isinstance(array, pa.ExtensionArray):
        storage, rows = _replaced(array.storage)
        return pa.ExtensionArray.from_storage(kind, storage), rows
    if is_text(kind):
        return _replaced_strings(array)
    nulls = array.is_null()
    if types.is_struct(kind):
        fields = [_replaced(child) for child in array.flatten()]
        mask = np.asarray(np.any([mask for _, mask in fields], axis=0), bool)
        return pa.StructArray.from_arrays([values for values, _ in fields], fields=list(kind), mask=nulls), mask
    if types.is_fixed_size_list(kind):
        start, end = array.offset * kind.list_size, (array.offset + len(array)) * kind.list_size
        values, mask = _replaced(array.values[start:end])
        valid = pa.FixedSizeListArray.from_arrays(values, type=kind, mask=nulls)
        return valid, np.asarray(mask.reshape(len(array), -1).any(axis=1), bool)
    if types.is_map(kind) or is_list(kind):
        return _replaced_lists(array, nulls)
    return array, rows


def _replaced_lists(array: pa.Array, nulls: pa.Array) -> tuple[pa.Array, Mask]:
    kind, (lengths, flat) = array.type, flatten(array)
    values, mask = _replaced(flat)
    bounds = np.append(0, np.cumsum(lengths))
    changed = np.append(0, np.cumsum(mask))[bounds]
    is_large = types.is_large_list(kind) or types.is_large_list_view(kind)
    offsets, sizes = (pa.array(numbers, pa.int64() if is_large else pa.int32()) for numbers in (bounds, lengths))
    if types.is_map(kind):
        valid = pa.MapArray.from_arrays(offsets, values.field(0), values.field(1), kind, mask=nulls)
    elif types.is_list_view(kind) or types.is_large_list_view(kind):
        valid = type(array).from_arrays(offsets[:-1], sizes, values, type=kind, mask=nulls)
    else:
        valid = type(array).from_arrays(offsets, values, type=kind, mask=nulls)
    return valid, np.diff(changed) > 0


def _replaced_strings(array: pa.Array) -> tuple[pa.Array, Mask]:
    codes, values = encode(array)
    texts = [value.decode(errors="replace") for value in values]
    is_broken = np.array([text.encode() != value for text, value in zip(texts, values, strict=True)] + [False])
    strings = pa.array(texts, pa.large_string()).take(pa.array(codes, mask=codes < 0))
    if types.is_dictionary(array.type):
        plain = strings.cast(array.type.value_type)
        return plain.dictionary_encode().cast(array.type), is_broken[codes]
    return strings.cast(array.type), is_broken[codes]
