"""CSV, TSV and JSON of any lines as tables of text, each row by itself: read once to count the rows, find the columns
and hash the file, then again for the rows, one batch in memory. A row that cannot be read is null in all columns, and
the column :data:`ROW_INFO` says why; only what has no rows any more costs the file."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from ..system.files import ROW_INFO
from ..system.json_values import is_nested, list_items, object_members, value_text
from ..system.waiting import note_progress
from .json_arrays import array_elements
from .opened_file import MAGIC_BYTES, OpenedFile, RefusedError, other_format
from .receipts import Groups, Identity

MALFORMED_JSON = "malformed_json"
MALFORMED_ROW = "malformed_row"
INFO = pa.struct(
    [
        ("error", pa.string()),
        ("line", pa.int64()),
        ("detail", pa.string()),
        ("raw", pa.binary()),
        ("nested", pa.list_(pa.string())),
    ]
)
"""The type of the column :data:`ROW_INFO`."""
BATCH_ROWS = 4096
CHUNK_BYTES = 1 << 20
MOST_LINE_BYTES = 64 << 20
GZIP = b"\x1f\x8b"
_NOT_TEXT = {
    codecs.BOM_UTF16_LE: "UTF-16 text; save it as UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16 text; save it as UTF-8",
    b"PAR1": "Parquet; give it a suffix .parquet, or pass --format parquet",
    GZIP: "compressed by gzip twice; unpack it once",
}
_MOST_SHOWN = 60
_QUOTED = re.compile(rb'"[^"]*"')
_SEPARATOR = re.compile(rb"sep=(.)\r?\n", re.IGNORECASE)
"""A first line that names the separator of the fields, as Excel writes it."""
_CARRIAGE_RETURNS = (
    "ends its lines with carriage returns alone, as old Macs did; save it with other line ends, or convert it with "
    "`tr '\\r' '\\n'`"
)
_MOST_OBJECT = 1 << 20


class _Bytes(io.RawIOBase):
    """The bytes of a file, counted and hashed as they are read."""

    def __init__(self, opened: OpenedFile) -> None:
        self._file = opened.file
        self._file.seek(0)
        self.sha256 = hashlib.sha256()
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = bytes(self._file.read(len(buffer)))
        buffer[: len(content)] = content
        self.sha256.update(content)
        self.count += len(content)
        note_progress()
        return len(content)


class TextLines:
    """The lines of an opened file, unpacked if it begins as gzip does; long lines of a JSON array in pieces.

    Attributes:
        file: bytes of the file that were read.
        form: format of the file (:class:`.InputFile`).
        bytes: number of bytes of text that were read.
    """

    def __init__(self, opened: OpenedFile, form: str = "") -> None:
        self.file, self.form = _Bytes(opened), form
        self.bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        """Each line with its line end; :class:`RefusedError` where the file is not text, or damaged."""
        number = 0
        file: io.BufferedReader | gzip.GzipFile = io.BufferedReader(self.file, CHUNK_BYTES)
        if file.peek(2).startswith(GZIP):
            file = gzip.GzipFile(fileobj=file)
        try:
            start = file.peek(MAGIC_BYTES)
            not_text = next((description for magic, description in _NOT_TEXT.items() if start.startswith(magic)), None)
            if form := not_text or other_format(start):
                raise RefusedError(f"is {form}")
            if start.startswith(codecs.BOM_UTF8):
                file.read(len(codecs.BOM_UTF8))
                start = file.peek(MAGIC_BYTES)
            is_array = self.form == "jsonl" and start.lstrip().startswith(b"[")
            limit = CHUNK_BYTES if is_array else MOST_LINE_BYTES + 1
            while line := file.readline(limit):
                number += line.endswith(b"\n")
                self.bytes += len(line)
                if len(line) > MOST_LINE_BYTES:
                    raise RefusedError(
                        f"line {number + 1} is longer than {MOST_LINE_BYTES >> 20} MiB; check that the file is text"
                    )
                if number % BATCH_ROWS == 0:  # a few bytes of gzip may be millions of lines
                    note_progress()
                yield line
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise RefusedError(
                f"its gzip data is cut off or damaged behind line {number} ({error}); copy or pack the file again"
            ) from error


_SCANS: dict[Any, tuple[pa.Schema, int, str]] = {}
"""Schema, number of rows and SHA-256 by file, size and time: a file is scanned once a process."""


class TextSource(OpenedFile):
    """A text file, with the methods of a :class:`.ParquetSource` of one row group. The ``footer_sha256`` of its
    identity is the hash of the whole file.

    Args:
        uri: absolute path, or URI of an object.
        form: format of the file (:class:`.InputFile`).
        delimiter: delimiter of CSV and TSV; ``None`` for the one of the header.
    """

    def __init__(self, uri: str, form: str, delimiter: str | None) -> None:
        super().__init__(uri)
        self._form, self._delimiter = form, delimiter
        key = (uri, form, delimiter, self.size, self.mtime_ns, self.e_tag)
        if key not in _SCANS:
            try:
                lines, names, rows = TextLines(self, form), dict[str, None](), 0
                nested: dict[str, bool] = {}
                for row in read_records(form, lines, names, delimiter):
                    rows += 1
                    for name in row.nested:
                        nested[name] = nested.get(name, False) or (row.values[name] or b"").startswith(b"[")
                _SCANS[key] = schema_of(list(names), nested), rows, lines.file.sha256.hexdigest()
            except BaseException:
                self.close()
                raise
        self.schema, self.rows, digest = _SCANS[key]
        self.groups = [self.rows]
        self.identity = Identity(size=self.size, mtime_ns=self.mtime_ns, footer_sha256=digest, e_tag=self.e_tag)

    def batches(self, positions: Sequence[int], groups: Groups | None, max_bytes: int) -> Iterator[pa.RecordBatch]:
        """Rows of the columns at some positions, in batches of about ``max_bytes`` of text at most."""
        schema = pa.schema([self.schema.field(i) for i in positions])
        lines = TextLines(self, self._form)
        rows: list[TextRow] = []
        start = 0
        for row in read_records(self._form, lines, {}, self._delimiter):
            rows.append(row)
            if len(rows) >= BATCH_ROWS or lines.bytes - start >= max_bytes:
                yield to_batch(rows, schema)
                rows, start = [], lines.bytes
        if rows:
            yield to_batch(rows, schema)
        if lines.file.count == self.size and lines.file.sha256.hexdigest() != self.identity.footer_sha256:
            raise RefusedError("was modified after it was scanned; run again")


@dataclass(slots=True)
class TextRow:
    """A row of text."""

    values: dict[str, bytes | None] = field(default_factory=dict)
    """Values by column; the bytes may not be UTF-8."""
    nested: list[str] = field(default_factory=list)
    """Columns with an object or a list."""
    error: str | None = None
    """Kind of the error of a row that cannot be read."""
    line: int | None = None
    """Number of its line, from 1."""
    detail: str | None = None
    """The error in words, with the line."""
    raw: bytes | None = None
    """Bytes of the row, for its key."""

    def put(self, key: str, raw: bytes) -> None:
        """Set a value, which is in JSON."""
        self.values[key] = value_text(raw)
        if is_nested(raw):
            self.nested.append(key)

    @classmethod
    def malformed(cls, kind: str, line: int, detail: str, raw: bytes) -> TextRow:
        return cls(error=kind, line=line, detail=f"line {line}{detail}", raw=raw)


def read_records(
    form: str, lines: Iterable[bytes], names: dict[str, None], delimiter: str | None = None
) -> Iterator[TextRow]:
    """The rows of a file; :class:`RefusedError` where the others cannot be read.

    Args:
        form: format of the file (:class:`.InputFile`).
        lines: its lines.
        names: gets the columns as they are met.
        delimiter: delimiter of CSV and TSV; ``None`` for the one of the header.
    """
    if form == "jsonl":
        return _json_records(lines, names)
    return _delimited_records(lines, names, "\t" if form == "tsv" and delimiter is None else delimiter)


def schema_of(names: Sequence[str], nested: Mapping[str, bool] | None = None) -> pa.Schema:
    """The schema of a file with these columns; :class:`RefusedError` where a name is not UTF-8.

    Args:
        names: names of the columns.
        nested: columns that hold an object or a list in some row, and whether it is a list.
    """
    try:
        info = pa.field(ROW_INFO, INFO, metadata={"nested": json.dumps(nested)} if nested else None)
        return pa.schema([*(pa.field(name, pa.string()) for name in names), info])
    except UnicodeEncodeError as error:
        raise RefusedError("has a column whose name is not UTF-8; save it as UTF-8") from error


def to_batch(records: Sequence[TextRow], schema: pa.Schema) -> pa.RecordBatch:
    """Some columns of some rows; bytes that are not UTF-8 stay such."""
    columns = []
    for name in schema.names:
        if name == ROW_INFO:
            infos = [
                {key: getattr(row, key) for key in INFO.names} if row.error or row.nested else None for row in records
            ]
            columns.append(pa.array(infos, INFO))
        else:
            columns.append(pa.array([row.values.get(name) for row in records], pa.binary()).view(pa.string()))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _delimited_records(lines: Iterable[bytes], names: dict[str, None], delimiter: str | None) -> Iterator[TextRow]:
    """CSV or TSV, quoted as in RFC 4180. ``delimiter``: by default a comma, or where the header has none a semicolon or
    a tab."""
    csv.field_size_limit(1 << 28)
    further_lines = iter(lines)
    first, before = next(further_lines, b""), 0
    if separator := _SEPARATOR.fullmatch(first):
        delimiter, first, before = delimiter or separator[1].decode("latin-1"), next(further_lines, b""), 1
    bare = _QUOTED.sub(b"", first).rstrip(b"\r\n")
    if b"\r" in bare:
        raise RefusedError(_CARRIAGE_RETURNS)
    if delimiter is None:
        delimiter = next((candidate for candidate in (",", ";", "\t") if candidate.encode() in bare), ",")
    record_lines: list[bytes] = []  # of the record that is read: a quoted field may have line ends

    def texts() -> Iterator[str]:
        for line in chain([first] if first else [], further_lines):
            record_lines.append(line)
            yield line.decode("utf-8", "surrogateescape")

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    header: list[str] = []
    fields: list[str] | None = []
    while fields is not None:
        record_lines.clear()
        first_line, problem = before + reader.line_num + 1, ""
        try:
            fields = next(reader, None)
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise RefusedError(
                    f"line {first_line}: a quote that is opened there or behind it is never closed; double the quotes "
                    "in a quoted field"
                ) from error
            if not header:
                raise RefusedError(f"line {first_line}: the names of the columns cannot be read: {error}") from error
            hint = "quote a field that has quotes, and double the quotes in it"
            if b"\r" in b"".join(record_lines).strip():
                error, hint = csv.Error("a carriage return in a field without quotes"), "quote such a field"
            fields, problem = [], f": {error}; {hint}"
        if not header:
            header = fields or []
            names.update(dict.fromkeys(header))
            if len(names) < len(header):
                twice = next(name for name in header if header.count(name) > 1)
                raise RefusedError(f"line {first_line}: two columns have the name {twice!r}; rename one")
            continue
        if fields and len(fields) != len(header):
            problem = (
                f" has {len(fields)} fields, but the header has {len(header)}: {_shown(b''.join(record_lines))}; quote "
                "fields that contain the delimiter"
            )
        if problem:
            yield TextRow.malformed(MALFORMED_ROW, before + reader.line_num, problem, b"".join(record_lines))
        elif fields:
            values = [text.encode("utf-8", "surrogateescape") for text in fields]
            yield TextRow(dict(zip(header, values, strict=True)))
    if not header:
        raise RefusedError("is empty; its first line should name the columns")


def _json_records(lines: Iterable[bytes], names: dict[str, None]) -> Iterator[TextRow]:
    pieces = iter(lines)
    start = list(islice(pieces, 1))
    while start and start[-1].isspace():
        start += islice(pieces, 1)
    first = b"".join(start).strip()
    start += islice(pieces, 1)
    if first.startswith(b"{") and _parse(0, first).error is not None:
        start += _first_mib(pieces)
        _refuse_several_lines(b"".join(start).lstrip().decode("utf-8", "surrogateescape"))
    if _is_array(first, start[-1].strip() if len(start) > 1 else b""):
        rows = array_elements(chain(start, pieces))
    else:
        rows = ((number, line) for number, line in enumerate(_whole_lines(chain(start, pieces)), 1))
    problem: str | None = None
    for number, text in rows:
        if text.isspace():
            continue
        record = _parse(number, text.strip())
        names.update(dict.fromkeys(record.values))
        problem = problem or record.detail
        yield record
    if not names:
        raise RefusedError(problem or "is empty; write one JSON object per line")


def _is_array(first: bytes, second: bytes) -> bool:
    """Whether a file that begins with these lines is an array. Where the second line is a row, the first one is a row
    that cannot be read, unless it is a bracket or has objects that go on there."""
    if not first.startswith(b"["):
        return False
    if first == b"[" or _parse(0, second).error is not None:
        return True
    try:
        return first.endswith(b",") and all(element[:1] == b"{" for element in list_items(first[:-1] + b"]"))
    except ValueError:
        return False


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, joined from pieces of lines."""
    line: list[bytes] = []
    for piece in pieces:
        line.append(piece)
        if piece.endswith(b"\n"):
            yield b"".join(line)
            line = []
    if line:
        yield b"".join(line)


