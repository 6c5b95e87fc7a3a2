"""Tables of Python programs: of pyarrow, polars or pandas, lists of dictionaries, or the path of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from ..errors import ColumnError
from ..metric.attributes import from_attributes
from ..metric.facts import (
    INVALID_UTF8,
    MALFORMED,
    FactError,
    FactTable,
    Parsed,
    Rows,
    Triple,
    build_facts,
    counted,
    from_arrow,
    is_utf8,
    sized,
    to_bytes,
)
from ..metric.formats import from_sentences, triple_parts
from ..metric.values import shown, spell
from ..storage.input_files import find_files
from ..storage.input_tables import read_tables
from ..storage.text_files import INFO
from ..system.arguments import described, strings
from ..system.files import ROW_INFO

RestoreType = Callable[[pa.Table], Any]
"""Turns a table of Arrow into the user's kind of table."""
RowT = TypeVar("RowT", bound=Mapping[str, Any])
"""A row of a list."""


class ArrowStream(Protocol):
    """A table that exports its rows to Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class DataFrame(ArrowStream, Protocol):
    """A table of pyarrow, pandas or polars: a table with a method ``equals`` can be restored from Arrow."""

    @property
    def equals(self) -> Callable[..., bool]: ...


TableT = TypeVar("TableT", bound=DataFrame)
"""A table that comes back as its kind."""
_ACCEPTED_TABLES = (
    "a table or record batch of pyarrow, a DataFrame of polars or pandas, an object with __arrow_c_stream__, a list of "
    "dictionaries, or a dictionary of lists"
)


def as_table(data: Any, argument: str = "table") -> tuple[pa.Table, RestoreType]:
    """A table as one of Arrow, and the function that restores its own kind. Nothing is copied without need.

    Args:
        argument: name of the argument for messages.

    Raises:
        TypeError: another kind of object.
        ColumnError: a column that Arrow has no type for.
    """
    if isinstance(data, pa.Table):
        return data, lambda table: table
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data]), _as_batch
    if isinstance(data, list) and all(isinstance(row, Mapping) for row in data):
        return _from_rows(data, argument)
    if isinstance(data, Mapping) and all(isinstance(column, list | tuple) for column in data.values()):
        return _from_columns(data, argument)
    library = type(data).__module__.partition(".")[0]
    if library == "polars" and hasattr(data, "to_arrow"):
        return _converted(data.to_arrow, argument), _as_polars
    if library == "pandas" and hasattr(data, "columns"):
        index = data.index

        def restore(table: pa.Table) -> Any:
            return table.to_pandas().set_axis(index)

        return _converted(lambda: pa.Table.from_pandas(data, preserve_index=False), argument), restore
    if library == "datasets" and hasattr(data, "with_format"):
        converted: pa.Table = _converted(lambda: data.with_format("arrow")[:], argument)
        return converted, lambda table: type(data).from_dict(table.to_pydict())
    if hasattr(data, "__arrow_c_stream__"):
        return _converted(lambda: pa.RecordBatchReader.from_stream(data).read_all(), argument), lambda table: table
    raise TypeError(f"{argument} is {described(data)}; give {_ACCEPTED_TABLES}")


def has_nothing(table: pa.Table) -> bool:
    """Whether a table has neither rows nor columns of a user, so that it is returned as it is."""
    return not len(table) and set(table.column_names) <= {ROW_INFO}


def read_table(path: str | Path) -> pa.Table:
    """All rows of a Parquet, CSV, TSV or JSON Lines file, by its suffix.

    Raises:
        ShardError: it cannot be read.
    """
    (file,) = find_files([os.fspath(path)])
    return pa.concat_tables(list(read_tables(file)))


def _from_rows(rows: Sequence[Mapping[str, Any]], argument: str) -> tuple[pa.Table, RestoreType]:
    """A table of rows; each value becomes text by itself, as in a line of JSON. Restored rows have the values as they
    were."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{argument} has the key {described(name)}; name columns by strings")
    texts = {name: [_as_bytes(row.get(name)) for row in rows] for name in names}
    columns = {name: pa.array(values, pa.binary()).view(pa.string()) for name, values in texts.items()}
    nested = [[name for name, value in row.items() if not _is_single(value)] for row in rows]
    infos = [{"nested": names_of_row} if names_of_row else None for names_of_row in nested]

    def restore(table: pa.Table) -> list[dict[str, Any]]:
        input_names = [name for name in table.column_names if name in columns]
        outputs = table.drop_columns(input_names).to_pylist()
        return [
            {**{name: row.get(name) for name in input_names}, **output}
            for row, output in zip(rows, outputs, strict=True)
        ]

    return pa.table({**columns, ROW_INFO: pa.array(infos, INFO)}), restore


def _from_columns(columns: Mapping[str, Any], argument: str) -> tuple[pa.Table, RestoreType]:
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise ColumnError(f"{argument} has lists of {' and '.join(map(str, sorted(lengths)))} items; give equally many")
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    table, restore = _from_rows(rows, argument)

    def as_columns(scored: pa.Table) -> dict[str, list[Any]]:
        restored = restore(scored)
        return {name: [row[name] for row in restored] for name in scored.column_names}

    return table, as_columns


def _is_missing(value: Any) -> bool:
    """Whether a value is null, NaN, NaT, or ``NA`` of pandas."""
    if isinstance(value, Real | Decimal | datetime | np.datetime64 | np.timedelta64):
        return not isinstance(value, Integral) and spell(value) is None
    return value is None or type(value).__name__ == "NAType"


def _is_single(value: Any) -> bool:
    """Whether a value is null or a single value that is written as text, and not a list, an object or bytes."""
    try:
        return _is_missing(value) or spell(value) is not None
    except ValueError:  # an integer of thousands of digits
        return False


