"""Shards: the input rows that become one output file each, and how they are read. The driver finds files by name
(:mod:`.input_files`); only workers open them. Row ranges (``--split-rows``) and row limits are known here alone."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec.structs import replace

from ..errors import OutputError, ScorerError, ShardError, UnseenInputError
from ..system.waiting import Closing, note_progress
from .location import StoreUri
from .receipts import Groups, Identity, InputFile, Shard

if TYPE_CHECKING:
    import pyarrow as pa

    from .text_files import TextSource

WINDOW_ROWS = 16384
WINDOW_BYTES = 32 << 20
"""Bounds of a window: rows, and bytes of their columns in memory."""
FIRST_ROWS = (1024, 4096)
"""Most rows of the first windows of a shard: a device begins as soon as the first window is prepared."""
MEMORY = "memory"
"""Kind of the error of a shard that needs more memory than there is."""
_MAGIC = b"PAR1"
MAGIC_BYTES = 32
_OTHER_FORMATS = {
    b"PK\x03\x04": "an Excel workbook or another ZIP archive; save it as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of an old version; save it as CSV UTF-8",
    b"version https://git-lfs": "a pointer of Git LFS without the data; fetch it with `git lfs pull`",
}
MOST_PARTS = 100_000
"""Most row ranges of one input: their names have five digits, by which they are sorted."""
_BATCH_ROWS = 4096
_SAMPLE_ROWS = 64
_FOOTER_BYTES = 512 << 20
_LOCAL_BUFFER, _REMOTE_BUFFER = 1 << 18, 8 << 20
_ENCRYPTED = "encrypted Parquet, for which this program takes no keys; write it unencrypted"


class RefusedError(Exception):
    """A shard that is refused before any of its data is decoded, or at a line that cannot be read."""


class UnseenError(RefusedError):
    """An input that cannot be opened, or changed since it was first looked at, perhaps on this machine alone."""


def other_format(start: bytes) -> str | None:
    """The format of a file of another program by its first :data:`MAGIC_BYTES`, with advice; ``None`` for others."""
    return next((what for magic, what in _OTHER_FORMATS.items() if start.startswith(magic)), None)


def read_shards(file: InputFile, split_rows: int | None = None) -> tuple[pa.Schema, list[Shard]]:
    """The schema of a file and its shards; :class:`.ShardError` if it cannot be read.

    Args:
        file: the file.
        split_rows: most rows of a shard, along row groups; ``None`` for the whole file.
    """
    with _opened(file) as source:
        size, rows = source.identity.size, source.rows
        whole = Shard(file=file, relative=file.relative, identity=source.identity, rows=rows, bytes=size)
        if split_rows is None:
            return source.schema, [whole]
        parts, ranges = [], group_ranges(source.groups, split_rows)
        if len(ranges) > MOST_PARTS:
            raise RefusedError(f"would be {len(ranges):,} parts, of at most {MOST_PARTS:,}; give a larger --split-rows")
        for number, groups in enumerate(ranges):
            name, rows = f"{file.relative}/part-{number:05d}.parquet", sum(source.groups[slice(*groups)])
            share = size * rows // max(1, source.rows)
            parts.append(replace(whole, relative=name, rows=rows, bytes=share, groups=groups))
        return source.schema, parts


def group_ranges(groups: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Ranges of row groups with at most ``most`` rows together; a larger group is a range by itself. ``groups``: number
    of rows of each group."""
    starts, rows = [0], 0
    for number, count in enumerate(groups):
        if rows and rows + count > most:
            starts.append(number)
            rows = 0
        rows += count
    return list(pairwise([*starts, len(groups)]))


