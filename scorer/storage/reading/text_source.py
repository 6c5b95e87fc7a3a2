"""Open one CSV, TSV or JSON Lines file inside the reader's child process, as :mod:`.source` opens Parquet.

The file is read once from start to end to count its rows, find its columns and hash it; then again for its rows. Both
passes keep one batch in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from ...system.closing import Closing
from ..pieces import Piece
from ..text_files import BrokenTextError, Record, schema_of, text_format, to_batch
from .opened import OpenedFile, RefusedError, positions_of
from .text_lines import TextLines

BATCH_ROWS = 4096


@dataclass(frozen=True)
class Scan:
    """What the first pass over a file found."""

    schema: pa.Schema
    rows: int
    digest: str


class TextSource(Closing):
    """A text file, local or remote, opened for reading.

    Args:
        form: ``csv``, ``tsv`` or ``jsonl``.
        delimiter: of CSV and TSV; by default see :func:`scorer.storage.text_files.delimiter_of`.
        tick: called while the file is scanned.
        known: scans of this process by file, size and time, so that a file is scanned once.

    ``identity``: as of :class:`.Source`; ``footer_sha256`` is the hash of the whole file, which has no footer.

    Raises:
        RefusedError: it cannot be opened, or a line cannot be read; names the line.
    """

    row_groups = 1

    def __init__(
        self, uri: str, form: str, delimiter: str | None, tick: Callable[[], None], known: dict[Any, Scan]
    ) -> None:
        self._opened, self._form, self._delimiter = OpenedFile(uri), form, delimiter
        key = (uri, form, delimiter, self._opened.size, self._opened.mtime_ns, self._opened.e_tag)
        if key not in known:
            known[key] = self._scan(tick)
        scan = known[key]
        self.schema, self.rows = scan.schema, scan.rows
        self.identity = {
            "size": self._opened.size,
            "mtime_ns": self._opened.mtime_ns,
            "footer_sha256": scan.digest,
        }
        if self._opened.e_tag:
            self.identity["e_tag"] = self._opened.e_tag

    def pieces(self, most: int) -> list[Piece]:
        """None: a text file has to be read from its start."""
        return []

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def changed(self) -> bool:
        """Whether a local file was written to since it was opened."""
        return self._opened.changed()

    def is_current(self) -> bool:
        """See :meth:`.OpenedFile.is_current`."""
        return self._opened.is_current()

    def select(self, columns: list[str] | None) -> tuple[list[int], None]:
        """Positions of the wanted columns, in the file's order."""
        return positions_of(self.schema.names, columns), None

    def batches(
        self, columns: list[str] | None, skip: int, end: int, max_rows: int, max_bytes: int, tick: Callable[[], None]
    ) -> Iterator[pa.RecordBatch]:
        """Rows from ``skip`` to before ``end``, in batches of about ``max_bytes`` of its text at most."""
        positions, _ = self.select(columns)
        schema = pa.schema([self.schema.field(i) for i in positions])
        lines = TextLines(self._opened, tick, joins_blank=self._form == "jsonl")
        records = islice(self._records(lines), skip, end)
        for rows in _batched(records, lines, min(BATCH_ROWS, max_rows), max_bytes):
            yield to_batch(rows, schema)
        if lines.file_bytes == self._opened.size and lines.digest != self.identity["footer_sha256"]:
            raise RefusedError("was modified after it was scanned; run again")

    def _scan(self, tick: Callable[[], None]) -> Scan:
        lines = TextLines(self._opened, tick, joins_blank=self._form == "jsonl")
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
