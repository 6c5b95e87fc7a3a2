"""Shards: the input rows that become one output file each, and their rows in windows.

The driver finds files by name (:mod:`.inputs`); only workers open them, and read footers and rows. Row ranges and row
limits are known here alone: ``--split-rows`` makes a shard of each range of row groups, whose output is
``name.parquet/part-00003.parquet``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec.structs import replace

from ..errors import ScorerError, ShardError
from ..system.codec import Count, Record
from ..system.waiting import advance
from .receipts import Groups, Identity
from .source import UNOPENED as UNOPENED
from .source import OpenedFile, ParquetSource, RefusedError, describe

if TYPE_CHECKING:
    import pyarrow as pa

    from .text_source import TextSource

WINDOW_ROWS = 16384
WINDOW_BYTES = 32 << 20
"""The largest window by default: rows, and bytes of their columns as they stand in memory."""
FIRST_ROWS = (1024, 4096)
"""Rows of the first windows of a shard, where windows may have more: a device begins once the first is prepared."""
CHANGED = "changed since it was first looked at; run again"
"""Why a shard is refused; it may be true of one machine alone, as :data:`.source.UNOPENED` may."""
MEMORY = "memory"
"""Kind of the error of a shard that needs more memory than there is."""
MOST_PARTS = 100_000
"""Of one input; their names have five digits."""


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
    groups: Groups | None = None
    limit: Count | None = None
    columns: Mapping[str, Any] = {}

    def __hash__(self) -> int:
        return hash(self.relative)

    @property
    def min_output_bytes(self) -> int:
        """The output has at least so many: row keys do not compress, what is kept of the input may."""
        return 4096 + 20 * self.rows + self.bytes // 4

    @property
    def name(self) -> str:
        """Name in messages."""
        return self.file.name if self.groups is None else self.relative


def read_shards(file: InputFile, split_rows: int | None = None) -> tuple[pa.Schema, list[Shard]]:
    """The schema of a file and its shards.

    Args:
        split_rows: make a shard of each range of row groups with at most so many rows.

    Raises:
        ShardError: it cannot be read.
    """
    with _opened(file) as source:
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
    with _opened(shard.file) as source:
        if source.identity != shard.identity:
            raise RefusedError(CHANGED)
        columns = find_columns(source.schema)
        for window in _windows(source, columns.needed, shard, max_rows, max_bytes, first_rows):
            yield columns, window
        if source.changed():
            raise RefusedError("was modified while it was read; run again when it is complete")


def is_seen(shard: Shard) -> bool:
    """Whether this process sees an input as it was first looked at, by size, time and version; nothing is decoded."""
    try:
        with OpenedFile(shard.file.uri) as file:
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
    with _opened(file) as source:
        yield from _windows(source, needed(source.schema), None, max_rows, max_bytes, ())


def _windows(
    source: ParquetSource | TextSource,
    columns: Sequence[str] | None,
    shard: Shard | None,
    max_rows: int,
    max_bytes: int,
    first_rows: Sequence[int],
) -> Iterator[pa.Table]:
    """The rows of a shard; ``None``: all rows of the file."""
    import pyarrow as pa

    from .windows import cut

    wanted, groups, limit = (source.rows, None, None) if shard is None else (shard.rows, shard.groups, shard.limit)
    names = source.schema.names
    kept = set(names if columns is None else columns)
    if missing := sorted(kept - set(names)):
        raise RefusedError(f"has no column {missing[0]!r}")
    positions = [i for i, name in enumerate(names) if name in kept]
    if columns is not None and (twice := [names[i] for i in positions if names.count(names[i]) > 1]):
        raise RefusedError(f"has more than one column {twice[0]!r}")
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


@contextmanager
def _opened(file: InputFile) -> Iterator[ParquetSource | TextSource]:
    """Open an input; whatever a library raises for a damaged file becomes the error of the shard."""
    uri = file.uri
    try:
        if file.form == "parquet":
            source: ParquetSource | TextSource = ParquetSource(uri)
        else:
            from .text_source import TextSource

            source = TextSource(uri, file.form, file.delimiter)
        with source:
            yield source
    except ScorerError:
        raise
    except RefusedError as error:
        raise ShardError(f"{uri}: {error}") from error
    except MemoryError as error:
        raise ShardError(f"{uri}: needs more memory to read than there is", MEMORY) from error
    except Exception as error:
        raise ShardError(f"{uri}: cannot be read: {describe(error)}") from error