def limit_rows(shards: Sequence[Shard], limit: int | None) -> list[Shard]:
    """The shards that hold the first rows; the last of them is cut."""
    if limit is None:
        return list(shards)
    starts = accumulate((shard.rows for shard in shards), initial=0)
    return [
        shard
        if start + shard.rows <= limit
        else replace(shard, rows=limit - start, limit=limit - start, bytes=shard.bytes * (limit - start) // shard.rows)
        for shard, start in zip(shards, starts, strict=False)
        if start < limit
    ]


class Columns(Protocol):
    """The columns of a schema."""

    @property
    def needed(self) -> Sequence[str] | None:
        """Columns to read; ``None`` for all."""


FoundColumns = TypeVar("FoundColumns", bound=Columns)


def read_windows(
    shard: Shard,
    find_columns: Callable[[pa.Schema], FoundColumns],
    *,
    max_rows: int,
    max_bytes: int,
    first_rows: Sequence[int] = (),
) -> Iterator[tuple[FoundColumns, pa.Table]]:
    """The rows of a shard in windows (:func:`.windows.cut`), each with the columns of the shard.

    Args:
        shard: the shard.
        find_columns: gives the columns of a schema.
        max_rows: most rows of a window.
        max_bytes: most bytes of a window, but for a single row that has more.
        first_rows: most rows of the first windows.

    Raises:
        ShardError: it is damaged, has changed, has no such column, or needs more memory than there is.
    """
    import pyarrow as pa

    from .windows import cut

    with _opened(shard.file) as source:
        if source.identity != shard.identity:
            raise UnseenError("changed since it was first looked at; run again")
        columns, names = find_columns(source.schema), source.schema.names
        needed = names if columns.needed is None else columns.needed
        ambiguous = next((column for column in needed if names.count(column) != 1), None)
        if columns.needed is not None and ambiguous is not None:
            raise RefusedError(f"has {'more than one' if ambiguous in names else 'no'} column {ambiguous!r}")
        positions = [i for i, name in enumerate(names) if name in needed]
        schema = pa.schema([source.schema.field(i) for i in positions], source.schema.metadata)
        rows = _rows(shard, source.batches(positions, shard.groups, max_bytes))
        for window in cut(rows, schema, max_rows=max_rows, max_bytes=max_bytes, first_rows=first_rows):
            yield columns, window
        if source.changed():
            raise RefusedError("was modified while it was read; run again when it is complete")


def _rows(shard: Shard, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches of a file or row range, up to the limit of the shard."""
    left = shard.rows
    for batch in batches:
        note_progress()
        yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            break
    if left > 0 or (left < 0 and shard.limit is None):
        raise RefusedError(f"read {shard.rows - left} rows, but its footer says {shard.rows}")


@contextmanager
def _opened(file: InputFile) -> Iterator[ParquetSource | TextSource]:
    """Open an input; any exception of a library for a damaged file becomes the error of the shard."""
    try:
        if file.form == "parquet":
            source: ParquetSource | TextSource = ParquetSource(file.uri)
        else:
            from .text_files import TextSource

            source = TextSource(file.uri, file.form, file.delimiter)
        with source:
            yield source
    except ScorerError:
        raise
    except UnseenError as error:
        raise UnseenInputError(f"{file.uri}: {error}") from error
    except RefusedError as error:
        raise ShardError(f"{file.uri}: {error}") from error
    except MemoryError as error:
        raise ShardError(f"{file.uri}: needs more memory to read than there is", MEMORY) from error
    except Exception as error:
        raise ShardError(f"{file.uri}: cannot be read: {_describe(error)}") from error


def _describe(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if "decrypt" in text:  # Parquet's message for encrypted columns with a readable footer
        return _ENCRYPTED
    return text if len(text) <= 300 else text[:297] + "..."


class OpenedFile(Closing):
    """A file, local or remote; :class:`RefusedError` if it cannot be opened."""

    file: pa.PythonFile
    """The open file."""
    size: int
    """Size in bytes."""
    mtime_ns: int | None
    """Time of the last change in nanoseconds; ``None`` in a store."""
    e_tag: str
    """Version of an object, which is the one that is read; empty for a local file."""

    def __init__(self, uri: str) -> None:
        import pyarrow as pa

        self._descriptor: int | None = None
        self.mtime_ns = None
        self.e_tag = ""
        location = StoreUri.parse(uri)
        try:
            if location is not None:
                from .object_store import ObjectStore

                stored = ObjectStore(StoreUri(location.scheme, location.bucket, "")).open(location.path)
                self.size, self.e_tag, _ = stored.raw.info  # type: ignore[attr-defined]  # a VersionedFile
                self.file = pa.PythonFile(stored, "r")
                return
            # Non-blocking: opening a FIFO would wait for its writer.
            self._descriptor = os.open(uri, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            status = os.fstat(self._descriptor)
        except (OSError, OutputError) as error:
            reason = error.strerror if location is None and isinstance(error, OSError) else _describe(error)
            raise UnseenError(f"cannot be opened: {reason}") from error
        if not stat.S_ISREG(status.st_mode):
            os.close(self._descriptor)
            raise RefusedError("is not a regular file")
        self.size, self.mtime_ns = status.st_size, status.st_mtime_ns
        self.file = pa.PythonFile(os.fdopen(self._descriptor, "rb"), "r")

    def close(self) -> None:
        self.file.close()

    def changed(self) -> bool:
        """Whether a local file was written to since this object opened it."""
        if self._descriptor is None:
            return False
        status = os.fstat(self._descriptor)
        return (status.st_size, status.st_mtime_ns) != (self.size, self.mtime_ns)


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
                raise RefusedError(f"is {_ENCRYPTED}")
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
