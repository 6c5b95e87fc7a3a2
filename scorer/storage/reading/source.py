"""Open one Parquet shard inside the reader's child process: its identity, and its rows in batches.

Nothing here runs in the scoring process; see :mod:`.reader`.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from ...system.closing import Closing
from ..pieces import MOST_PIECES, Piece, cut_pieces
from .opened import ENCRYPTED, OpenedFile, RefusedError, describe, positions_of
from .sizes import check_batch

MAGIC = b"PAR1"
MAX_BATCH_ROWS = 4096
SAMPLE_ROWS = 64
MAX_FOOTER_BYTES = 512 << 20


class Source(Closing):
    """A Parquet file, local or remote, opened for reading.

    ``identity``: ``size``, ``mtime_ns`` (``None`` if the store has none), ``footer_sha256``, and in an object store
    ``e_tag``.

    Raises:
        RefusedError: it is not a Parquet file, or cannot be opened.
        pyarrow.ArrowException, OSError: its footer cannot be read.
    """

    def __init__(self, uri: str, buffer_bytes: int = 1 << 18) -> None:
        self._opened = opened = OpenedFile(uri)
        if opened.is_remote:
            buffer_bytes = max(buffer_bytes, 8 << 20)  # each read is a request over the network
        footer = self._footer(opened.size)
        digest = hashlib.sha256(footer).hexdigest()
        self.identity = {"size": opened.size, "mtime_ns": opened.mtime_ns, "footer_sha256": digest}
        if opened.e_tag:
            self.identity["e_tag"] = opened.e_tag
        self.parquet = pq.ParquetFile(
            opened.file, memory_map=False, buffer_size=buffer_bytes, pre_buffer=False, page_checksum_verification=True
        )
        self.schema = self.parquet.schema_arrow
        self.rows = self.parquet.metadata.num_rows
        self.row_groups = self.parquet.metadata.num_row_groups
        self._groups = [self.parquet.metadata.row_group(i).num_rows for i in range(self.row_groups)]
        self._ends = list(accumulate(self._groups))
        counted = sum(self._groups)
        if counted != self.rows or self.rows < 0:
            raise pa.ArrowInvalid(f"its footer claims {self.rows} rows, its row groups {counted}")

    def _footer(self, size: int) -> bytes:
        """The bytes from the start of the footer to the end of the file."""
        try:
            tail = self._opened.read(max(size - 8, 0), 8)
            if size < 12 or tail[4:] != MAGIC or self._opened.read(0, 4) != MAGIC:
                if tail[4:] == b"PARE":
                    raise RefusedError(f"is {ENCRYPTED}")
                raise RefusedError(
                    f"is not a Parquet file: its {size} bytes do not begin and end as Parquet does; "
                    "`scorer run` reads CSV, TSV and JSON Lines with --format"
                )
            length = int.from_bytes(tail[:4], "little") + 8
            if length > size - 4 or length > MAX_FOOTER_BYTES:
                raise RefusedError(f"is cut or damaged: its footer claims {length - 8} bytes of {size}")
            return self._opened.read(size - length, length)
        except OSError as error:
            raise RefusedError(f"cannot be read: {describe(error)}") from error

    def pieces(self, most: int) -> list[Piece]:
        """The pieces of at most ``most`` rows; see :func:`.pieces.cut_pieces`.

        Raises:
            RefusedError: there are too many.
        """
        if min(self._groups, default=0) < 0:
            raise pa.ArrowInvalid(f"its footer claims a row group of {min(self._groups)} rows")
        found = cut_pieces(self._groups, most)
        if len(found) > MOST_PIECES:
            raise RefusedError(
                f"would be {len(found):,} pieces with --split-rows {most}, and {MOST_PIECES:,} are allowed; give a "
                "larger number"
            )
        return found

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def changed(self) -> bool:
        """Whether a local file was written to since it was opened."""
        return self._opened.changed()

    def is_current(self) -> bool:
        """See :meth:`.OpenedFile.is_current`."""
        return self._opened.is_current()

    def select(self, columns: list[str] | None) -> tuple[list[int], list[str] | None]:
        """Positions of the wanted columns, in the file's order, and the column names to request from Parquet.

        Parquet takes dotted paths. A name that contains a dot could mean a part of another column; in this case all
        columns are read, and the others are dropped.
        """
        names = self.schema.names
        positions = positions_of(names, columns)
        if columns is None:
            return positions, None
        plain = positions and not any("." in name for name in names)
        return positions, [names[i] for i in positions] if plain else None

    def batches(
        self, columns: list[str] | None, skip: int, end: int, max_rows: int, max_bytes: int, tick: Callable[[], None]
    ) -> Iterator[pa.RecordBatch]:
        """Rows from ``skip`` to before ``end``, in checked batches of a size that keeps memory near ``max_bytes``.

        The size of a batch is estimated from the footer and from a few rows, since dictionary encoding hides the size
        of the values. If a batch is too large nevertheless, or Arrow cannot hold it, later batches are smaller.
        """
        positions, names = self.select(columns)
        first = bisect_right(self._ends, skip)  # the row group of the first row
        largest = max(1, min(MAX_BATCH_ROWS, max_rows, self._fitting(first, names, max_bytes)))
        skip -= self._ends[first - 1] if first else 0
        for groups, rows, size in self._units(first, bisect_left(self._ends, end) + 1, largest):
            if skip >= rows:
                skip -= rows
                continue
            done, skip = skip, 0
            step = max(1, min(largest, max_bytes * rows // max(size, 1)))
            while done < rows:
                position = 0
                try:
                    for batch in self.parquet.iter_batches(step, row_groups=groups, columns=names, use_threads=False):
                        tick()
                        position += batch.num_rows
                        if position <= done:
                            continue
                        batch = batch.slice(max(0, batch.num_rows - (position - done)))
                        if names is None and len(positions) < len(batch.schema):
                            batch = batch.select(positions)
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
        for number in range(first, self.row_groups):
            group = self.parquet.metadata.row_group(number)
            if group.num_rows > 0:
                break
        else:
            return MAX_BATCH_ROWS
        sample = max(1, min(SAMPLE_ROWS, max_bytes * group.num_rows // max(group.total_byte_size, 1)))
        rows = self.parquet.iter_batches(sample, row_groups=[number], columns=names, use_threads=False)
        some = next(iter(rows), None)
        if some is None or not len(some):
            return MAX_BATCH_ROWS
        return max_bytes * len(some) // max(some.nbytes, 1)

    def _units(self, first: int, stop: int, largest: int) -> Iterator[tuple[list[int], int, int]]:
        """Row groups from ``first`` to before ``stop``, consecutive small ones combined: (numbers, rows, bytes).

        A batch over two row groups has two dictionaries, which Arrow cannot combine in a nested column.
        """
        apart = any(_has_dictionary(field.type) for field in self.schema)
        groups: list[int] = []
        rows = size = 0
        for i in range(first, min(stop, self.row_groups)):
            group = self.parquet.metadata.row_group(i)
            if groups and (apart or rows + group.num_rows > largest):
                yield groups, rows, size
                groups, rows, size = [], 0, 0
            groups.append(i)
            rows += max(group.num_rows, 0)
            size += max(group.total_byte_size, 0)
        if groups:
            yield groups, rows, size


def _has_dictionary(kind: pa.DataType) -> bool:
    return pa.types.is_dictionary(kind) or any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))