def _first_mib(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The next pieces, up to about a MiB."""
    size = 0
    while size < _MOST_OBJECT and (piece := next(pieces, None)) is not None:
        size += len(piece)
        yield piece


def _refuse_several_lines(text: str) -> None:
    """Refuse a file that begins with an object of several lines, or that separates lines by carriage returns alone."""
    first, end = text.partition("\n")[0], 0
    if "\r" in first.rstrip("\r"):
        raise RefusedError(_CARRIAGE_RETURNS)
    with suppress(ValueError, RecursionError):
        value, end = json.JSONDecoder(parse_int=str).raw_decode(text)
    if "\n" in text[:end]:
        lists = [key for key, rows in value.items() if isinstance(rows, list) and rows and isinstance(rows[0], dict)]
        path = f"'.{lists[0]}[]'" if lists and lists[0].isidentifier() else "."
        raise RefusedError(f"line 1: an object takes several lines; write one per line: `jq -c {path} FILE`")


def _parse(number: int, text: bytes) -> TextRow:
    """The row of an object of JSON."""
    record = TextRow()
    try:
        for key, raw in object_members(text).items():
            record.put(key, raw)
    except ValueError as error:
        return TextRow.malformed(MALFORMED_JSON, number, f" is not a JSON object ({error}): {_shown(text)}", text)
    return record


def _shown(text: bytes) -> str:
    shown = text.strip().decode(errors="replace")
    return repr(shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "...")
