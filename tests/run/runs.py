"""Runs of a few rows in this process, by the driver itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.metric import ColumnNames
from scorer.run.driver import WINDOWS, Outcome, run
from scorer.run.executors import Executor, Job, RunOptions
from scorer.run.inline import Inline
from scorer.scoring.settings import Settings
from scorer.storage.location import Location
from tests.storage.backends import files


class Told:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def say(self, message: str) -> None:
        self.messages.append(message)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


def texts(count: int) -> pa.Table:
    """Rows, every tenth of which has no text."""
    return pa.table(
        {
            "text": [None if i % 10 == 3 else "x" * i for i in range(count)],
            "mr": [f"name[N{i}], food[f{i % 3}]" for i in range(count)],
            "other": range(count),
        }
    )


def job(
    data: Path,
    out: Location,
    bundle: Path,
    *,
    optional: tuple[str, ...] = (),
    threads: int | None = None,
    **options: Any,
) -> Job:
    """A run of some rows, which keeps only the column of texts."""
    columns = ColumnNames(keep=("text",))
    settings = Settings(str(bundle), device="cpu", optional=optional, threads=threads, columns=columns)
    return Job(settings, RunOptions((str(data),), out, **{"max_error_rate": 0.5, **options}))


def run_in_small_windows(executor: Executor, told: Told) -> Outcome:
    """Run in windows of four rows."""
    with mock.patch.dict(WINDOWS, window_rows=4):
        return run(executor, told)


def score(data: Path, out: Location, bundle: Path, *, told: Told | None = None, **options: Any) -> Outcome:
    """Score in this process, in windows of four rows; see :func:`job`."""
    told = told or Told()
    return run_in_small_windows(Inline(job(data, out, bundle, **options), told), told)


def table_of(out: Location, name: str) -> pa.Table:
    """An output as a table."""
    return pq.read_table(pa.BufferReader(files(out)[name]))


def receipts(out: Location) -> dict[str, bytes]:
    """The content of all receipts."""
    return {name: content for name, content in files(out).items() if name.startswith("_receipts")}
