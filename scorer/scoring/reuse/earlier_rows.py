"""Rows of believed shards by number: all keys once, and then a few columns of the rows that are asked for.

A window mostly needs the rows of one row group of the earlier output, so whole row groups are decoded and kept, the
least recently used given up beyond a byte budget. Rows in another order are served as well, with one row group decoded
for each miss.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import OutputError
from .earlier import EarlierShard
from .key_index import Words, key_words

CACHE_BYTES = 256 << 20
_OPEN_FILES = 16


class EarlierRows:
    """The rows of shards, numbered through in the order given.

    Args:
        columns: what :meth:`take` gives, without prefix. key: the column of keys; among ``columns``.
        labelled: rows where this column is null are left out by :meth:`all_keys`.

    ``decoded``: row groups decoded by :meth:`take` so far.
    """

    def __init__(
        self,
        shards: Sequence[EarlierShard],
        columns: Sequence[str],
        *,
        key: str,
        labelled: str,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._shards = list(shards)
        self._columns = list(columns)
        self._key, self._labelled = key, labelled
        self._starts = np.concatenate([[0], np.cumsum([shard.rows for shard in shards])]).astype(np.int64)
        self._groups: OrderedDict[tuple[int, int], pa.Table] = OrderedDict()
        self._files: OrderedDict[int, tuple[IO[bytes], pq.ParquetFile]] = OrderedDict()
        self._cache_bytes = cache_bytes
        self._held = 0
        self.decoded = 0

    def close(self) -> None:
        """Close what is open."""
        while self._files:
            _close(*self._files.popitem()[1])
        self._groups.clear()
        self._held = 0

    def all_keys(self) -> Iterator[tuple[Words, npt.NDArray[np.int64]]]:
        """First words of the keys and row numbers of all labelled rows, a row group at a time.

        Raises:
            OutputError: a file changed or cannot be read.
        """
        for number, shard in enumerate(self._shards):
            for group in range(len(shard.groups) - 1):
                table = self._read(number, group, [self._key, self._labelled])
                keys = table[self._key].combine_chunks()
                known = np.flatnonzero(table[self._labelled].is_valid().to_numpy())
                first = int(self._starts[number] + shard.groups[group])
                chunk = keys.chunk(0) if isinstance(keys, pa.ChunkedArray) else keys
                yield key_words(chunk)[known, 0], known + first

    def take(self, numbers: npt.NDArray[np.int64]) -> pa.Table:
        """The columns of rows by number, in the order asked for. int64, *Shape:* (n,) → n rows.

        Raises:
            OutputError: a file changed or cannot be read.
        """
        order = np.argsort(numbers, kind="stable")
        wanted = numbers[order]
        tables = []
        done = 0
        while done < len(wanted):
            shard = int(np.searchsorted(self._starts, wanted[done], side="right")) - 1
            groups = self._shards[shard].groups
            local = int(wanted[done] - self._starts[shard])
            group = int(np.searchsorted(groups, local, side="right")) - 1
            end = int(np.searchsorted(wanted, self._starts[shard] + groups[group + 1]))
            rows = wanted[done:end] - self._starts[shard] - groups[group]
            tables.append(self._group(shard, group).take(pa.array(rows)))
            done = end
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(tables).take(pa.array(back)) if len(tables) > 1 else tables[0].take(pa.array(back))

    def _group(self, shard: int, group: int) -> pa.Table:
        place = (shard, group)
        if place in self._groups:
            self._groups.move_to_end(place)
            return self._groups[place]
        table = self._read(shard, group, self._columns)
        self.decoded += 1
        self._groups[place] = table
        self._held += table.nbytes
        while self._held > self._cache_bytes and len(self._groups) > 1:
            self._held -= self._groups.popitem(last=False)[1].nbytes
        return table

    def _read(self, shard: int, group: int, columns: list[str]) -> pa.Table:
        """Columns of a row group, under their plain names, in the order asked for."""
        source = self._shards[shard]
        names = [source.prefix + name for name in columns]
        try:
            parquet = self._open(shard)
            # Parquet is asked by dotted paths; where a name has a dot, it could mean a part of another column.
            dotted = any("." in name for name in parquet.schema_arrow.names)
            table = parquet.read_row_group(group, columns=None if dotted else names, use_threads=False).select(names)
        except (OSError, pa.ArrowException) as error:
            why = " ".join(str(error).split())
            raise OutputError(f"{source.file.name}: cannot be read for --reuse: {why}") from error
        # The dictionary of one row group is not that of the next, and Arrow joins only what has the same.
        plain = [
            column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for column in table.columns
        ]
        return pa.table(plain, names=columns)

    def _open(self, shard: int) -> pq.ParquetFile:
        if shard in self._files:
            self._files.move_to_end(shard)
            return self._files[shard][1]
        file = self._shards[shard].file.open()
        try:
            parquet = pq.ParquetFile(file, page_checksum_verification=True)
        except BaseException:
            file.close()
            raise
        self._files[shard] = (file, parquet)
        if len(self._files) > _OPEN_FILES:
            _close(*self._files.popitem(last=False)[1])
        return parquet


def _close(file: IO[bytes], parquet: pq.ParquetFile) -> None:
    with suppress(OSError, pa.ArrowException):
        parquet.close()
    file.close()
