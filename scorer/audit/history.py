"""The history file: one Parquet row for each run and group, so that a trend can be drawn.

The file is replaced as a whole, by a rename, under a lock on its folder. A run that is audited again replaces its rows.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import MsgspecError, convert
from msgspec.structs import asdict

from ..errors import OutputError
from ..storage.local_files import output_errors
from ..storage.user_files import check_user_file, write_user_file
from ..system.codec import reason_of
from ..system.files import read_small
from .document import RATES, Document, HistoryRow
from .drift import ROWS

_SCHEMA_KEY = b"d2t_scorer.history"
_SCHEMA = 1
COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in ("night", "signature", "status", "group")),
        ("rows", pa.int64()),
        *((name, pa.float64()) for name in ("mean_confidence", *RATES)),
        *((f"new_{name}", pa.int64()) for name in (ROWS, *RATES)),
    ],
    {_SCHEMA_KEY: str(_SCHEMA)},
)
"""Columns of the history:

- ``night``: end of the run, UTC, ISO 8601
- ``group``: a JSON object, ``{}`` for all rows
- ``new_``...: new rows, and how many of them count for each rate; null where an earlier version wrote the row
"""
NEW = tuple(name for name in COLUMNS.names if name.startswith("new_"))
_LATER = ("contradicted_rate", *NEW)
"""Columns that histories of earlier versions lack."""
LARGEST = 256 << 20
"""Bytes of a history file."""
MOST_ROWS = 2_000_000
"""Rows of a history file: a thousand groups for five years."""


def append(path: Path, document: Document) -> list[HistoryRow]:
    """Add a run to the file, which is created if necessary, and return all of its rows, oldest first.

    Raises:
        OutputError: the file is not a history or no regular file, is too large, or cannot be written.
    """
    check_user_file(path, "--history", is_parquet=True)
    rows = [
        HistoryRow(night=document.finished, signature=document.signature, status=document.status, group=group.group,
                   rows=group.rows, mean_confidence=group.confidence.mean,
                   rates={name: group.rates[name].value for name in RATES}, new=group.new)
        for group in document.groups
    ]  # fmt: skip
    with _locked(path):
        earlier = [row for row in read(path) if row.night != document.finished]
        all_rows = sorted([*earlier, *rows], key=lambda row: row.night)
        lines = [
            asdict(row)
            | row.rates
            | {f"new_{name}": count for name, count in row.new.items()}
            | {"group": json.dumps(row.group, sort_keys=True)}
            for row in all_rows
        ]
        buffer = BytesIO()
        pq.write_table(pa.Table.from_pylist(lines, COLUMNS), buffer, compression="zstd")
        write_user_file(path, buffer.getvalue(), "--history", is_parquet=True)
    return all_rows


def read(path: Path) -> list[HistoryRow]:
    """All rows of a history, oldest first, each checked: a file that this program did not write must not be drawn or
    sorted as if it had; none when there is no file."""
    try:
        content = read_small(path, LARGEST)
    except FileNotFoundError:
        return []
    except OSError as e:
        raise OutputError(f"cannot read the history {path}: {e.strerror or e}; name another file by --history") from e
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            if file.metadata.num_rows > MOST_ROWS:
                raise ValueError(f"it has {file.metadata.num_rows:,} rows, more than {MOST_ROWS:,}")
            schema = (file.metadata.metadata or {}).get(_SCHEMA_KEY, b"none").decode(errors="replace")
            if schema != str(_SCHEMA):
                raise ValueError(f"it has schema {schema}, and this version reads schema {_SCHEMA}")
            table = file.read(columns=COLUMNS.names, use_threads=False)
            for name in _LATER:
                if name not in table.column_names:
                    table = table.append_column(name, pa.nulls(len(table), COLUMNS.field(name).type))
            lines = table.select(COLUMNS.names).cast(COLUMNS).to_pylist()
        for line in lines:
            counts = {name.removeprefix("new_"): line.pop(name) for name in NEW}
            line["new"] = {name: count for name, count in counts.items() if count is not None}
            line["group"] = json.loads(line["group"] or "null")
            line["rates"] = {name: line.pop(name) for name in RATES}
        return convert(lines, list[HistoryRow])
    except (OSError, pa.ArrowException, KeyError, ValueError, RecursionError, MsgspecError) as e:
        reason = reason_of(e) or "nested too deeply"
        raise OutputError(
            f"{path} is not a history of `scorer audit` ({reason}); name another file by --history"
        ) from e


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One writer at a time: a lock on the folder, which ends with the process whatever happens."""
    with output_errors("lock the folder of", path):
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with output_errors("lock the folder of", path):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
