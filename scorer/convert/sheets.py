"""CSV and TSV files of inputs: their records, which column is which, and one input per record."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..errors import InputError, UsageError, count_of
from ..metric.facts import FactError, Parsed, Triple, attempt
from . import ConvertOptions
from .rows import Input, Text, free_names
from .source_files import Line, Problems, SourceFile, read_lines, readable

MR_NAMES = ("mr", "meaning_representation", "orig_mr")
TEXT_NAMES = ("text", "output", "system_output", "ref", "reference", "human_reference", "utterance", "prediction")
SYSTEM_NAMES = ("system", "team", "sys_id")
MAX_RECORD_LINES = 100
"""A quoted field may contain line ends. One that is not closed after this many lines is a stray quote."""


_POUND = re.compile(r"Ł(?=[0-9])")
"""A pound sign, as some outputs have it; the released reader repairs it too."""


@dataclass(frozen=True)
class Form:
    """The differences between the two kinds of data."""

    parse: Callable[[str], list[Triple]]
    """Reads a meaning representation; raises :class:`.FactError`."""
    options: ConvertOptions
    is_e2e: bool = False
    """Whether a file may have no header, quotes around both values, and broken pound signs."""


def read_sheet(source: SourceFile, form: Form, problems: Problems, needs_text: bool = True) -> list[Input]:
    """Read a CSV or TSV file; malformed values are reported and become null.

    Raises:
        InputError: the file cannot be read, or has no column of meaning representations.
        UsageError: it has no column of texts, and needs one.
    """
    lines = read_lines(source)
    first = next((line.text for line in lines if line.text.strip()), None)
    if first is None:
        raise InputError(f"{source.shown} has only blank lines")
    # A file with one meaning representation per line has commas, but no fields.
    plain = form.is_e2e and "\t" not in first and isinstance(attempt(form.parse, first.strip()), list)
    separator = None if plain else next((character for character in "\t," if character in first), None)
    records = list(_read_records(lines, separator))
    columns = _header(source, form, records[0])
    if columns is not None:
        del records[0]
    else:
        columns = _guess(source, form, records[0])
    if columns.text is None and needs_text:
        names = ", ".join(name or "(no name)" for name in columns.names)
        raise UsageError(
            f"{source.shown} has no column of texts (its columns: {names}); name it with --text-column, or pass the "
            "texts with --texts NAME=FILE"
        )
    parsed: dict[str, Parsed] = {}  # inputs recur, once for every system or reference
    return [_input(record, source, form, columns, problems, parsed) for record in records]


class _Record(NamedTuple):
    """A record of a CSV or TSV file."""

    line: int
    """Number of its first line, from 1."""
    fields: list[str]
    """Its fields; none if it cannot be split."""
    problem: str | None
    """Why it is malformed."""
    raw: str
    """Its first line."""


def _read_records(lines: Sequence[Line], separator: str | None) -> Iterator[_Record]:
    """The records of a file; a broken line costs one record, and blank lines are skipped.

    Fields may be quoted by ``"``, which is doubled inside; in a tab-separated file a quote that does not enclose its
    field is taken literally, since most such files are written without quoting.
    """
    position = 0
    while position < len(lines):
        text, line_count, problem = lines[position].text, 1, None
        if text.strip():
            if separator == ",":
                fields, line_count, problem = _split(lines[position : position + MAX_RECORD_LINES])
            else:
                fields = [_unquote(field) for field in (text.split("\t") if separator else [text.strip()])]
            broken = next((line.error for line in lines[position : position + line_count] if line.error), None)
            yield _Record(position + 1, fields, broken or problem, text)
        position += line_count


def _split(lines: Sequence[Line]) -> tuple[list[str], int, str | None]:
    """Fields, number of lines, and error of the first record."""
    if '"' not in lines[0].text:
        return lines[0].text.split(","), 1, None
    reader = csv.reader((line.text + "\n" for line in lines), strict=True)
    try:
        return next(reader), reader.line_num, None
    except csv.Error:
        return [], 1, "a quote that is not closed, or one inside a quoted field that is not doubled"


def _unquote(field: str) -> str:
    """A field without the quotes around it; unchanged if they do not enclose it properly."""
    inner = field[1:-1]
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
        return field
    return inner.replace('""', '"')


@dataclass(frozen=True)
class _Columns:
    """The columns of a file."""

    names: tuple[str, ...]
    """Names of all columns."""
    mr: int
    """Position of the column of meaning representations."""
    text: int | None
    """Position of the column of texts."""
    system: int | None = None
    """Position of the column of systems."""

    @cached_property
    def others(self) -> dict[int, str]:
        """The other columns, which are passed through: position → name in the output."""
        positions = [n for n in range(len(self.names)) if n not in (self.mr, self.text, self.system)]
        return dict(zip(positions, free_names([self.names[n] or f"column_{n + 1}" for n in positions]), strict=True))


def _header(source: SourceFile, form: Form, record: _Record) -> _Columns | None:
    """The columns that a header names; ``None`` if the first record is no header."""
    names = [field.strip().strip("'") for field in record.fields]
    for option, name in (("--mr-column", form.options.mr_column), ("--text-column", form.options.text_column)):
        if name is not None and name not in names:
            raise InputError(f"{source.shown}: no column {name!r} for {option}; the columns are {', '.join(names)}")

    def find(column: str | None, usual_names: Sequence[str], *used: int | None) -> int | None:
        positions = (
            n for usual in usual_names for n, name in enumerate(names) if name.lower() == usual and n not in used
        )
        return names.index(column) if column is not None else next(positions, None)

    mr = find(form.options.mr_column, MR_NAMES)
    if mr is None:
        return None
    text = find(form.options.text_column, TEXT_NAMES, mr)
    # NAME=FILE names the system; a column of systems is then passed through as any other.
    return _Columns(tuple(names), mr, text, None if source.named else find(None, SYSTEM_NAMES, mr, text))


def _guess(source: SourceFile, form: Form, record: _Record) -> _Columns:
    """The columns of a file without a header, from its first record."""
    fields = [field.strip() for field in record.fields]
    mr_positions = [n for n, field in enumerate(fields) if isinstance(attempt(form.parse, _bare(field)), list)]
    if not form.is_e2e or len(mr_positions) != 1 or len(fields) > 2:
        raise InputError(
            f"{source.shown}:{record.line}: neither a header with a column mr nor a meaning representation: "
            f"{record.raw[:80]!r}; add a header to the file, or name its column with --mr-column"
        )
    names = ("mr", "text") if mr_positions[0] == 0 else ("text", "mr")
    return _Columns(names[: len(fields)], mr_positions[0], None if len(fields) == 1 else 1 - mr_positions[0])


def _input(
    record: _Record, source: SourceFile, form: Form, columns: _Columns, problems: Problems, parsed: dict[str, Parsed]
) -> Input:
    """The input of a record. ``parsed``: the meaning representations that were read before."""
    fields, problem = record.fields, record.problem
    width = len(columns.names)
    while len(fields) > width and not fields[-1].strip():
        fields = fields[:-1]
    if fields and len(fields) != width:
        problem = problem or f"{count_of(len(fields), 'column')} instead of {width}"
    if len(fields) > width:
        fields = []
    cells = [readable(field.strip()) for field in fields] + [None] * (width - len(fields))
    mr, text = cells[columns.mr], None if columns.text is None else cells[columns.text]
    if form.is_e2e:
        mr, text = _unwrap(*(value and _POUND.sub("£", value) for value in (mr, text)))
    if mr is not None and mr not in parsed:
        parsed[mr] = attempt(form.parse, mr)
    triples = None if mr is None else parsed[mr]
    if isinstance(triples, FactError):
        problem, triples = problem or str(triples), None
    if problem is not None:
        shown = record.raw if not fields or mr is None else mr
        problems.add(source.shown, record.line, problem, shown)
    extra = {name: value for n, name in columns.others.items() if (value := cells[n]) is not None}
    system = None if columns.system is None else cells[columns.system]
    texts = () if columns.text is None else (Text(record.line, "" if text in form.options.empty else text, system),)
    return Input(source.file, record.line, mr, triples, texts, extra)


def _bare(field: str) -> str:
    """A value without one pair of quotes around it, single or double."""
    return field[1:-1].strip() if len(field) > 1 and field[0] == field[-1] and field[0] in "'\"" else field


def _unwrap(mr: str | None, text: str | None) -> tuple[str | None, str | None]:
    """Remove quotes around both values, if they are around the meaning representation; a quoted text alone is kept,
    since it may be a quotation."""
    if mr is None or (bare := _bare(mr)) == mr:
        return mr, text
    return bare, _bare(text) if text is not None and text[:1] == mr[0] else text
