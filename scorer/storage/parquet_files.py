"""A Parquet file as input: its identity, its row groups, and its rows in batches that fit memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from .opened_file import ENCRYPTED, MAGIC_BYTES, OpenedFile, RefusedError, other_format
from .receipts import Groups, Identity

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"PAR1"
_BATCH_ROWS = 4096
_SAMPLE_ROWS = 64
_FOOTER_BYTES = 512 << 20
_LOCAL_BUFFER, _REMOTE_BUFFER = 1 << 18, 8 << 20


def group_ranges(groups: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Ranges of row groups with at most ``limit`` rows together; a larger group is a range by itself.

    Args:
        groups: number of rows of each group.
    """
    starts, rows = [0], 0
    for number, count in enumerate(groups):
        if rows and rows + count > limit:
            starts.append(number)
            rows = 0
        rows += count
    return list(pairwise([*starts, len(groups)]))


class ParquetSource(OpenedFile):
    """A Parquet file; :class:`RefusedError` if it is none."""

    identity: Identity
    """Identity of the file."""
    schema: pa.Schema
    """Its schema."""
    rows: int
    """Number of its rows."""
    groups: list[int]
    """Number of rows of each row group."""

    def __init__(self, uri: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        super().__init__(uri)
        size = self.size
        try:
            head, tail = self.file.read_at(4, 0), self.file.read_at(8, max(size - 8, 0))
            if tail[4:] == b"PARE":
                raise RefusedError(f"is {ENCRYPTED}")
            if other := other_format(self.file.read_at(MAGIC_BYTES, 0)):
                raise RefusedError(f"is {other}")
            if size < 12 or tail[4:] != _MAGIC or head != _MAGIC:
                raise RefusedError(
                    f"is not a Parquet file: its {size} bytes do not begin and end as Parquet does; "
                    "`scorer run` reads CSV, TSV and JSON Lines with --format"
                )
            length = int.from_bytes(tail[:4], "little") + 8
            if length > size - 4 or length > _FOOTER_BYTES:
                raise RefusedError(f"is cut or damaged: its footer claims {length - 8} bytes of {size}")
            digest = hashlib.sha256(self.file.read_at(length, size - length)).hexdigest()
            self.identity = Identity(size=size, mtime_ns=self.mtime_ns, footer_sha256=digest, e_tag=self.e_tag)
            self.parquet = pq.ParquetFile(
                self.file,
                memory_map=False,
                buffer_size=_LOCAL_BUFFER if self._descriptor is not None else _REMOTE_BUFFER,
                pre_buffer=False,
                page_checksum_verification=True,
            )
            self.schema, metadata = self.parquet.schema_arrow, self.parquet.metadata
            self.rows = metadata.num_rows
            self.groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            if sum(self.groups) != self.rows or min(self.groups, default=0) < 0:
                raise pa.ArrowInvalid(f"its footer claims {self.rows} rows, its row groups {self.groups[:20]}")
        except BaseException:
            self.close()
            raise

    def batches(self, positions: Sequence[int], groups: Groups | None, max_bytes: int) -> Iterator[pa.RecordBatch]:
        """Rows of the columns at some positions, in checked batches that keep memory near ``max_bytes``.

        The size of a batch is estimated from the footer and from a first batch of a few rows. If a batch is too large
        nevertheless, or Arrow cannot hold it, later ones are smaller. Small row groups are read together.
        """
        import pyarrow as pa

        # Parquet is asked by dotted paths. Where a name has a dot, it could mean a part of another column: then all
        # columns are read, and the others are dropped.
        is_plain = positions and not any("." in name for name in self.schema.names)
        names = [self.schema.names[i] for i in positions] if is_plain else None
        first, end = groups or (0, len(self.groups))
        metadata = self.parquet.metadata
        largest = None  # until the weight of some rows is known, which dictionaries hide from the footer
        # Arrow reads no dictionary inside of a list over several row groups.
        is_nested = any(kind.num_fields and "dictionary<" in str(kind) for kind in self.schema.types)
        for start, stop in group_ranges(self.groups[first:end], 1 if is_nested else _BATCH_ROWS):
            together = range(first + start, first + stop)
            sizes = {i: metadata.row_group(i).total_byte_size for i in together if self.groups[i]}
            fitting = min((max_bytes * self.groups[i] // max(size, 1) for i, size in sizes.items()), default=1)
            done, rows = 0, sum(self.groups[first + start : first + stop])
            while done < rows:
                position, step = 0, max(1, min(largest or _SAMPLE_ROWS, fitting))
                try:
                    for batch in self.parquet.iter_batches(step, together, names, use_threads=False):
                        position += batch.num_rows
                        if position <= done:
                            continue
                        batch = batch.slice(max(0, batch.num_rows - (position - done)))
                        if names is None and len(positions) < len(batch.schema):
                            batch = batch.select(list(positions))
                        batch.validate()
                        done = position
                        yield batch
                        if largest is None or (batch.nbytes > 2 * max_bytes and step > 1):
                            largest = min(_BATCH_ROWS, max_bytes * len(batch) // max(batch.nbytes, 1)) or 1
                            break
                    else:
                        break
                except (MemoryError, pa.ArrowCapacityError, pa.ArrowNotImplementedError):
                    if step == 1:
                        raise
                    largest = max(1, step // 16)
