"""Shards: the input rows that become one output file each, and how they are read. The driver finds files by name
(:mod:`.input_files`); only workers open them. Row ranges (``--split-rows``) and row limits are known here alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec.structs import replace

from ..errors import ScorerError, ShardError, UnseenInputError
from ..system.waiting import note_progress
from .opened_file import RefusedError, UnseenError, reason_of
from .parquet_files import ParquetSource, group_ranges
from .receipts import InputFile, Shard

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
MOST_PARTS = 100_000
"""Most row ranges of one input: their names have five digits, by which they are sorted."""


def read_shards(file: InputFile, split_rows: int | None = None) -> tuple[pa.Schema, list[Shard]]:
    """The schema of a file and its shards; :class:`.ShardError` if it cannot be read.

    Args:
        file: the file.
        split_rows: most rows of a shard, along row groups; ``None`` for the whole file.
    """
    with _opened(file) as source:
        size, rows = source.identity.size, source.rows
        whole_file = Shard(file=file, relative=file.relative, identity=source.identity, rows=rows, bytes=size)
        if split_rows is None:
            return source.schema, [whole_file]
        parts, ranges = [], group_ranges(source.groups, split_rows)
        if len(ranges) > MOST_PARTS:
            raise RefusedError(f"would be {len(ranges):,} parts, of at most {MOST_PARTS:,}; give a larger --split-rows")
        for number, groups in enumerate(ranges):
            name, rows = f"{file.relative}/part-{number:05d}.parquet", sum(source.groups[slice(*groups)])
            share = size * rows // max(1, source.rows)
            parts.append(replace(whole_file, relative=name, rows=rows, bytes=share, groups=groups))
        return source.schema, parts


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
    rows_left = shard.rows
    for batch in batches:
        note_progress()
        yield batch.slice(0, rows_left)
        rows_left -= batch.num_rows
        if rows_left <= 0:
            break
    if rows_left > 0 or (rows_left < 0 and shard.limit is None):
        raise RefusedError(f"read {shard.rows - rows_left} rows, but its footer says {shard.rows}")


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
        raise ShardError(f"{file.uri}: cannot be read: {reason_of(error)}") from error
