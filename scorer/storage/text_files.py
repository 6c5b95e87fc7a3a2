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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import msgspec
import pyarrow as pa

from ..system.files import ROW_INFO
from ..system.numbers import spell_number, unique_keys
from ..system.waiting import note_progress
from .receipts import Groups, Identity
from .shards import OpenedFile, RefusedError

MALFORMED_JSON = "malformed_json"
MALFORMED_ROW = "malformed_row"
INFO = pa.struct(
    [("error", pa.string()), ("detail", pa.string()), ("raw", pa.binary()), ("nested", pa.list_(pa.string()))]
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
    b"PK\x03\x04": "a spreadsheet or zip archive; save it as CSV or unpack it",
    GZIP: "compressed by gzip twice; unpack it once",
}
_MOST_SHOWN = 60
_QUOTED = re.compile(rb'"[^"]*"')
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]|,')
_KEY = re.compile(r'[\s,]*"(?:[^"\\]|\\.)*"\s*:\s*')
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])
_SLOW_DECODER = json.JSONDecoder(object_pairs_hook=list, parse_int=str, parse_float=str)


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
        found = bytes(self._file.read(len(buffer)))
        buffer[: len(found)] = found
        self.sha256.update(found)
        self.count += len(found)
        note_progress()
        return len(found)


