"""The first rows of some shards, for what must be known before a run begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import ShardError
from ..scoring.windows import ShardColumns, Window
from ..storage import ShardReader
from .survey import Shard, Survey

_SHARDS = 8
_ROWS = 4096
_BYTES = 16 << 20
"""Read of a shard at most, and in one window."""


@dataclass(frozen=True)
class ShardStart:
    """The first rows of a shard, read when they are iterated over."""

    shard: Shard
    reader: ShardReader

    def __iter__(self) -> Iterator[Window[None, ShardColumns]]:
        columns = self.shard.columns
        try:
            for table in self.shard.windows(self.reader, max_rows=_ROWS, max_bytes=_BYTES, limit=_ROWS):
                yield Window(None, table, columns)
        except ShardError:
            return  # the run will set it aside, and say why


def starts_of(found: Survey, reader: ShardReader) -> list[ShardStart]:
    """The beginnings of shards spread evenly over a run."""
    count = min(_SHARDS, len(found.usable))
    positions = np.linspace(0, len(found.usable) - 1, count).astype(int)
    return [ShardStart(found.usable[position], reader) for position in positions]
