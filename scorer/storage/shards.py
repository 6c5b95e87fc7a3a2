"""Shards: the input rows that become one output file each, and their rows in windows.

The driver finds files by name (:mod:`.inputs`); only workers open them, and read footers and rows. Row ranges and row
limits are known here alone: ``--split-rows`` makes a shard of each range of row groups, whose output is
``name.parquet/part-00003.parquet``.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec.structs import replace

from ..errors import OutputError, ScorerError, ShardError
from ..system.closing import Closing
from ..system.codec import Count, Record
from ..system.progress import advance
from .location import StoreUri
from .receipts import Identity
from .store import open_store

if TYPE_CHECKING:
    import pyarrow as pa

    from .text_source import TextSource

WINDOW_ROWS = 16384
WINDOW_BYTES = 32 << 20
"""The largest window by default: rows, and bytes of their columns as they stand in memory."""
FIRST_ROWS = (1024, 4096)
"""Rows of the first windows of a shard, where windows may have more: a device begins once the first is prepared."""
CHANGED, UNOPENED = "changed since it was first looked at; run again", "cannot be opened"
"""Why a shard is refused: these may be true of one machine alone."""
MEMORY = "memory"
"""Kind of the error of a shard that needs more memory than there is."""
MOST_PARTS = 100_000
"""Of one input; their names have five digits."""
_MAGIC = b"PAR1"
_BATCH_ROWS = 4096
_SAMPLE_ROWS = 64
_FOOTER_BYTES = 512 << 20
_ENCRYPTED = "encrypted Parquet, for which this program takes no keys; write it unencrypted"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class InputFile(Record, frozen=True, omit_defaults=True):
    """A file that was found. ``uri``: absolute local path, or that of an object. ``relative``: POSIX path of its output
    below OUT. ``form``: ``parquet``, ``csv``, ``tsv`` or ``jsonl``. ``delimiter``: of CSV and TSV; found from the
    header by default."""

    uri: str
    relative: str
    form: str = "parquet"
    delimiter: str | None = None

    @property
    def name(self) -> str:
        """The path of its output, but with the suffix of the input: what messages about the input call it."""
        folder, slash, _ = self.relative.rpartition("/")
        own = self.uri.rpartition("/")[2]
        return self.relative if self.form == "parquet" else folder + slash + own


class Shard(Record, frozen=True, omit_defaults=True):
    """Rows that become one output file: all of an input, or those of a range of its row groups.

    ``file``: the input. ``relative``: path of the output below OUT. ``identity``: of the input. ``rows``: how many are
    scored, from the first on; ``bytes``: of the file, about, that they take and the output keeps. ``row_groups``: of
    the input. ``groups``: the first row group of the range and its end; ``None`` for all. ``limit``: equal to ``rows``
    where ``--limit`` cuts this shard. ``columns``: what the columns of the output depend on, in the types of JSON.
    """

    file: InputFile
    relative: str
    identity: Identity
    rows: Count
    bytes: Count
    row_groups: Count
    groups: tuple[int, int] | None = None
    limit: Count | None = None
    columns: Mapping[str, Any] = {}

    def __hash__(self) -> int:
        return hash(self.relative)

    @property
    def uri(self) -> str:
        return self.file.uri

    @property
    def min_output_bytes(self) -> int:
        """The output has at least so many: row keys do not compress, what is kept of the input may."""
        return 4096 + 20 * self.rows + self.bytes // 4

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.file.name if self.groups is None else self.relative


def read_shards(file: InputFile, split_rows: int | None = None) -> tuple[pa.Schema, list[Shard]]:
    """The schema of a file and its shards.

    Args:
        split_rows: make a shard of each range of row groups with at most so many rows.

    Raises:
        ShardError: it cannot be read.
    """
    with _shard_errors(file.uri), _open(file) as source:
        groups = source.groups
        whole = Shard(
            file=file,
            relative=file.relative,
            identity=source.identity,
            rows=source.rows,
            bytes=source.identity.size,
            row_groups=len(groups),
        )
        if split_rows is None:
            return source.schema, [whole]
        ranges = group_ranges(groups, split_rows)
        if len(ranges) > MOST_PARTS:
            raise RefusedError(
                f"would be {len(ranges):,} parts with --split-rows {split_rows}, and {MOST_PARTS:,} are allowed; give "
                "a larger number"
            )
        parts = [
            replace(
                whole,
                relative=f"{file.relative}/part-{number:05d}.parquet",
                rows=(rows := sum(groups[start:end])),
                bytes=whole.bytes * rows // max(1, whole.rows),
                groups=(start, end),
            )
            for number, (start, end) in enumerate(ranges)
        ]
        return source.schema, parts


def group_ranges(groups: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Ranges of row groups with at most ``most`` rows together; a larger row group is a range by itself.

    Args:
        groups: rows of each row group.
    """
    ranges, start, rows = [], 0, 0
    for number, count in enumerate(groups):
        if rows and rows + count > most:
            ranges.append((start, number))
            start, rows = number, 0
        rows += count
    return [*ranges, (start, len(groups))]


