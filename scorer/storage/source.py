"""Input files, opened for reading, local or remote: their identity, and the rows of Parquet in checked batches."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ..errors import OutputError
from ..system.waiting import Closing
from .location import StoreUri
from .receipts import Identity

if TYPE_CHECKING:
    import pyarrow as pa

UNOPENED = "cannot be opened"
"""Why a shard is refused; it may be true of one machine alone."""
_MAGIC = b"PAR1"
_BATCH_ROWS = 4096
_SAMPLE_ROWS = 64
_FOOTER_BYTES = 512 << 20
_LOCAL_BUFFER, _REMOTE_BUFFER = 1 << 18, 8 << 20
_ENCRYPTED = "encrypted Parquet, for which this program takes no keys; write it unencrypted"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class RefusedError(Exception):
    """A shard that is refused before any of its data is decoded, or at a line that cannot be read."""


class OpenedFile(Closing):
    """A file, local or remote. ``file``: of pyarrow; ``size`` in bytes; ``mtime_ns``: ``None`` if the store has none;
    ``e_tag``: its version in an object store, which is the one that is read; empty elsewhere.

    Raises:
        RefusedError: it cannot be opened.
    """

    file: Any
    size: int
    mtime_ns: int | None

    def __init__(self, uri: str) -> None:
        self._local: int | None = None
        self.is_remote, self.e_tag = _SCHEME.match(uri) is not None, ""
        if self.is_remote:
            self._open_remote(uri)
            return
        try:
            # Non-blocking: opening a FIFO would wait for its writer.
            self._local = os.open(uri, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            found = os.fstat(self._local)
        except OSError as error:
            raise RefusedError(f"{UNOPENED}: {error.strerror}") from error
        if not stat.S_ISREG(found.st_mode):
            os.close(self._local)
            raise RefusedError("is not a regular file")
        import pyarrow as pa

        self.file = pa.PythonFile(os.fdopen(self._local, "rb"), "r")
        self.size, self.mtime_ns = found.st_size, found.st_mtime_ns

    def _open_remote(self, uri: str) -> None:
        from .object_store import ObjectStore

        place = StoreUri.parse(uri)
        if place is None:
            raise RefusedError("is at a URI that is not one of an object store")
        try:
            file = ObjectStore(StoreUri(place.scheme, place.bucket, "")).open(place.path)
        except (OSError, OutputError) as error:
            raise RefusedError(f"{UNOPENED}: {describe(error)}") from error
        import pyarrow as pa

        self.file = pa.PythonFile(file, "r")
        self.size, self.mtime_ns, self.e_tag = file.info.size, None, file.info.version

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def changed(self) -> bool:
        """Whether a local file was written to since it was opened."""
        if self._local is None:
            return False
        found = os.fstat(self._local)
        return (found.st_size, found.st_mtime_ns) != (self.size, self.mtime_ns)


class ParquetSource(OpenedFile):
    """A Parquet file, opened for reading. ``groups``: rows of each row group.

    Raises:
        RefusedError: it is not a Parquet file, or cannot be opened.
        pyarrow.ArrowException, OSError: its footer cannot be read.
    """

    def __init__(self, uri: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        super().__init__(uri)
        with ExitStack() as stack:
            stack.enter_context(self)
            digest = hashlib.sha256(self._footer()).hexdigest()
            self.identity = Identity(size=self.size, mtime_ns=self.mtime_ns, footer_sha256=digest, e_tag=self.e_tag)
            self.parquet = pq.ParquetFile(
                self.file,
                memory_map=False,
                buffer_size=_REMOTE_BUFFER if self.is_remote else _LOCAL_BUFFER,
                pre_buffer=False,
                page_checksum_verification=True,
            )
            self.schema, metadata = self.parquet.schema_arrow, self.parquet.metadata
            self.rows = metadata.num_rows
            self.groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            if sum(self.groups) != self.rows or min(self.groups, default=0) < 0:
                raise pa.ArrowInvalid(f"its footer claims {self.rows} rows, its row groups {self.groups[:20]}")
            stack.pop_all()

    def _footer(self) -> bytes:
        """The bytes from the start of the footer to the end of the file."""
        size = self.size
        try:
            head, tail = self.file.read_at(4, 0), self.file.read_at(8, max(size - 8, 0))
            if size < 12 or tail[4:] != _MAGIC or head != _MAGIC:
                if tail[4:] == b"PARE":
                    raise RefusedError(f"is {_ENCRYPTED}")
                if head == b"PK\x03\x04":
                    raise RefusedError("is an Excel workbook or another ZIP archive; save it as CSV UTF-8")
                raise RefusedError(
                    f"is not a Parquet file: its {size} bytes do not begin and end as Parquet does; "
                    "`scorer run` reads CSV, TSV and JSON Lines with --format"
                )
            length = int.from_bytes(tail[:4], "little") + 8
            if length > size - 4 or length > _FOOTER_BYTES:
                raise RefusedError(f"is cut or damaged: its footer claims {length - 8} bytes of {size}")
            return bytes(self.file.read_at(length, size - length))
        except OSError as error:
            raise RefusedError(f"cannot be read: {describe(error)}") from error

    def batches(
        self, positions: Sequence[int], groups: tuple[int, int] | None, max_rows: int, max_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        """Rows in checked batches of a size that keeps memory near ``max_bytes``.

        The size of a batch is estimated from the footer and from a few rows, since dictionary encoding hides the size
        of the values. If a batch is too large nevertheless, or Arrow cannot hold it, later batches are smaller.

        Args:
            positions: of the columns, in the order of the file.
            groups: the first row group and the end; ``None`` for all.
        """
        import pyarrow as pa

        from .windows import check_batch

        # Parquet is asked by dotted paths. Where a name has a dot, it could mean a part of another column: then all
        # columns are read, and the others are dropped.
        is_plain = positions and not any("." in name for name in self.schema.names)
        names = [self.schema.names[i] for i in positions] if is_plain else None
        first, end = groups or (0, len(self.groups))
        largest = max(1, min(_BATCH_ROWS, max_rows, self._fitting(first, names, max_bytes)))
        for numbers, rows, size in self._units(first, end, largest):
            done = 0
            step = max(1, min(largest, max_bytes * rows // max(size, 1)))
            while done < rows:
                position = 0
                try:
                    for batch in self.parquet.iter_batches(step, row_groups=numbers, columns=names, use_threads=False):
                        position += batch.num_rows
                        if position <= done:
                            continue
                        batch = batch.slice(max(0, batch.num_rows - (position - done)))
                        if names is None and len(positions) < len(batch.schema):
                            batch = batch.select(list(positions))
                        check_batch(batch)
                        done = position
                        yield batch
                        weight = batch.nbytes
                        if weight > 2 * max_bytes and step > 1 and done < rows:
                            step = largest = max(1, step * max_bytes // weight)
                            break
                    else:
                        if done < rows:
                            raise pa.ArrowInvalid(f"a row group claims {rows} rows and has {position}")
                except (MemoryError, pa.ArrowCapacityError, pa.ArrowNotImplementedError):
                    if step == 1:
                        raise
                    step = largest = max(1, step // 16)

    def _fitting(self, first: int, names: list[str] | None, max_bytes: int) -> int:
        """The number of rows that fit ``max_bytes``, judged by those after the row group ``first`` begins."""
        number = next((i for i in range(first, len(self.groups)) if self.groups[i] > 0), None)
        if number is None:
            return _BATCH_ROWS
        group = self.parquet.metadata.row_group(number)
        sample = max(1, min(_SAMPLE_ROWS, max_bytes * group.num_rows // max(group.total_byte_size, 1)))
        rows = self.parquet.iter_batches(sample, row_groups=[number], columns=names, use_threads=False)
        some = next(iter(rows), None)
        if some is None or not len(some):
            return _BATCH_ROWS
        return max_bytes * len(some) // max(some.nbytes, 1)

    def _units(self, first: int, end: int, largest: int) -> Iterator[tuple[list[int], int, int]]:
        """Row groups, consecutive small ones combined: (numbers, rows, bytes).

        A batch over two row groups has two dictionaries, which Arrow cannot combine in a nested column.
        """
        apart = any("dictionary<" in str(field.type) for field in self.schema)
        numbers: list[int] = []
        rows = size = 0
        for i in range(first, end):
            group = self.parquet.metadata.row_group(i)
            if numbers and (apart or rows + group.num_rows > largest):
                yield numbers, rows, size
                numbers, rows, size = [], 0, 0
            numbers.append(i)
            rows += group.num_rows
            size += max(group.total_byte_size, 0)
        if numbers:
            yield numbers, rows, size


def describe(error: BaseException) -> str:
    """An error's message on one line of bounded length."""
    text = " ".join(str(error).split()) or type(error).__name__
    if "decrypt" in text:  # Parquet's message for encrypted columns with a readable footer
        return _ENCRYPTED
    return text if len(text) <= 300 else text[:297] + "..."
