"""What a name of a column means: a column, a field that dots lead to (``output.text``), or several columns with commas
between them (``brand,weight``)."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from .facts import encode
from .values import is_text, parse_json


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return column


def find_field(schema: pa.Schema, name: str) -> pa.Field | None:
    """What a name means: a column, the field that dots lead to, or a struct of several of them.

    ``None`` if there is none. A column whose own name has the dots or commas goes first.
    """
    found = {part: _field(schema, path).with_name(part) for part, path in named_paths(schema, name).items()}
    return found.get(name, pa.field(name, pa.struct(list(found.values())))) if found else None


def holders_of(schema: pa.Schema, name: str) -> list[str]:
    """The columns to read for what a name means, each once; empty if there is no such thing."""
    return list(dict.fromkeys(path[0] for path in named_paths(schema, name).values()))


def column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """The values of what a name means. A null struct has null fields.

    Raises:
        KeyError: there is no such thing.
    """
    paths = named_paths(table.schema, name)
    if not paths:
        raise KeyError(name)
    columns = {part: read_path(table, path) for part, path in paths.items()}
    if name in columns:
        return columns[name]
    whole = [pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)]) for column in columns.values()]
    return pa.chunked_array([pa.StructArray.from_arrays(whole, names=list(columns))])


def named_paths(schema: pa.Schema, name: str) -> dict[str, list[str]]:
    """By each name in a name, the column and the fields that it leads through; empty if one of them leads nowhere."""
    if (one := named_path(schema, name)) is not None:
        return {name: one}
    found = {part: named_path(schema, part) for part in map(str.strip, name.split(","))}
    there = {part: path for part, path in found.items() if path is not None}
    return there if len(there) == len(found) > 1 else {}


def _field(schema: pa.Schema, path: list[str]) -> pa.Field:
    field = schema.field(path[0])
    for part in path[1:]:
        field = pa.field(part, pa.string()) if is_text(field.type) else field.type.field(part)
    return field


def read_path(table: pa.Table, path: list[str]) -> pa.ChunkedArray:
    """The values at a path of :func:`named_path`."""
    column = table[path[0]]
    for depth, part in enumerate(path[1:], 1):
        if is_text(column.type):
            return pa.chunked_array([_in_json(one_chunk(column), path[depth:])])
        column = pc.struct_field(column, part)
    return column


def _in_json(column: pa.Array, path: list[str]) -> pa.Array:
    """What stands at a path in objects of JSON, as text; null where there is no such thing."""
    codes, values = encode(column)
    found: list[bytes | None] = []
    for value in values:
        try:
            item = parse_json(value.decode("utf-8", "surrogateescape"))
            for key in path:
                item = item.get(key) if isinstance(item, Mapping) else None
        except ValueError:
            item = None
        text = item if item is None or isinstance(item, str) else json.dumps(item)
        found.append(None if text is None else text.encode("utf-8", "surrogateescape"))
    taken = pa.array(found, pa.large_binary()).take(pa.array(codes, mask=codes < 0))
    return taken.cast(pa.binary()).view(pa.string())


def named_path(schema: pa.Schema, name: str) -> list[str] | None:
    """The column and the fields that a name leads through; ``None`` if it leads nowhere."""
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
        return pa.string() if is_text(kind) and not pa.types.is_null(kind) else None  # of an object of JSON
    names = [kind.field(i).name for i in range(kind.num_fields)]
    return kind.field(part).type if names.count(part) == 1 else None