class TextLines:
    """The lines of an opened file, unpacked if it begins as gzip does. ``file``: the bytes that were read of it;
    ``bytes``: how many of the text were."""

    def __init__(self, opened: OpenedFile) -> None:
        self.file = _Bytes(opened)
        self.bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        """Each line with its line end; :class:`RefusedError` where the file is not text, or damaged."""
        number = 0
        file: io.BufferedReader | gzip.GzipFile = io.BufferedReader(self.file, CHUNK_BYTES)
        if file.peek(2).startswith(GZIP):
            file = gzip.GzipFile(fileobj=file)
        try:
            start = file.peek(4)
            if other := next((what for magic, what in _NOT_TEXT.items() if start.startswith(magic)), None):
                raise RefusedError(f"is {other}")
            if start.startswith(codecs.BOM_UTF8):
                file.read(len(codecs.BOM_UTF8))
            while line := file.readline(MOST_LINE_BYTES + 1):
                number += 1
                self.bytes += len(line)
                if len(line) > MOST_LINE_BYTES:
                    raise RefusedError(
                        f"line {number} is longer than {MOST_LINE_BYTES >> 20} MiB; check that the file is text"
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
    """A text file; as a :class:`.ParquetSource` of one row group. The ``footer_sha256`` of its identity is the hash of
    the whole file. ``form``, ``delimiter``: see :class:`.InputFile`."""

    def __init__(self, uri: str, form: str, delimiter: str | None) -> None:
        super().__init__(uri)
        self._form, self._delimiter = form, delimiter
        key = (uri, form, delimiter, self.size, self.mtime_ns, self.e_tag)
        if key not in _SCANS:
            try:
                lines, names, nested, rows = TextLines(self), dict[str, None](), dict[str, None](), 0
                for record in read_records(form, lines, names, delimiter):
                    rows += 1
                    nested.update(dict.fromkeys(record.nested))
                _SCANS[key] = schema_of(list(names), list(nested)), rows, lines.file.sha256.hexdigest()
            except BaseException:
                self.close()
                raise
        self.schema, self.rows, digest = _SCANS[key]
        self.groups = [self.rows]
        self.identity = Identity(size=self.size, mtime_ns=self.mtime_ns, footer_sha256=digest, e_tag=self.e_tag)

    def batches(self, positions: Sequence[int], groups: Groups | None, max_bytes: int) -> Iterator[pa.RecordBatch]:
        """Rows of the columns at some positions, in batches of about ``max_bytes`` of text at most."""
        schema = pa.schema([self.schema.field(i) for i in positions])
        lines = TextLines(self)
        held: list[TextRow] = []
        start = 0
        for record in read_records(self._form, lines, {}, self._delimiter):
            held.append(record)
            if len(held) >= BATCH_ROWS or lines.bytes - start >= max_bytes:
                yield to_batch(held, schema)
                held, start = [], lines.bytes
        if held:
            yield to_batch(held, schema)
        if lines.file.count == self.size and lines.file.sha256.hexdigest() != self.identity.footer_sha256:
            raise RefusedError("was modified after it was scanned; run again")


@dataclass(slots=True)
class TextRow:
    """A row. ``values``: by column, bytes that may not be UTF-8. The others: see :data:`ROW_INFO`."""

    values: dict[str, bytes | None] = field(default_factory=dict)
    nested: list[str] = field(default_factory=list)
    error: str | None = None
    detail: str | None = None
    raw: bytes | None = None

    def put(self, key: str, raw: bytes) -> None:
        """Set a value, given in JSON."""
        text: bytes | None = raw
        if raw[:1] == b'"':
            text = raw[1:-1] if b"\\" not in raw else msgspec.json.decode(raw, type=str).encode()
        elif raw[:1] in (b"{", b"["):
            self.nested.append(key)
        elif raw[:1] not in (b"t", b"f"):
            text = None if raw == b"null" else spell_number(raw.decode()).encode()
        self.values[key] = text

    @classmethod
    def malformed(cls, kind: str, line: int, detail: str, raw: bytes) -> TextRow:
        return cls(error=f"{kind}:line {line}", detail=f"line {line}{detail}", raw=raw)


def read_records(
    form: str, lines: Iterable[bytes], names: dict[str, None], delimiter: str | None = None
) -> Iterator[TextRow]:
    """The rows of a file; :class:`RefusedError` where there are no more to be had. ``names``: gets the columns as they
    are found. ``form``, ``delimiter``: see :class:`.InputFile`."""
    if form == "jsonl":
        return _json_records(lines, names)
    return _delimited_records(lines, names, "\t" if form == "tsv" and delimiter is None else delimiter)


def schema_of(names: Sequence[str], nested: Sequence[str] = ()) -> pa.Schema:
    """The schema of a file with these columns; :class:`RefusedError` where a name is not UTF-8. ``nested``: those that
    hold an object or a list in some row, which the metadata of :data:`ROW_INFO` lists."""
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
    rest = iter(lines)
    first = list(islice(rest, 1))
    if delimiter is None:
        bare = _QUOTED.sub(b"", b"".join(first))
        delimiter = next((one for one in (",", ";", "\t") if one.encode() in bare), ",")
    taken: list[bytes] = []  # of the record that is read: a quoted field may have line ends

    def texts() -> Iterator[str]:
        for line in chain(first, rest):
            taken.append(line)
            yield line.decode("utf-8", "surrogateescape")

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    header: list[str] = []
    fields: list[str] | None = []
    while fields is not None:
        taken.clear()
        began, problem = reader.line_num + 1, ""
        try:
            fields = next(reader, None)
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise RefusedError(
                    f"line {began}: a quote that is opened there or behind it is never closed; double the quotes "
                    "in a quoted field"
                ) from error
            if not header:
                raise RefusedError(f"line {began}: the names of the columns cannot be read: {error}") from error
            fields, problem = [], f": {error}; quote a field that has quotes, and double the quotes in it"
        if not header:
            header = fields or []
            names.update(dict.fromkeys(header))
            if len(names) < len(header):
                twice = next(name for name in header if header.count(name) > 1)
                raise RefusedError(f"line {began}: two columns have the name {twice!r}; rename one")
            continue
        if fields and len(fields) != len(header):
            problem = (
                f" has {len(fields)} fields, but the header has {len(header)}: {_shown(b''.join(taken))}; quote fields "
                "that contain the delimiter"
            )
        if problem:
            yield TextRow.malformed(MALFORMED_ROW, reader.line_num, problem, b"".join(taken))
        elif fields:
            values = [text.encode("utf-8", "surrogateescape") for text in fields]
            yield TextRow(dict(zip(header, values, strict=True)))
    if not header:
        raise RefusedError("is empty; its first line should name the columns")


def _json_records(lines: Iterable[bytes], names: dict[str, None]) -> Iterator[TextRow]:
    numbered = ((number, line) for number, line in enumerate(lines, 1) if not line.isspace())
    start = list(islice(numbered, 2))
    everything = chain(start, numbered)
    begins = [text.strip() for _, text in start]
    # An array, unless the second line is a row: then the first one is a row that cannot be read.
    is_array = b"".join(begins).startswith(b"[") and (
        begins[0] == b"[" or len(begins) == 1 or _parse(0, begins[1]).error is not None
    )
    first: TextRow | None = None
    for number, text in _elements(everything) if is_array else everything:
        record = _parse(number, text.strip())
        names.update(dict.fromkeys(record.values))
        first = first or record
        yield record
    if not names:
        raise RefusedError((first.detail if first else None) or "is empty; write one JSON object per line")


def _elements(lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The elements of a JSON array over any lines, each with the number of its first line."""
    number, first = next(lines)
    depth, began, element = 1, 0, list[bytes]()
    for number, line in chain([(number, first.lstrip()[1:])], lines):  # noqa: B020  (evaluated before the first)
        start = 0
        for token in _TOKEN.finditer(line):
            kind = token[0]
            depth += (kind in (b"[", b"{")) - (kind in (b"]", b"}"))
            if depth == 0 or (depth == 1 and kind == b","):
                whole = b"".join([*element, line[start : token.start()]])
                if whole.strip() or kind == b",":
                    yield began or number, whole
                element, began, start = [], 0, token.end()
            if depth == 0:
                break
        rest = line[start:]
        if depth == 0:
            if extra := next((one for one in chain([(number, rest)], lines) if one[1].strip()), None):
                raise RefusedError(f"line {extra[0]}: something follows the end of the array: {_shown(extra[1])}")
            return
        element.append(rest)
        began = began or (number if rest.strip() else 0)
    raise RefusedError(f"line {number}: the array of objects does not end; complete the file")


def _parse(number: int, text: bytes) -> TextRow:
    """A line. A name that is there twice, as a key or as anything else, is left to Python's reader."""
    try:
        found = _DECODER.decode(text)
        if all(text.count(b'"%b"' % key.encode()) == 1 for key in found):
            record = TextRow()
            for key, raw in found.items():
                record.put(key, bytes(raw))
            return record
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return _parse_slowly(number, text)


def _parse_slowly(number: int, text: bytes) -> TextRow:
    """A line that Python's reader may take: with NaN, half of a surrogate pair, or bytes that are not UTF-8."""
    line, record, at = text.decode("utf-8", "surrogateescape"), TextRow(), 1
    try:
        pairs = _SLOW_DECODER.decode(line)
        if not line.startswith("{"):
            raise ValueError("it is not an object")
        found = unique_keys(pairs)
    except (ValueError, RecursionError) as error:
        return TextRow.malformed(MALFORMED_JSON, number, f" is not a JSON object ({error}): {_shown(text)}", text)
    for key, value in found.items():
        start = _KEY.match(line, at).end()  # type: ignore[union-attr]  # a key comes next
        _, at = _SLOW_DECODER.raw_decode(line, start)
        raw = line[start:at]
        if raw.startswith('"'):
            record.values[key] = _encoded(value)
        else:
            record.put(key, b"null" if raw in _NO_NUMBERS else _encoded(raw))
    return record


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which JSON can name
        return text.encode("utf-8", "surrogatepass")


def _shown(text: bytes) -> str:
    shown = text.strip().decode(errors="replace")
    return repr(shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "...")
