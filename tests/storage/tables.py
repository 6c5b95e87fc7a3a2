"""Tables that the storage tests write and read, and a plain account of what their rows weigh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.storage.shards import InputFile

TRIPLE = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())])


def rows_table(rows: int) -> pa.Table:
    """Rows like those that are scored, of different lengths."""
    triples = [[{"subject": f"s{i}", "predicate": "p", "object": "o" * (i % 7)}] * (i % 4) for i in range(rows)]
    texts = [None if i % 11 == 5 else f"text {i} " + "x" * (i * 37 % 101) for i in range(rows)]
    kinds = [("id", pa.int64()), ("text", pa.string()), ("triples", pa.list_(TRIPLE))]
    return pa.table([list(range(rows)), texts, triples], schema=pa.schema(kinds))


def write(path: Path, table: pa.Table, **options: Any) -> str:
    """Write a table and return its path as an input is named."""
    pq.write_table(table, path, **options)
    return str(path)


def input_of(uri: str, form: str = "parquet", delimiter: str | None = None) -> InputFile:
    """A file as a run finds it."""
    return InputFile(uri=uri, relative=Path(uri).name, form=form, delimiter=delimiter)


def weight(value: Any, kind: pa.DataType) -> int:
    """What a value counts, in plain Python; the definition that `row_bytes` is held to."""
    if isinstance(kind, pa.BaseExtensionType):
        return weight(value, kind.storage_type)
    if pa.types.is_dictionary(kind):
        return kind.index_type.bit_width // 8 + (0 if value is None else weight(value, kind.value_type))
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return sum(weight(None if value is None else value[f.name], f.type) for f in fields)
    if pa.types.is_map(kind):
        return 4 + sum(weight(k, kind.key_type) + weight(v, kind.item_type) for k, v in value or ())
    if pa.types.is_fixed_size_list(kind):
        return sum(weight(v, kind.value_type) for v in value or ())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return (8 if pa.types.is_large_list(kind) else 4) + sum(weight(v, kind.value_type) for v in value or ())
    if pa.types.is_list_view(kind):
        return 8 + sum(weight(v, kind.value_type) for v in value or ())
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return 16 + _length(value)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return 8 + _length(value)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return 4 + _length(value)
    if pa.types.is_null(kind):
        return 0
    return 1 if pa.types.is_boolean(kind) else kind.bit_width // 8


def cut_rows(weights: list[int], max_rows: int, max_bytes: int) -> list[int]:
    """Rows of each window, one row at a time."""
    windows, rows, size = [], 0, 0
    for added in weights:
        if rows and (rows + 1 > max_rows or size + added > max_bytes):
            windows.append(rows)
            rows, size = 0, 0
        rows, size = rows + 1, size + added
    return [*windows, rows] if rows else windows


def _length(value: Any) -> int:
    if value is None:
        return 0
    return len(value.encode() if isinstance(value, str) else value)
