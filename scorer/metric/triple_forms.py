"""Other forms in which tables hold triples: strings of JSON or of bars, lists of three values, structs and maps.

The functions here bring them to the two forms that :mod:`.triples` interns: text, and structs of subject, predicate and
object. Nothing is guessed: what is in none of the forms gives no triple, and its row an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from .part_names import PARTS, part_names
from .python_rows import split_bars
from .values import parse_json, scalar

_JSON = re.compile(r"\s*(\[\s*[\]\[{\"']|\{\s*[\"'}])")
"""The start of a JSON value, or of a list that Python printed (which is refused, not read as a subject)."""
_BETWEEN = re.compile(r"\s\+\+(?=\s)")
_STRUCT = pa.struct([(part, pa.large_binary()) for part in PARTS])
_SCALARS: tuple[Callable[[pa.DataType], bool], ...] = (
    types.is_integer,
    types.is_floating,
    types.is_boolean,
    types.is_decimal,
    types.is_date,
    types.is_time,
    types.is_timestamp,
)


def is_text(kind: pa.DataType | None) -> bool:
    """Whether a type holds strings, in any layout; so does the type of nothing but nulls."""
    if kind is None:
        return False
    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_null))


def is_list(kind: pa.DataType) -> bool:
    """Whether a type holds lists, in any layout."""
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
    return any(test(kind) for test in tests)


def is_part(kind: pa.DataType) -> bool:
    """Whether a part of a triple may have a type: text, or a number, Boolean, date or time, which is taken as text."""
    value = kind.value_type if types.is_dictionary(kind) else kind
    return is_text(kind) or any(test(value) for test in _SCALARS)


def holds_triples(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold triples."""
    if is_text(kind):
        return True
    if not is_list(kind):
        return False
    value = kind.value_type
    if types.is_struct(value):
        fields = {value.field(i).name: value.field(i).type for i in range(value.num_fields)}
        names = part_names(fields) if len(fields) == value.num_fields else None
        return names is not None and all(is_part(fields[name]) for name in names)
    if types.is_map(value):
        return is_text(value.key_type) and is_part(value.item_type)
    return is_text(value) or (is_list(value) and is_part(value.value_type))


def part_columns(structs: pa.Array) -> dict[str, pa.Array]:
    """The columns of those parts of triples that an array of structs has, as text; a null struct has null parts.

    A file may have been read in part, so a part may be missing.
    """
    names = [structs.type.field(i).name for i in range(structs.type.num_fields)]
    children = structs.flatten()  # unlike field(), it hands a null struct's nulls down
    found = part_names(names)
    pairs = zip(PARTS, found, strict=True) if found else ((part, part) for part in PARTS if part in names)
    return {part: as_text(children[names.index(name)]) for part, name in pairs}


def as_text(column: pa.Array) -> pa.Array:
    """A column of strings as it is, and any other as the text that Arrow writes for its values."""
    if is_text(column.type):
        return column
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string())


def as_elements(flat: pa.Array) -> pa.Array:
    """The elements of a column of triples: lists of three values and maps as structs of subject, predicate and object
    (as bytes, since text may not be UTF-8), strings and structs as they are.

    A list of another length, and a map without the three keys, become a struct without a predicate and an object. Its
    subject is a copy of what was there, which identifies the row.
    """
    if types.is_map(flat.type):
        return _from_maps(flat)
    return _from_lists(flat) if is_list(flat.type) else flat


def _from_lists(flat: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(flat), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    values = as_text(pc.list_flatten(flat))
    values = _bytes(values)
    good = lengths == 3
    parts = [values.take(pa.array(starts + i, mask=~good)) for i in range(3)]
    return _with_copies(parts, good, lambda row: values.slice(int(starts[row]), int(lengths[row])).to_pylist())


def _from_maps(flat: pa.Array) -> pa.Array:
    found: list[list[bytes | None]] = [[], [], []]
    good = np.ones(len(flat), bool)
    keys, items = _bytes(flat.keys), _bytes(as_text(flat.items))
    offsets = flat.offsets.to_pylist()
    valid = flat.is_valid().to_pylist()

    def entries(row: int) -> list[tuple[bytes, bytes | None]]:
        start, end = (offsets[row], offsets[row + 1]) if valid[row] else (0, 0)
        return list(
            zip(keys.slice(start, end - start).to_pylist(), items.slice(start, end - start).to_pylist(), strict=True)
        )

    for row in range(len(flat)):
        pairs = [(key.decode(errors="replace"), item) for key, item in entries(row)]
        held = dict(pairs)
        names = part_names(held) if len(held) == len(pairs) else None
        good[row] = names is not None
        for i in range(3):
            found[i].append(held[names[i]] if names is not None else None)
    return _with_copies([pa.array(one, pa.large_binary()) for one in found], good, entries)


def _with_copies(parts: list[pa.Array], good: Any, original: Callable[[int], Any]) -> pa.Array:
    bad = np.flatnonzero(~good)
    if len(bad):
        copies = pa.array([repr(original(row)).encode() for row in bad.tolist()], pa.large_binary())
        parts[0] = pc.replace_with_mask(parts[0], pa.array(~good), copies)
    return pa.StructArray.from_arrays(parts, fields=list(_STRUCT))


def _bytes(column: pa.Array) -> pa.Array:
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_binary())


def parse_text(text: str) -> list[list[str]] | None:
    """Read the triples of a row from a string: JSON, or ``subject | predicate | object ++ subject | ...``.

    JSON is an array of objects (keys as in :func:`.part_names`), of arrays of three values, or of strings with bars;
    or one such object. Numbers and Booleans are taken as they are written. A blank string and ``[]`` have no triples.

    Returns the three parts of each triple; ``None`` if the string is neither. Parts may be blank.
    """
    try:
        parts = [_parts(element) for element in split_text(text)]
    except ValueError:
        return None
    good = [part for part in parts if part is not None]
    return good if len(good) == len(parts) else None


def split_text(text: str) -> list[Any]:
    """The elements of a string of triples: of JSON as Python has them, else one string each.

    Numbers are strings, as they are written.

    Raises:
        ValueError: it begins as JSON does and is none.
    """
    if not text.strip():
        return []
    if not _JSON.match(text):
        return list(_BETWEEN.split(text))
    found = parse_json(text)
    return [found] if isinstance(found, dict) else found


def _parts(element: Any) -> list[str] | None:
    if isinstance(element, str):
        return split_bars(element)
    if isinstance(element, dict):
        names = part_names(element)
        values = [element[name] for name in names] if names is not None else []
    else:
        values = element if isinstance(element, list) else []
    written = [scalar(value) for value in values]
    strings = [value for value in written if value is not None]
    return strings if len(strings) == len(written) == 3 else None
