"""CSV and TSV: a header with the names of the columns, then one record per row, quoted as in RFC 4180."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import pyarrow as pa

from .json_lines import text_array
from .opened import RefusedError

Record = tuple[int, list[str]]
"""The number of the record's last line, from 1, and its fields."""

_QUOTED = re.compile(rb'"[^"]*"')


def delimiter_of(form: str, header: bytes, given: str | None = None) -> str:
    """What separates the fields of a file: what is given, else in ``tsv`` a tab, and in ``csv`` a comma, or where its
    header has none a semicolon or a tab."""
    if given is not None or form == "tsv":
        return given or "\t"
    bare = _QUOTED.sub(b"", header)
    return next((one for one in (",", ";", "\t") if one.encode() in bare), ",")


_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?")
_ARROW = {"integer": pa.int64(), "number": pa.float64(), "text": pa.string()}
_MOST_SHOWN = 60


def parse_records(lines: Iterable[bytes], form: str, delimiter: str | None = None) -> Iterator[Record]:
    """The header, then the records of a file of the form ``csv`` or ``tsv``; blank lines are passed over.

    Args:
        delimiter: what separates fields; by default see :func:`delimiter_of`.

    Raises:
        RefusedError: no header, a quote out of place, or a record with another number of fields; says which line.
    """
    csv.field_size_limit(1 << 28)
    rest = iter(lines)
    first = list(islice(rest, 1))
    delimiter = delimiter_of(form, first[0] if first else b"", delimiter)
    # A quoted field may have line ends; csv.reader asks for the next line then, and counts them.
    reader = csv.reader(
        (line.decode("utf-8", "surrogateescape") for line in chain(first, rest)), delimiter=delimiter, strict=True
    )
    width = None
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise RefusedError(
                f"line {reader.line_num}: {error}; quote a field that has quotes, and double the quotes in it"
            ) from error
        if fields is None:
            break
        if not fields:
            continue
        if width is None:
            width = len(fields)
        elif len(fields) != width:
            raise RefusedError(
                f"line {reader.line_num} has {len(fields)} fields, but the header has {width}: "
                f"{delimiter.join(fields)[:_MOST_SHOWN]!r}; quote fields that contain the delimiter"
            )
        yield reader.line_num, fields
    if width is None:
        raise RefusedError("is empty; its first line should name the columns")


class DelimitedTypes:
    """The types of the columns, found from all records: integers or numbers where every field that is not empty is
    written as that type is, otherwise text. So ``0123``, ``1.50`` and ``1e3`` stay as they are."""

    def __init__(self, header: list[str]) -> None:
        self._names = header
        self._kinds = ["integer"] * len(header)
        self._seen = [False] * len(header)
        self._wide = [False] * len(header)  # whether there is an integer that no number of 64 bits is

    def add(self, records: list[Record]) -> None:
        """Take in some records."""
        for column, kind in enumerate(self._kinds):
            if kind == "text":
                continue
            for _, fields in records:
                field = fields[column]
                if not field:
                    continue
                self._seen[column] = True
                self._wide[column] |= len(field) > 15 and _INTEGER.fullmatch(field) is not None
                while not _survives(field, kind):
                    kind = "number" if kind == "integer" else "text"
                if kind == "text":
                    break
            self._kinds[column] = kind

    def schema(self) -> pa.Schema:
        """The columns; one with nothing but empty fields is text."""
        found = zip(self._kinds, self._seen, self._wide, strict=True)
        kinds = [kind if seen and not (wide and kind == "number") else "text" for kind, seen, wide in found]
        return pa.schema([(name, _ARROW[kind]) for name, kind in zip(self._names, kinds, strict=True)])


def _survives(field: str, kind: str) -> bool:
    """Whether a field that is read as a type is written again as it was."""
    if kind == "integer":
        return _INTEGER.fullmatch(field) is not None
    if kind == "text" or _INTEGER.fullmatch(field) is not None:
        return True
    return _NUMBER.fullmatch(field) is not None and repr(float(field)) == field


def delimited_arrays(records: list[Record], positions: list[int], fields: list[pa.Field]) -> list[pa.Array]:
    """Some columns of some records. An empty field is an empty text, and a null number."""
    found = []
    for position, field in zip(positions, fields, strict=True):
        values = [record[position] for _, record in records]
        if pa.types.is_string(field.type):
            found.append(text_array(list(values)))
        else:
            number = int if pa.types.is_integer(field.type) else float
            found.append(pa.array([number(value) if value else None for value in values], field.type))
    return found
