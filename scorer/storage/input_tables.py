"""Rows of an input file as tables, read in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

import pyarrow as pa

from .shards import WINDOW_BYTES, WINDOW_ROWS, InputFile, read_shards, read_windows


def read_tables(
    file: InputFile,
    needed: Callable[[pa.Schema], Sequence[str] | None] = lambda schema: None,
    *,
    max_rows: int = WINDOW_ROWS,
    max_bytes: int = WINDOW_BYTES,
) -> Iterator[pa.Table]:
    """The rows of an input file in windows; a file without rows gives one empty table.

    Args:
        needed: returns the columns to read of a schema, in the order of the file; all by default. Its errors are
            raised, and those of :func:`.read_windows`.
    """
    _, (shard,) = read_shards(file)
    for _, table in read_windows(
        shard, lambda schema: SimpleNamespace(needed=needed(schema)), max_rows=max_rows, max_bytes=max_bytes
    ):
        yield table
