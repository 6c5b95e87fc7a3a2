"""Read CSV and TSV lines as records of fields; a broken line affects one record only, not the rest of the file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

from .lines import Lines

# A quoted field may contain line ends. One that is not closed after this many lines is a stray quote, not a long text.
MAX_RECORD_LINES = 100


class Record(NamedTuple):
    """A record: the number of its first line from 1, its fields, and its error.

    A record that cannot be split into fields has none. ``raw`` is its (first) line.
    """

    line: int
    fields: list[str]
    problem: str | None
    raw: str


def find_separator(first: str) -> str | None:
    """The field separator of a file, by its first line: tab, comma, or ``None`` for one field per line."""
    return next((separator for separator in "\t," if separator in first), None)


def read_records(lines: Lines, separator: str | None) -> Iterator[Record]:
    """The records of a file; blank lines are skipped.

    Fields may be quoted by ``"``, which is doubled inside. A tab-separated line with unbalanced quotes is taken
    literally, since most such files are written without quoting.
    """
    position = 0
    while position < len(lines.text):
        line = lines.text[position]
        if not line.strip():
            position += 1
            continue
        taken, problem = 1, None
        if separator is None:
            fields = [unquote(line.strip())]
        elif '"' not in line:
            fields = line.split(separator)
        else:
            fields, taken, problem = _read_quoted(lines.text, position, separator)
        broken = [lines.broken[n] for n in range(position, position + taken) if n in lines.broken]
        yield Record(position + 1, fields, broken[0] if broken else problem, line)
        position += taken


def unquote(field: str) -> str:
    """A field without the quotes around it; unchanged if they do not enclose it properly."""
    inner = field[1:-1]
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
        return field
    return inner.replace('""', '"')


def _read_quoted(lines: list[str], position: int, separator: str) -> tuple[list[str], int, str | None]:
    """Fields, number of lines, and error of a record with quotes in its first line."""
    window = (lines[n] + "\n" for n in range(position, min(position + MAX_RECORD_LINES, len(lines))))
    reader = csv.reader(window, delimiter=separator, strict=True)
    try:
        fields = next(reader)
    except csv.Error as error:
        problem = _explain(str(error))
    else:
        # Two stray quotes on two lines of a TSV file look like a field of several lines, except that it contains tabs.
        if separator != "\t" or not any("\n" in field and "\t" in field for field in fields):
            return fields, reader.line_num, None
        problem = "a quote that is not closed"
    if separator == "\t":
        return [unquote(field) for field in lines[position].split("\t")], 1, None
    return [], 1, problem


def _explain(error: str) -> str:
    if "unexpected end" in error:
        return "a quote that is not closed"
    if "expected after" in error:
        return "a quote inside a quoted field that is not doubled, or one that is not closed"
    return error