def with_columns(shard: Shard, shape: Mapping[str, Any], *, keeps_all: bool) -> Shard:
    """A shard whose columns were found.

    Args:
        shape: see :class:`Shard`.
        keeps_all: whether the output has all columns of the input.
    """
    return replace(shard, columns=shape, bytes=shard.bytes if keeps_all else 0)


def limit_rows(shards: Sequence[Shard], limit: int | None) -> list[Shard]:
    """The shards that hold the first rows; the last of them is cut. ``limit``: ``None`` for all rows."""
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
    """The columns of one schema. ``needed``: those to read."""

    @property
    def needed(self) -> Sequence[str]: ...


FoundColumns = TypeVar("FoundColumns", bound=Columns)


def read_windows(
    shard: Shard,
    find_columns: Callable[[pa.Schema], FoundColumns],
    *,
    max_rows: int,
    max_bytes: int,
    first_rows: Sequence[int] = (),
) -> Iterator[tuple[FoundColumns, pa.Table]]:
    """The rows of a shard in windows (:func:`.windows.cut`), each with the columns of the shard; a shard without rows
    gives one empty window.

    Raises:
        ShardError: it is damaged, has changed, has no such column, or needs more memory than there is.
        ColumnError: ``find_columns`` raises it.
    """
    with _shard_errors(shard.uri), _open(shard.file, keeps=shard.groups is not None) as source:
        if source.identity != shard.identity:
            raise RefusedError(CHANGED)
        columns = find_columns(source.schema)
        bounds = shard.groups, shard.rows, shard.limit
        for window in _cut(source, columns.needed, *bounds, max_rows, max_bytes, first_rows):
            yield columns, window
        if source.changed():
            raise RefusedError("was modified while it was read; run again when it is complete")


def is_seen(shard: Shard) -> bool:
    """Whether this process sees an input as it was first looked at, by size, time and version; nothing is decoded."""
    try:
        with OpenedFile(shard.uri) as file:
            seen = file.size, file.mtime_ns, file.e_tag
    except RefusedError:
        return False
    return seen == (shard.identity.size, shard.identity.mtime_ns, shard.identity.e_tag)


def read_tables(
    file: InputFile,
    needed: Callable[[pa.Schema], Sequence[str] | None] = lambda schema: None,
    *,
    max_rows: int = WINDOW_ROWS,
    max_bytes: int = WINDOW_BYTES,
) -> Iterator[pa.Table]:
    """The rows of an input file in windows, read in this process; a file without rows gives one empty table.

    Args:
        needed: the columns to read, in the order of the file; ``None`` for all.

    Raises:
        ShardError: as :func:`read_windows`. ScorerError: ``needed`` raises it.
    """
    with _shard_errors(file.uri), _open(file) as source:
        yield from _cut(source, needed(source.schema), None, source.rows, None, max_rows, max_bytes, ())


def _cut(
    source: ParquetSource | TextSource,
    columns: Sequence[str] | None,
    groups: tuple[int, int] | None,
    wanted: int,
    limit: int | None,
    max_rows: int,
    max_bytes: int,
    first_rows: Sequence[int],
) -> Iterator[pa.Table]:
    import pyarrow as pa

    from .windows import cut

    positions = positions_of(source.schema.names, columns)
    schema = pa.schema([source.schema.field(i) for i in positions], source.schema.metadata)
    if not wanted:
        yield schema.empty_table()
        return

    def rows() -> Iterator[pa.RecordBatch]:
        left = wanted
        for batch in source.batches(positions, groups, max_rows, max_bytes):
            advance()
            yield batch.slice(0, left) if batch.num_rows > left else batch
            left -= batch.num_rows
            if left <= 0:
                break
        if left > 0 or (left < 0 and limit is None):
            raise RefusedError(f"read {wanted - left} rows, but its footer says {wanted}")

    yield from cut(rows(), schema, max_rows=max_rows, max_bytes=max_bytes, first_rows=first_rows)


