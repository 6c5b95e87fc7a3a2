"""The files of an output and what its run recorded: read the same way by audit, evaluate, explain and templates.

A run's folder has a plan, totals and shards. A baseline's folder, or a single scored Parquet file, has less; what
concerns the folder of a run alone is in :mod:`.outputs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError, OutputError, ScorerError, UsageError
from ..metric.options import ColumnNames
from ..storage.listing import is_hidden
from ..storage.plan import PLAN
from .plan import Plan
from .settings import Settings, recorded_columns
from .signature import Signature, what_differs


def settings_of(out: Path) -> tuple[Settings, Plan]:
    """How the run that wrote ``out`` was set up, and its plan.

    Raises:
        OutputError: ``out`` has no plan, a damaged one, or one of a newer version.
    """
    plan = Plan.load(out)
    if plan is None or not plan.settings:
        raise OutputError(f"{out} is not an output folder of `scorer run`: it has no readable _plan.json")
    return Settings.from_plan(plan.settings, str(out / PLAN)), plan


def columns_of(plan: Plan, where: str) -> ColumnNames:
    """The column names among a plan's settings; the default ones where a row scorer has none.

    Args:
        where: the output, for messages.

    Raises:
        OutputError: they are not what a run records.
    """
    given = plan.settings.get("columns")
    return recorded_columns(given, f"{where}/{PLAN}") if given is not None else ColumnNames()


def run_columns(path: Path) -> ColumnNames:
    """The column names that a run was given, as its plan records them; the default ones where there is no plan.

    Raises:
        OutputError: the plan was written by a newer version, or a field of it is damaged.
    """
    plan = Plan.load(path)
    return columns_of(plan, str(path)) if plan is not None else ColumnNames()


def data_files(path: Path) -> list[Path]:
    """The scored files of a folder in order, those with hidden names left out; or the file itself.

    Raises:
        InputError: there is none.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path} does not exist; give the output folder of `scorer run`, or a scored Parquet file")
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(map(is_hidden, file.relative_to(path).parts))
    ]
    if not found:
        raise InputError(f"no scored file in {path}; has `scorer run --out {path}` finished a shard?")
    return found


@contextmanager
def open_parquet(path: Path, advice: str = "") -> Iterator[pq.ParquetFile]:
    """A scored file, closed at the end.

    Args:
        advice: ends the message of an error.

    Raises:
        InputError: it cannot be opened, is not Parquet, or cannot be read while it is open.
    """
    with ExitStack() as stack:
        try:
            # Not by name: pyarrow takes some names for URIs, and cannot open those that are not UTF-8.
            file = stack.enter_context(pq.ParquetFile(stack.enter_context(_handle(path))))
        except (OSError, pa.ArrowException) as e:
            raise InputError(f"{path} cannot be read as Parquet: {e}{advice}") from e
        yield file


def schema_of(path: Path, advice: str = "") -> pa.Schema:
    """The schema of a scored file, with the metadata of its footer.

    Raises:
        InputError: it cannot be read.
    """
    with open_parquet(path, advice) as file:
        return file.schema_arrow


def read_row(path: Path, number: int) -> tuple[pa.Table, Signature]:
    """One row of a scored file, as a table, and the file's signature. Only the row group that holds it is read.

    Raises:
        InputError: no such file or row, or the file cannot be read.
    """
    if not path.is_file():
        raise InputError(f"no output file {path}; write --row FILE:N with a path below the output folder")
    with open_parquet(path) as file:
        start = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if number < start + rows:
                table = guarded(path, file.read_row_group, group).slice(number - start, 1)
                return table, Signature.of_footer(file.schema_arrow.metadata)
            start += rows
    raise InputError(f"{path} has {start} rows, counted from 0; there is no row {number}")


def guarded(path: Path, read: Any, *arguments: Any, advice: str = "", **more: Any) -> Any:
    """Call a function that reads from an open file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return read(*arguments, **more)
    except (OSError, pa.ArrowException) as e:
        raise InputError(f"{path} cannot be read as Parquet: {e}{advice}") from e


class OneSignature:
    """Compares files: all of them must have been scored in the same way.

    Args:
        advice: what to do with files that were not, for the message.
        error: what is raised then.
    """

    def __init__(self, advice: str, error: type[ScorerError] = UsageError) -> None:
        self._advice, self._error = advice, error
        self._first: tuple[str, Signature] | None = None

    @property
    def signature(self) -> Signature:
        """That of all files so far; empty when none has been added."""
        return self._first[1] if self._first is not None else Signature("")

    def add(self, name: str, found: Signature) -> None:
        """Add a file.

        Raises:
            ScorerError: it was not scored as the first one was; names both, and the parts that differ.
        """
        first, signature = self._first = self._first or (name, found)
        if found != signature:
            differ = what_differs(signature, found)
            raise self._error(f"{first} and {name} were scored differently ({differ}); {self._advice}")

    def add_footer(self, name: str, metadata: Mapping[bytes, bytes] | None) -> None:
        """Add a file by the metadata of its Parquet footer; see :meth:`add`."""
        self.add(name, Signature.of_footer(metadata))


def _handle(path: Path) -> Any:
    try:
        return pa.OSFile(str(path))
    except UnicodeError:
        return path.open("rb")
