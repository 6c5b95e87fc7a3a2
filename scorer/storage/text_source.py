"""Open one CSV, TSV or JSON file in a worker, as :class:`.shards.ParquetSource` opens Parquet.

The file is read once from start to end to count its rows, find its columns and hash it; then again for its rows. Both
passes keep one batch in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ..system.closing import Closing
from ..system.progress import advance
from .receipts import Identity
from .shards import OpenedFile, RefusedError
from .text_files import BrokenTextError, Record, schema_of, text_format, to_batch
from .text_lines import TextLines

BATCH_ROWS = 4096


@dataclass(frozen=True)
class Scan:
    """What the first pass over a file found."""

    schema: pa.Schema
    rows: int
    digest: str


_SCANS: dict[Any, Scan] = {}
"""By file, size and time: a file is scanned once a process."""


class TextSource(Closing):
    """A text file, local or remote, opened for reading.

    Args:
        form: ``csv``, ``tsv`` or ``jsonl``.
        delimiter: of CSV and TSV; by default see :func:`..text_files.delimiter_of`.

    ``identity``: its ``footer_sha256`` is the hash of the whole file, which has no footer. ``groups``: one of all rows.

    Raises:
        RefusedError: it cannot be opened, or a line cannot be read; names the line.
    """

    def __init__(self, uri: str, form: str, delimiter: str | None) -> None:
        self._opened = opened = OpenedFile(uri)
        self._form, self._delimiter = form, delimiter
        key = (uri, form, delimiter, opened.size, opened.mtime_ns, opened.e_tag)
        if key not in _SCANS:
            try:
                _SCANS[key] = self._scan()
            except BaseException:
                self.close()
                raise
        scan = _SCANS[key]
        self.schema, self.rows, self.groups = scan.schema, scan.rows, [scan.rows]
        self.identity = Identity(
            size=opened.size, mtime_ns=opened.mtime_ns, footer_sha256=scan.digest, e_tag=opened.e_tag
        )

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def changed(self) -> bool:
        """Whether a local file was written to since it was opened."""
        return self._opened.changed()

    def batches(
        self, positions: Sequence[int], groups: tuple[int, int] | None, max_rows: int, max_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        """Rows in batches of about ``max_bytes`` of its text at most.

        Args:
            positions: of the columns, in the order of the file.
            groups: not looked at, since all rows are in one.
        """
        schema = pa.schema([self.schema.field(i) for i in positions])
        lines = TextLines(self._opened, advance, joins_blank=self._form == "jsonl")
        for rows in _batched(self._records(lines), lines, min(BATCH_ROWS, max_rows), max_bytes):
            yield to_batch(rows, schema)
        if lines.file_bytes == self._opened.size and lines.digest != self.identity.footer_sha256:
            raise RefusedError("was modified after it was scanned; run again")

    def _scan(self) -> Scan:
        lines = TextLines(self._opened, advance, joins_blank=self._form == "jsonl")
        counted = 0

        def count(records: Iterator[Record]) -> Iterator[Record]:
            nonlocal counted
            for record in records:
                counted += 1
                yield record

        form = text_format(self._form, self._delimiter)
        try:
            schema = schema_of(form.names(count(form.records(lines))))
        except BrokenTextError as error:
            raise RefusedError(str(error)) from error
        return Scan(schema, counted, lines.digest)

    def _records(self, lines: TextLines) -> Iterator[Record]:
        try:
            yield from text_format(self._form, self._delimiter).records(lines)
        except BrokenTextError as error:
            raise RefusedError(str(error)) from error


def _batched(records: Iterable[Record], lines: TextLines, most_rows: int, most_bytes: int) -> Iterator[list[Record]]:
    held: list[Record] = []
    start = lines.bytes
    for record in records:
        held.append(record)
        if len(held) >= most_rows or lines.bytes - start >= most_bytes:
            yield held
            held, start = [], lines.bytes
    if held:
        yield held
