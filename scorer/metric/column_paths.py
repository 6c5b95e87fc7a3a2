"""Columns by the names that users write: a column, a part of one (``choices.0.text``: keys and fields by name, elements
of lists by position), or several columns with commas between them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..system.files import ROW_INFO
from ..system.json_values import POSITION, follow, is_nested, value_text
from .facts import encode
from .values import flatten, is_list, is_text


class NamedValues(NamedTuple):
    """The values of a column or of a part of one."""

    steps: tuple[str, ...]
    """The column, then the keys and positions of the part."""
    values: pa.Array
    nested: Set[int] = frozenset()
    """Rows in which the value is an object or a list of JSON."""


def find_all(source: pa.Table | pa.Schema, name: str) -> dict[str, NamedValues]:
    """The values of each column in a list of names (``brand,weight``); empty if one of the names has no values.

    A column with these dots or commas in its own name takes precedence.
    """
    schema = source if isinstance(source, pa.Schema) else source.schema
    parts = split_names(name) if "," in name and name not in schema.names else [name]
    if len({*parts}) > 1:
        by_name = {part: values for part in parts if (values := find(source, part)) is not None}
        if len(by_name) == len({*parts}):
            return by_name
    values = find(source, name)
    return {name: values} if values is not None else {}


def find(source: pa.Table | pa.Schema, name: str) -> NamedValues | None:
    """The values of a single name; ``None`` if no column has such a part. For a schema the values are empty."""
    schema = source if isinstance(source, pa.Schema) else source.schema
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        column, steps = ".".join(parts[:length]), tuple(parts[length:])
        if column in schema.names:
            table = pa.schema([schema.field(column)]).empty_table() if isinstance(source, pa.Schema) else source
            values = _array(table[column])
            if not steps:
                return NamedValues((column,), values, _nested_rows(table, column))
            if (inner := _follow(values, steps)) is not None:
                return NamedValues((column, *steps), *inner)
    return None


def _follow(values: pa.Array, steps: tuple[str, ...]) -> tuple[pa.Array, Set[int]] | None:
    """The values at a path of steps in structs and lists, and within a text in JSON; parts of a null are null."""
    while steps and (types.is_struct(values.type) or is_list(values.type)):
        if types.is_struct(values.type):
            if len(values.type.get_all_field_indices(steps[0])) != 1:
                return None
            values = pc.struct_field(values, steps[0])
        elif POSITION.fullmatch(steps[0]):
            values = _element(values, int(steps[0]))
        else:
            return None
        steps = steps[1:]
    if not steps:
        return values, frozenset()
    if types.is_null(values.type) or not is_text(values.type):
        return None
    return _in_json(values, steps)


def _element(lists: pa.Array, position: int) -> pa.Array:
    """An element of each list; null where the list is shorter."""
    lengths, flat = flatten(lists)
    starts = np.append(0, np.cumsum(lengths))[:-1]
    return flat.take(pa.array(starts + position, mask=lengths <= position))


def _in_json(column: pa.Array, steps: tuple[str, ...]) -> tuple[pa.Array, Set[int]]:
    """The values at a path of steps in JSON, as text, and the rows in which they are objects or lists."""
    codes, values = encode(column)
    raws = [follow(value, steps) for value in values]
    texts = pa.array([None if raw is None else value_text(raw) for raw in raws], pa.large_binary())
    nested = np.array([raw is not None and is_nested(raw) for raw in raws] + [False])
    per_row = texts.take(pa.array(codes, mask=codes < 0))
    return per_row.cast(pa.binary()).view(pa.string()), frozenset(np.flatnonzero(nested[codes]).tolist())


def split_names(name: str) -> list[str]:
    """Split a list of names at its commas; a name with a comma is quoted as in CSV (``brand,"weight, kg"``)."""
    try:
        parts = next(csv.reader([name], skipinitialspace=True), [])
    except csv.Error:  # such as a line end in a name
        parts = name.split(",")
    return [part.strip() for part in parts]


def holders_of(schema: pa.Schema, name: str) -> list[str]:
    """The columns to read for a name, each once; empty if the name has no values."""
    return list(dict.fromkeys(values.steps[0] for values in find_all(schema, name).values()))


def one_array(source: pa.Table | pa.Schema, name: str) -> pa.Array:
    """The values of a name, as one array; of several columns, an array of structs.

    Raises:
        KeyError: the name has no values.
    """
    values = {part: named_values.values for part, named_values in find_all(source, name).items()}
    if not values:
        raise KeyError(name)
    return values[name] if name in values else pa.StructArray.from_arrays([*values.values()], names=[*values])


def fields_below(kind: pa.DataType) -> list[str]:
    """The names of the parts of a type: fields of a struct, also of the first element of a list."""
    if types.is_struct(kind):
        return [field.name for field in kind]
    if is_list(kind):
        return [f"0.{name}" for name in fields_below(kind.value_type)] or ["0"]
    return []


# --- remarks of the reader of a file about rows ---


def row_infos(table: pa.Table) -> list[tuple[int, Mapping[str, Any]]]:
    """Rows with a remark of the reader, and these remarks (:data:`.files.ROW_INFO`)."""
    if ROW_INFO not in table.column_names:
        return []
    infos = _array(table[ROW_INFO])
    rows = np.flatnonzero(infos.is_valid().to_numpy(zero_copy_only=False))
    return list(zip(rows.tolist(), infos.take(pa.array(rows)).to_pylist(), strict=True))


def _nested_rows(table: pa.Table, column: str) -> Set[int]:
    """The rows in which a column has an object or a list of JSON."""
    if ROW_INFO not in table.column_names or column == ROW_INFO:
        return frozenset()
    names = pc.struct_field(_array(table[ROW_INFO]), "nested")
    is_named = pc.equal(pc.list_flatten(names), column).to_numpy(zero_copy_only=False)
    return frozenset(pc.list_parent_indices(names).to_numpy(zero_copy_only=False)[is_named].tolist())


def _array(column: pa.ChunkedArray) -> pa.Array:
    joined = column.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        return joined.chunk(0) if joined.num_chunks else pa.array([], joined.type)
    return joined