_LAST: dict[InputFile, ParquetSource] = {}
"""The input whose row ranges were read last, still open: the footer of a file of many row groups is long."""


@contextmanager
def _open(file: InputFile, *, keeps: bool = False) -> Iterator[ParquetSource | TextSource]:
    """Open an input. ``keeps``: leave it open, because the next row range of it follows."""
    source = _LAST.pop(file, None)
    if source is None or not source.is_current():
        for other in [*_LAST.values(), *([source] if source is not None else [])]:
            other.close()
        _LAST.clear()
        opened = _new_source(file)
    else:
        opened = source
    with ExitStack() as stack:
        stack.enter_context(opened)
        yield opened
        if keeps and isinstance(opened, ParquetSource):
            stack.pop_all()
            _LAST[file] = opened


def _new_source(file: InputFile) -> ParquetSource | TextSource:
    if file.form == "parquet":
        return ParquetSource(file.uri)
    from .text_source import TextSource

    return TextSource(file.uri, file.form, file.delimiter)


@contextmanager
def _shard_errors(uri: str) -> Iterator[None]:
    """Whatever a library raises for a damaged file becomes the error of the shard."""
    try:
        yield
    except ScorerError:
        raise
    except RefusedError as error:
        raise ShardError(f"{uri}: {error}") from error
    except MemoryError as error:
        raise ShardError(f"{uri}: needs more memory to read than there is", MEMORY) from error
    except Exception as error:
        raise ShardError(f"{uri}: cannot be read: {describe(error)}") from error


class ParquetSource(Closing):
    """A Parquet file, local or remote, opened for reading. ``groups``: rows of each row group.

    Raises:
        RefusedError: it is not a Parquet file, or cannot be opened.
        pyarrow.ArrowException, OSError: its footer cannot be read.
    """

    def __init__(self, uri: str, buffer_bytes: int = 1 << 18) -> None:
        self._opened = OpenedFile(uri)
        try:
            self._read_footer(buffer_bytes)
        except BaseException:
            self.close()
            raise

    def _read_footer(self, buffer_bytes: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        opened = self._opened
        if opened.is_remote:
            buffer_bytes = max(buffer_bytes, 8 << 20)  # each read is a request over the network
        digest = hashlib.sha256(self._footer(opened.size)).hexdigest()
        self.identity = Identity(size=opened.size, mtime_ns=opened.mtime_ns, footer_sha256=digest, e_tag=opened.e_tag)
        self.parquet = pq.ParquetFile(
            opened.file, memory_map=False, buffer_size=buffer_bytes, pre_buffer=False, page_checksum_verification=True
        )
        self.schema = self.parquet.schema_arrow
        self._metadata = self.parquet.metadata
        self.rows = self._metadata.num_rows
        self.groups = [self._metadata.row_group(i).num_rows for i in range(self._metadata.num_row_groups)]
        if sum(self.groups) != self.rows or min(self.groups, default=0) < 0:
            raise pa.ArrowInvalid(f"its footer claims {self.rows} rows, its row groups {self.groups[:20]}")

    def _footer(self, size: int) -> bytes:
        """The bytes from the start of the footer to the end of the file."""
        try:
            tail = self._opened.read(max(size - 8, 0), 8)
            if size < 12 or tail[4:] != _MAGIC or self._opened.read(0, 4) != _MAGIC:
                if tail[4:] == b"PARE":
                    raise RefusedError(f"is {_ENCRYPTED}")
                raise RefusedError(
                    f"is not a Parquet file: its {size} bytes do not begin and end as Parquet does; "
                    "`scorer run` reads CSV, TSV and JSON Lines with --format"
                )
            length = int.from_bytes(tail[:4], "little") + 8
            if length > size - 4 or length > _FOOTER_BYTES:
                raise RefusedError(f"is cut or damaged: its footer claims {length - 8} bytes of {size}")
            return self._opened.read(size - length, length)
        except OSError as error:
            raise RefusedError(f"cannot be read: {describe(error)}") from error

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def changed(self) -> bool:
        """Whether a local file was written to since it was opened."""
        return self._opened.changed()

    def is_current(self) -> bool:
        """See :meth:`OpenedFile.is_current`."""
        return self._opened.is_current()

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

        names = self._parquet_names(positions)
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

    def _parquet_names(self, positions: Sequence[int]) -> list[str] | None:
        """The columns to request from Parquet, which takes dotted paths. A name that contains a dot could mean a part
        of another column; in this case all columns are read (``None``), and the others are dropped."""
        names = self.schema.names
        plain = positions and not any("." in name for name in names)
        return [names[i] for i in positions] if plain else None

    def _fitting(self, first: int, names: list[str] | None, max_bytes: int) -> int:
        """The number of rows that fit ``max_bytes``, judged by those after the row group ``first`` begins."""
        number = next((i for i in range(first, len(self.groups)) if self.groups[i] > 0), None)
        if number is None:
            return _BATCH_ROWS
        group = self._metadata.row_group(number)
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
        apart = any(_has_dictionary(field.type) for field in self.schema)
        numbers: list[int] = []
        rows = size = 0
        for i in range(first, end):
            group = self._metadata.row_group(i)
            if numbers and (apart or rows + group.num_rows > largest):
                yield numbers, rows, size
                numbers, rows, size = [], 0, 0
            numbers.append(i)
            rows += group.num_rows
            size += max(group.total_byte_size, 0)
        if numbers:
            yield numbers, rows, size


def _has_dictionary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_dictionary(kind) or any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))


