"""Columns of a table and fields of structs in them, found by a name with dots (``output.text``)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def find_field(schema: pa.Schema, name: str) -> pa.Field | None:
    """The column of a name, or the field of a struct that dots lead to; ``None`` if there is neither.

    A column whose own name has the dots goes before the field of a struct.
    """
    found = _path(schema, name)
    if found is None:
        return None
    column, *path = found
    field = schema.field(column)
    for part in path:
        field = field.type.field(part)
    return field.with_name(name)


def holder_of(schema: pa.Schema, name: str) -> str | None:
    """The column that has what a name means: the column itself, or the one with the outermost struct."""
    found = _path(schema, name)
    return found[0] if found is not None else None


def column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """The values of a column or of a field of a struct. A null struct has null fields.

    Raises:
        KeyError: there is neither.
    """
    found = _path(table.schema, name)
    if found is None:
        raise KeyError(name)
    column = table[found[0]]
    for part in found[1:]:
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
