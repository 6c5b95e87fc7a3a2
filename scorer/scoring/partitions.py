"""Partition keys in the paths of an output: ``country=DE/part-0.parquet`` has the column ``country`` with ``DE``.

An output mirrors the paths of its inputs. The keys are not in the files, since readers of such folders (Arrow, DuckDB,
Spark) add them from the path, and some fail when a file has them too. Here they are added for those that group rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

import pyarrow as pa

_PIECE = re.compile(r"(?<=\.parquet)/part-[0-9]{5,}\.parquet$")
NULL = "__HIVE_DEFAULT_PARTITION__"
"""What writers name the folder of rows whose key is null."""


def partition_keys(relative: str) -> dict[str, str | None]:
    """The keys of a path and their values, by name; ``%`` escapes are decoded.

    Args:
        relative: path of a file below the output, with ``/``.
    """
    folders = _PIECE.sub("", relative).split("/")[:-1]  # the folder of a shard in pieces stands for a file
    pairs = (part.partition("=") for part in folders)
    return {unquote(key): None if value == NULL else unquote(value) for key, sep, value in pairs if key and sep}


def with_partition_keys(table: pa.Table, relative: str, wanted: Iterable[str]) -> pa.Table:
    """A table of a file's rows with the keys of its path as columns of strings.

    Args:
        wanted: names to add, where they are keys; a column of the file is never replaced.
    """
    keys = partition_keys(relative)
    for name in dict.fromkeys(wanted):
        if name in keys and name not in table.schema.names:
            table = table.append_column(name, pa.repeat(pa.scalar(keys[name], pa.string()), len(table)))
    return table
