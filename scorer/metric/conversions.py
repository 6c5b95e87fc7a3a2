"""For a column of facts that cannot be read: a line of DuckDB that converts it, and an example of each form."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from .triple_forms import is_list

EXAMPLES = {
    "triples": '[{"subject": "The Lamb", "predicate": "eatType", "object": "pub"}], the same as a string of JSON, or '
    "'The Lamb | eatType | pub ++ The Lamb | food | Thai'",
    "facts": '["The Lamb is a pub.", "The Lamb serves Thai food."]',
    "mr": "name[The Lamb], eatType[pub], food[Thai]",
}
"""A value of each form of facts, as a user would write it."""


def conversion(field: pa.Field) -> str:
    """How DuckDB converts a column to triples. Where the type does not tell what the subject is, the line names a
    column ``name``, to be replaced."""
    expression = _expression(_quoted(field.name.partition(".")[0]), field.type)
    return (
        f"DuckDB converts it, once the names fit: COPY (SELECT * REPLACE ({expression} AS "
        f"{_quoted(field.name.partition('.')[0])}) FROM 'in.parquet') TO 'out.parquet'"
    )


def _expression(column: str, kind: pa.DataType) -> str:
    if types.is_binary(kind) or types.is_large_binary(kind):
        return f"decode({column})"
    if types.is_map(kind):
        return f"list_transform(map_entries({column}), lambda e: {_struct('name', 'e.key', 'e.value')})"
    if types.is_struct(kind):
        keys = f"json_keys(to_json({column}))"
        value = f"json_extract_string(to_json({column}), '$.\"' || k || '\"')"
        return f"list_transform({keys}, lambda k: {_struct('name', 'k', value)})"
    if is_list(kind) and types.is_struct(kind.value_type) and kind.value_type.num_fields >= 3:
        names = [f"t.{_quoted(kind.value_type.field(i).name)}" for i in range(3)]
        return f"list_transform({column}, lambda t: {_struct(*names)})"
    return f"[{_struct('name', repr(column.strip(chr(34))), column)}]"


def _struct(subject: str, predicate: str, value: str) -> str:
    return f"{{'subject': {subject}, 'predicate': {predicate}, 'object': {value}}}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
