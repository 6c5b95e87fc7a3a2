"""Tables that the storage tests write and read, and a plain account of what their rows weigh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.storage.shards import InputFile

OFFSETS = {"string": 4, "large_string": 8, "string_view": 16, "list": 4, "list_view": 8, "fixed_size_list": 0}
FIXED = {"null": 0, "bool": 1}
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


def input_of(uri: str | Path, form: str = "parquet", delimiter: str | None = None) -> InputFile:
    """A file as a run finds it."""
    return InputFile(uri=str(uri), relative=Path(uri).name, form=form, delimiter=delimiter)


def weight(value: Any, kind: pa.DataType) -> int:
    """What a value counts, in plain Python; the definition that `row_bytes` is held to."""
    if isinstance(kind, pa.BaseExtensionType):
        return weight(value, kind.storage_type)
    if pa.types.is_dictionary(kind):
        return kind.index_type.bit_width // 8 + (0 if value is None else weight(value, kind.value_type))
    if pa.types.is_struct(kind):
        return sum(weight(None if value is None else value[field.name], field.type) for field in kind)
    if pa.types.is_map(kind):
        return 4 + sum(weight(k, kind.key_type) + weight(v, kind.item_type) for k, v in value or ())
    name = str(kind).partition("<")[0]
    if kind.num_fields:
        return OFFSETS[name] + sum(weight(v, kind.value_type) for v in value or ())
    if name in OFFSETS:
        return OFFSETS[name] + len((value or "").encode())
    return FIXED[name] if name in FIXED else kind.bit_width // 8


def cut_rows(weights: list[int], max_rows: int, max_bytes: int) -> list[int]:
    """Rows of each window, one row at a time."""
    windows, rows, size = [], 0, 0
    for added in weights:
        if rows and (rows + 1 > max_rows or size + added > max_bytes):
            windows.append(rows)
            rows, size = 0, 0
        rows, size = rows + 1, size + added
    return [*windows, rows] if rows else windows
