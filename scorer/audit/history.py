"""The history file: one Parquet row for each run and group, so that a trend can be drawn.

The file is replaced as a whole, by a rename, under a lock on its folder. A run that is audited again replaces its rows.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import asdict

from ..errors import DamagedFileError, OutputError
from ..storage.store import output_errors
from ..storage.user_files import check_user_file, write_user_file
from ..system.codec import convert
from ..system.files import read_small
from ..system.formats import HISTORY_SCHEMA
from .document import RATES, GroupFigures, HistoryRates, HistoryRow, Status

_SCHEMA_KEY = b"d2t_scorer.history"
COLUMNS = pa.schema(
    [
        ("night", pa.string()),
        ("signature", pa.string()),
        ("status", pa.string()),
        ("group", pa.string()),
        ("rows", pa.int64()),
        ("mean_confidence", pa.float64()),
        *((name, pa.float64()) for name in RATES),
    ],
    {_SCHEMA_KEY: str(HISTORY_SCHEMA)},
)
"""``night``: when the run finished, ISO 8601, UTC. ``group``: a JSON object, ``{}`` for all rows."""
LARGEST = 256 << 20
"""Bytes of a history file."""
MOST_ROWS = 2_000_000
"""Rows of a history file: a thousand groups for five years."""


def rows_of(finished: str, signature: str, status: Status, groups: Sequence[GroupFigures]) -> list[HistoryRow]:
    """The rows of one run."""
    return [
        HistoryRow(
            night=finished,
            signature=signature,
            status=status,
            group=group.group,
            rows=group.rows,
            mean_confidence=group.confidence.mean,
            rates=HistoryRates(**{name: group.rates[name].value for name in RATES}),
        )
        for group in groups
    ]


def append(path: Path, rows: Sequence[HistoryRow]) -> list[HistoryRow]:
    """Add the rows of a run to the file, which is created if necessary, and return all of its rows, oldest first.

    Raises:
        OutputError: the file is not a history or no regular file, is too large, or cannot be written.
    """
    check_user_file(path, "--history", is_read=True, is_parquet=True)
    with _locked(path):
        earlier = read(path)
        replaced = {row.night for row in rows}
        lines = sorted([n for n in earlier if n.night not in replaced] + [*rows], key=lambda n: n.night)
        buffer = BytesIO()
        pq.write_table(pa.Table.from_pylist([_flat(row) for row in lines], COLUMNS), buffer, compression="zstd")
        write_user_file(path, buffer.getvalue(), "--history", is_parquet=True)
    return lines


def read(path: Path, option: str = "--history") -> list[HistoryRow]:
    """All rows of a history, oldest first; none when there is no file.

    Raises:
        OutputError: the file is not a history, is too large, or cannot be read.
    """
    try:
        content = read_small(path, LARGEST)
    except FileNotFoundError:
        return []
    except OSError as e:
        raise OutputError(f"cannot read the history {path}: {e.strerror or e}; name another file by {option}") from e
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            if file.metadata.num_rows > MOST_ROWS:
                raise ValueError(f"it has {file.metadata.num_rows:,} rows, more than {MOST_ROWS:,}")
            schema = (file.metadata.metadata or {}).get(_SCHEMA_KEY, b"none").decode(errors="replace")
            if schema != str(HISTORY_SCHEMA):
                raise ValueError(f"it has schema {schema}, and this version reads schema {HISTORY_SCHEMA}")
            table = file.read(columns=COLUMNS.names, use_threads=False)
        lines = table.select(COLUMNS.names).cast(COLUMNS).to_pylist()
        return [_row(number, line) for number, line in enumerate(lines)]
    except (OSError, pa.ArrowException, KeyError, ValueError, RecursionError, DamagedFileError) as e:
        reason = str(e) or "nested too deeply"
        raise OutputError(f"{path} is not a history of `scorer audit` ({reason}); name another file by {option}") from e


def _row(number: int, line: dict[str, Any]) -> HistoryRow:
    """A row, checked: a file that this program did not write must not be drawn or sorted as if it had written it.

    Raises:
        DamagedFileError: says which value of which row cannot be.
    """
    content = {name: value for name, value in line.items() if name not in RATES}
    content |= {"group": json.loads(line["group"] or "null"), "rates": {name: line[name] for name in RATES}}
    return convert(content, HistoryRow, f"row {number}")


def _flat(row: HistoryRow) -> dict[str, Any]:
    line = asdict(row) | asdict(row.rates) | {"group": json.dumps(row.group, sort_keys=True)}
    return {name: line[name] for name in COLUMNS.names}


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
