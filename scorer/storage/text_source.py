"""Open one CSV, TSV or JSON file in a worker, as :class:`.shards.ParquetSource` opens Parquet.

The file is read once from start to end to count its rows, find its columns and hash it; then again for its rows. Both
passes keep one batch in memory. A file that begins as gzip does is unpacked, whatever its name is.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ..system.waiting import advance
from .receipts import Identity
from .source import OpenedFile, RefusedError
from .text_files import BrokenTextError, Record, read_records, schema_of, to_batch

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


class _Bytes(io.RawIOBase):
    """The bytes of an opened file from its start, counted and hashed as they are read."""

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
        advance()
        return len(found)


class TextLines:
    """The lines of an opened file from its start, each with its line end.

    ``bytes``: of the text, read so far.
    """

    def __init__(self, opened: OpenedFile) -> None:
        self._bytes = _Bytes(opened)
        self.bytes = 0

    @property
    def file_bytes(self) -> int:
        """How many bytes of the file were read; fewer than those of its text where it is compressed."""
        return self._bytes.count

    @property
    def digest(self) -> str:
        """SHA-256 of what was read of the file, in hexadecimal."""
        return self._bytes.sha256.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        """
        Raises:
            RefusedError: the file is not text, its compressed data is damaged or cut off, or a line is longer than
                :data:`MOST_LINE_BYTES`.
        """
        number = 0
        file: io.BufferedReader | gzip.GzipFile = io.BufferedReader(self._bytes, CHUNK_BYTES)
        if file.peek(2).startswith(GZIP):
            file = gzip.GzipFile(fileobj=file)
        try:
            start = file.peek(4)
            for magic, what in _NOT_TEXT.items():
                if start.startswith(magic):
                    raise RefusedError(f"is {what}")
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
                    advance()
                yield line
        except EOFError as error:
            raise RefusedError(f"its gzip data is cut off behind line {number}; copy or pack the file again") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise RefusedError(
                f"its gzip data is damaged behind line {number} ({error}); copy or pack the file again"
            ) from error


@dataclass(frozen=True)
class _Scan:
    """Schema, number of rows and SHA-256 of a file."""

    schema: pa.Schema
    rows: int
    digest: str


_SCANS: dict[Any, _Scan] = {}
"""By file, size and time: a file is scanned once a process."""


class TextSource(OpenedFile):
    """A text file, local or remote, opened for reading.

    Args:
        form: ``csv``, ``tsv`` or ``jsonl``.
        delimiter: of CSV and TSV; by default see :func:`..text_files.delimiter_of`.

    ``identity``: its ``footer_sha256`` is the hash of the whole file, which has no footer. ``groups``: one of all rows.

    Raises:
        RefusedError: it cannot be opened, or a line cannot be read; names the line.
    """

    def __init__(self, uri: str, form: str, delimiter: str | None) -> None:
        super().__init__(uri)
        self._form, self._delimiter = form, delimiter
        key = (uri, form, delimiter, self.size, self.mtime_ns, self.e_tag)
        if key not in _SCANS:
            try:
                _SCANS[key] = self._scan()
            except BaseException:
                self.close()
                raise
        scan = _SCANS[key]
        self.schema, self.rows, self.groups = scan.schema, scan.rows, [scan.rows]
        self.identity = Identity(size=self.size, mtime_ns=self.mtime_ns, footer_sha256=scan.digest, e_tag=self.e_tag)

    def batches(
        self, positions: Sequence[int], groups: tuple[int, int] | None, max_rows: int, max_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        """Rows in batches of about ``max_bytes`` of its text at most.

        Args:
            positions: of the columns, in the order of the file.
            groups: not looked at, since all rows are in one.
        """
        schema = pa.schema([self.schema.field(i) for i in positions])
        lines = TextLines(self)
        held: list[Record] = []
        start = 0
        for record in self._records(lines, {}):
            held.append(record)
            if len(held) >= min(BATCH_ROWS, max_rows) or lines.bytes - start >= max_bytes:
                yield to_batch(held, schema)
                held, start = [], lines.bytes
        if held:
            yield to_batch(held, schema)
        if lines.file_bytes == self.size and lines.digest != self.identity.footer_sha256:
            raise RefusedError("was modified after it was scanned; run again")

    def _scan(self) -> _Scan:
        lines = TextLines(self)
        names: dict[str, None] = {}
        rows = sum(1 for _ in self._records(lines, names))
        try:
            return _Scan(schema_of(list(names)), rows, lines.digest)
        except BrokenTextError as error:
            raise RefusedError(str(error)) from error

    def _records(self, lines: TextLines, names: dict[str, None]) -> Iterator[Record]:
        try:
            yield from read_records(self._form, lines, names, self._delimiter)
        except BrokenTextError as error:
            raise RefusedError(str(error)) from error
