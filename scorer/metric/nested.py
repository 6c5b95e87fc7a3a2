"""Columns of a table, fields of structs in them found by a name with dots (``output.text``), and several columns as
one struct, named with commas between them (``brand,weight``)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def find_field(schema: pa.Schema, name: str) -> pa.Field | None:
    """What a name means: a column, the field of a struct that dots lead to, or a struct of several of them.

    ``None`` if there is none. A column whose own name has the dots or commas goes first.
    """
    found = {part: _field(schema, path).with_name(part) for part, path in _paths(schema, name).items()}
    return found.get(name, pa.field(name, pa.struct(list(found.values())))) if found else None


def holders_of(schema: pa.Schema, name: str) -> list[str]:
    """The columns to read for what a name means, each once; empty if there is no such thing."""
    return list(dict.fromkeys(path[0] for path in _paths(schema, name).values()))


def column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """The values of what a name means. A null struct has null fields.

    Raises:
        KeyError: there is no such thing.
    """
    paths = _paths(table.schema, name)
    if not paths:
        raise KeyError(name)
    columns = {part: _column(table, path) for part, path in paths.items()}
    if name in columns:
        return columns[name]
    whole = [pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)]) for column in columns.values()]
    return pa.chunked_array([pa.StructArray.from_arrays(whole, names=list(columns))])


def _paths(schema: pa.Schema, name: str) -> dict[str, list[str]]:
    """By each name in a name, the column and the fields that it leads through; empty if one of them leads nowhere."""
    if (one := _path(schema, name)) is not None:
        return {name: one}
    found = {part: _path(schema, part) for part in map(str.strip, name.split(","))}
    there = {part: path for part, path in found.items() if path is not None}
    return there if len(there) == len(found) > 1 else {}


def _field(schema: pa.Schema, path: list[str]) -> pa.Field:
    field = schema.field(path[0])
    for part in path[1:]:
        field = field.type.field(part)
    return field


def _column(table: pa.Table, path: list[str]) -> pa.ChunkedArray:
    column = table[path[0]]
    for part in path[1:]:
        column = pc.struct_field(column, part)
    return column


def _path(schema: pa.Schema, name: str) -> list[str] | None:
    if name in schema.names:
        return [name]
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        column = ".".join(parts[:length])
        if column in schema.names:
            kind = schema.field(column).type
            if all((kind := _inner(kind, part)) is not None for part in parts[length:]):
                return [column, *parts[length:]]
    return None


def _inner(kind: pa.DataType, part: str) -> pa.DataType | None:
    if not pa.types.is_struct(kind):
        return None
    names = [kind.field(i).name for i in range(kind.num_fields)]
    return kind.field(part).type if names.count(part) == 1 else None