class RefusedError(Exception):
    """A shard that is refused before any of its data is decoded, or at a line that cannot be read."""


class OpenedFile(Closing):
    """A file, local or remote. ``file``: of pyarrow; ``size`` in bytes; ``mtime_ns``: ``None`` if the store has none;
    ``e_tag``: its version in an object store, which is the one that is read; empty elsewhere.

    Raises:
        RefusedError: it cannot be opened.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._local: int | None = None
        self.is_remote = _SCHEME.match(uri) is not None
        self.size: int
        self.mtime_ns: int | None
        self.e_tag = ""
        if self.is_remote:
            self._open_remote(uri)
        else:
            self._open_local(uri)

    def _open_local(self, path: str) -> None:
        try:
            # Non-blocking: opening a FIFO would wait for its writer.
            self._local = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            found = os.fstat(self._local)
        except OSError as error:
            raise RefusedError(f"{UNOPENED}: {error.strerror}") from error
        if not stat.S_ISREG(found.st_mode):
            os.close(self._local)
            raise RefusedError("is not a regular file")
        import pyarrow as pa

        self.file: Any = pa.PythonFile(os.fdopen(self._local, "rb"), "r")
        self.size, self.mtime_ns = found.st_size, found.st_mtime_ns

    def _open_remote(self, uri: str) -> None:
        place = StoreUri.parse(uri)
        if place is None:
            raise RefusedError("is at a URI that is not one of an object store")
        store = open_store(StoreUri(place.scheme, place.bucket, ""))
        try:
            version = store.list(place.path).get(place.path)
            if version is None:
                raise FileNotFoundError(f"{uri} does not exist")
            file = store.open(place.path, version.version)
        except (OSError, OutputError) as error:
            raise RefusedError(f"{UNOPENED}: {describe(error)}") from error
        import pyarrow as pa

        self.file = pa.PythonFile(file, "r")
        self.size, self.mtime_ns, self.e_tag = version.size, None, version.version

    def read(self, position: int, length: int) -> bytes:
        """Bytes of the file; fewer at its end."""
        self.file.seek(position)
        return bytes(self.file.read(length))

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def changed(self) -> bool:
        """Whether a local file was written to since it was opened."""
        if self._local is None:
            return False
        found = os.fstat(self._local)
        return (found.st_size, found.st_mtime_ns) != (self.size, self.mtime_ns)

    def is_current(self) -> bool:
        """Whether opening the same name again would give the same content: true of an unchanged local file, and of one
        version of an object."""
        if self._local is None:
            return bool(self.e_tag)
        try:
            return os.path.samestat(os.stat(self.uri), os.fstat(self._local)) and not self.changed()  # noqa: PTH116
        except OSError:
            return False


def positions_of(names: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    """Positions of the wanted columns, in the file's order; all of them for ``None``.

    Raises:
        RefusedError: a column is not there, or there twice.
    """
    if columns is None:
        return list(range(len(names)))
    missing = sorted(set(columns) - set(names))
    if missing:
        raise RefusedError(f"has no column {missing[0]!r}")
    positions = [i for i, name in enumerate(names) if name in set(columns)]
    twice = [names[i] for i in positions if names.count(names[i]) > 1]
    if twice:
        raise RefusedError(f"has more than one column {twice[0]!r}")
    return positions


def describe(error: BaseException) -> str:
    """An error's message on one line of bounded length."""
    text = " ".join(str(error).split()) or type(error).__name__
    if "decrypt" in text:  # Parquet's message for encrypted columns with a readable footer
        return _ENCRYPTED
    return text if len(text) <= 300 else text[:297] + "..."