def _as_bytes(value: Any) -> bytes | None:
    """A value as text: single values as they are spelled, lists and objects as JSON."""
    if _is_missing(value):
        return None
    if isinstance(value, str):
        return to_bytes(value)
    try:
        is_nested = isinstance(value, Mapping | list | tuple | set | frozenset | np.ndarray)
        text = json_text(value) if is_nested else spell(value)
        return to_bytes(repr(value) if text is None else text)
    except (ValueError, TypeError, RecursionError):  # neither a fact nor a text: an error of the row
        return f"a {type(value).__name__} that cannot be written as text".encode()


def _converted(convert: Callable[[], pa.Table], argument: str) -> pa.Table:
    try:
        return convert()
    except (pa.ArrowException, UnicodeError) as error:
        raise ColumnError(
            f"{argument} has a column whose values have no common type: {' '.join(str(error).split())}; give a list of "
            "dictionaries, whose rows are read one by one"
        ) from error


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def _as_polars(table: pa.Table) -> Any:
    import polars

    return polars.from_arrow(table)


def json_text(value: Any) -> str:
    """A value of Python as JSON, its single values by :func:`spell`: numbers and Booleans as such, the rest as text.

    Raises:
        TypeError: an object that JSON has no form for.
        ValueError: an integer of thousands of digits.
        RecursionError: a value that is nested too deeply.
    """
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"{shown(value)} has a key that is no text")
        return "{" + ", ".join(f"{json.dumps(key)}: {json_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple | np.ndarray | set | frozenset):
        return "[" + ", ".join(map(json_text, value)) + "]"
    text = spell(value)
    if isinstance(value, bool | np.bool_ | Integral | Real | Decimal):
        return text or "null"
    if text is None and value is not None:
        raise TypeError(f"{shown(value)} has no form in JSON")
    return json.dumps(text)


# --- rows of Python objects ---

Part = str | int | float
"""A part of a triple; a number or Boolean is spelled as text. Dates, times and decimals will do."""
TripleLike = tuple[Part, Part, Part] | Sequence[Part] | Mapping[str, Part] | str
"""A :class:`scorer.Triple` is a tuple of three strings."""
_ACCEPTED_TRIPLES = (
    "a Triple, three strings, a dictionary with the keys subject, predicate and object, "
    "or a string 'subject | predicate | object'"
)


def from_python(rows: Iterable[Iterable[TripleLike]]) -> FactTable:
    """Intern triples of Python objects; a blank part makes a row malformed, half a surrogate pair ``invalid_utf8``.

    A dictionary or a string in place of the list of triples is refused: a dictionary of three other keys, or a string
    of three characters, has three parts too, and the label of such a fact would be meaningless.

    Raises:
        TypeError: not an ordered iterable, or an element that is not a triple; names the element and its position.
    """
    parsed: list[Parsed] = []
    raws: list[bytes] = []
    for triples in rows:
        if isinstance(triples, str | bytes | Mapping | Set) or not isinstance(triples, Iterable):
            raise TypeError(f"triples is {described(triples)}; give a list of triples")
        if isinstance(triples, tuple) and hasattr(triples, "_fields"):
            raise TypeError(f"triples is a single triple, {described(triples)}; put it into a list")
        facts = []
        for position, triple in enumerate(triples):
            try:
                facts.append(Triple(*triple_parts(triple)))
            except ValueError as error:
                raise TypeError(f"triples[{position}] {error}; give {_ACCEPTED_TRIPLES}") from error
        readable = all(is_utf8(part) for triple in facts for part in triple)
        kind = INVALID_UTF8 if not readable else None if all(map(all, facts)) else MALFORMED
        parsed.append(facts if kind is None else FactError(kind, "has a part that is blank or is not UTF-8"))
        raws.append(counted(len(facts)) + b"".join(sized(to_bytes(part)) for triple in facts for part in triple))
    return build_facts(np.arange(len(parsed)), parsed, raws.__getitem__)


def from_pairs(pairs: Sequence[tuple[Iterable[TripleLike], str | None]]) -> Rows:
    """Rows of (triples, text) pairs of Python objects.

    Raises:
        TypeError: a text or a triple of another type.
    """
    return from_arrow(from_python([triples for triples, _ in pairs]), _texts([text for _, text in pairs]))


def from_fact_pairs(pairs: Sequence[tuple[Iterable[str], str | None]]) -> Rows:
    """Rows of (facts, text) pairs of Python objects; each fact is a sentence.

    Raises:
        TypeError: a text or a fact of another type.
    """
    sentences = [[to_bytes(fact) for fact in strings("facts", facts)] for facts, _ in pairs]
    table = from_sentences(pa.array(sentences, pa.list_(pa.large_binary())))
    return from_arrow(table, _texts([text for _, text in pairs]))


def from_attribute_pairs(pairs: Sequence[tuple[Mapping[str, Any], str | None]]) -> Rows:
    """Rows of (attributes, text) pairs of Python objects.

    Raises:
        TypeError: a text or attributes of another type.
    """
    objects = [attributes for attributes, _ in pairs]
    for attributes in objects:
        if not isinstance(attributes, Mapping):
            raise TypeError(f"attributes is {described(attributes)}; give a dictionary of attributes")
    return from_arrow(from_attributes(objects), _texts([text for _, text in pairs]))


def _texts(texts: Sequence[str | None]) -> pa.Array:
    for text in texts:
        if not (text is None or isinstance(text, str)):
            raise TypeError(f"text is {described(text)}; give a string, or None for a text that is missing")
    return pa.array([None if text is None else to_bytes(text) for text in texts], pa.binary())
