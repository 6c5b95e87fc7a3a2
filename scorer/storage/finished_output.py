"""Finished outputs, opened for reading: the output of a run, the parts of one, or scored files, read as one.

The files of a run's output are all files that the plan names and a receipt describes, in the order of their paths,
whichever part they are in: rows have the same order, and so the same numbers, as in the output of an undivided run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError, OutputError, ScorerError, UsageError
from ..system.waiting import map_in_threads, result_of
from .local_files import FileInfo
from .location import Location, StoreUri, named
from .output_files import RUN_AGAIN, OutputFile, data_files, partition_keys
from .output_folder import READERS, OutputFolder
from .receipts import (
    FAILED,
    RECEIPTS,
    ROW_RANGE,
    FailedShard,
    Signature,
    Unusable,
    receipt_name,
    relatives_of,
)
from .run_plan import PLAN, RUN, SUCCESS, Plan, check_parts, find_outputs
from .store import LocalStore, Store, open_store

_BATCH_ROWS = 1 << 16
_RESUMES = "the same `scorer run` resumes it"


@dataclass(frozen=True)
class OutputWindow:
    """Rows of one file."""

    first: int
    """Number of the first row in the whole output."""
    table: pa.Table
    """The requested columns that the file has."""


@dataclass(frozen=True)
class Coverage:
    """The share of its inputs that an output holds."""

    limit: int | None = None
    """Rows that were scored, if ``--limit`` cut any; ``None`` for all."""
    missing: tuple[str, ...] = ()
    """Paths of planned shards that were not scored."""
    planned: int = 0
    """Number of planned shards."""
    missing_parts: tuple[int, ...] = ()
    """Numbers of the parts that are not among the outputs."""
    parts: int = 1
    """Number of parts of the run."""
    finished: bool = True
    """Whether each output is finished (``_SUCCESS``)."""

    @property
    def reason(self) -> str | None:
        """Missing parts or shards, as a phrase; ``None`` when nothing is missing."""
        reasons = []
        if self.limit is not None:
            reasons.append(f"only the first {self.limit:,} rows were scored (--limit)")
        if parts := self.missing_parts:
            reasons.append(f"{len(parts):,} of {self.parts:,} parts are missing: {named(parts)}")
        if self.missing:
            reasons.append(f"{len(self.missing):,} of {self.planned:,} shards were not scored: {named(self.missing)}")
        elif not self.finished:
            reasons.append("the run did not finish")
        return "; ".join(reasons) or None

    @property
    def is_complete(self) -> bool:
        """Whether no shard is missing; the rows may be limited."""
        return self.finished and not self.missing and not self.missing_parts


def refuse_unequal(out: Coverage, baseline: Coverage, allowed: bool) -> None:
    """Refuse to compare a partial output with a complete one (:class:`.UsageError`). Two runs with the same
    limit compare: both hold the first rows."""
    if allowed or (out.limit == baseline.limit and out.is_complete and baseline.is_complete):
        return
    shown_out, shown_baseline = (
        "complete" if coverage.reason is None else f"partial ({coverage.reason})" for coverage in (out, baseline)
    )
    raise UsageError(
        f"the output is {shown_out}, and the baseline is {shown_baseline}: rows that were not scored would count as "
        "removed or added; "
        "score all, or pass --allow-partial to compare them anyway"
    )


@dataclass(frozen=True)
class FinishedOutput:
    """A finished output, read as one."""

    name: str
    """The paths of the user, in words."""
    outs: tuple[Location, ...]
    """Folders or files of the output."""
    files: tuple[OutputFile, ...]
    """Files with rows."""
    full_signature: Signature
    """Signature of all files."""
    plans: tuple[Plan, ...] = ()
    """Plan of each folder of a run."""
    runs: tuple[bytes, ...] = ()
    """Content of ``_run.json`` of each folder of a run that has one."""
    coverage: Coverage = field(default_factory=Coverage)
    """The share of its inputs that the output holds."""
    versions: Mapping[Location, Mapping[str, str]] = field(default_factory=dict)
    """Versions of its files by output and name, before any of them was read."""

    @classmethod
    def open(cls, *outs: Location, allow_partial: bool = False) -> Self:
        """Open outputs.

        Args:
            outs: the output of a run, its parts or the folder above them; or a scored file, or a folder of them.
            allow_partial: also accept unfinished outputs, and incomplete parts.

        Raises:
            InputError: no files, or a file that cannot be read.
            OutputError: not finished, in conflict with its receipts, changed meanwhile, or not parts of one run.
            UsageError: scored files of different signatures.
        """
        locations = list(dict.fromkeys(find_outputs(outs)))
        if not any(open_store(location, patient=False).read(PLAN) is not None for location in locations):
            top, *further = locations
            if further or not isinstance(top, Path):
                raise OutputError(
                    f"{named(locations)}: no output of `scorer run`; name one, or a scored file or folder"
                )
            names = [scored.relative_to(top).as_posix() if scored != top else "" for scored in data_files(top)]
            files = tuple(OutputFile(LocalStore(top), name) for name in names)
            signatures = [(Path(file.uri).name, file.signature) for file in files]
            advice = "figures compare only under equal signatures: evaluate them apart"
            return cls(str(top), (top,), files, _one_signature(signatures, advice, UsageError))
        folders = [_RunFolder(location, allow_partial) for location in locations]
        missing_parts = check_parts({str(folder.location): folder.plan for folder in folders}, allow_partial)
        files = tuple(sorted((file for folder in folders for file in folder.files), key=lambda file: file.relative))
        if twice := [scored.relative for scored, following in pairwise(files) if scored.relative == following.relative]:
            raise OutputError(f"{twice[0]} is in two of the outputs {named(locations)}; name the parts of one run")
        signatures = [(f"{folder.location}/{PLAN}", Signature.of(folder.plan)) for folder in folders]
        signatures += [(file.uri, file.signature) for file in files]
        plan, planned = folders[0].plan, sorted(name for folder in folders for name in folder.plan.inputs)
        is_cut = plan.limit is not None and sum(file.rows for file in files) >= plan.limit  # fewer are all there are
        return cls(
            name=named(outs),
            outs=tuple(locations),
            files=files,
            full_signature=_one_signature(signatures, "run `scorer run` again", OutputError),
            plans=tuple(folder.plan for folder in folders),
            runs=tuple(folder.run for folder in folders if folder.run is not None),
            coverage=Coverage(
                limit=plan.limit if is_cut else None,
                missing=tuple(sorted({*planned} - {file.relative for file in files})),
                planned=len(planned),
                missing_parts=missing_parts,
                parts=plan.part.count if plan.part is not None else 1,
                finished=all(folder.why_unfinished is None for folder in folders),
            ),
            versions={folder.location: folder.versions for folder in folders},
        )

    def __len__(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Number of each file's first row in the whole, and the number of all rows. int64, *Shape:* (files + 1,)."""
        return np.concatenate([[0], np.cumsum([file.rows for file in self.files])]).astype(np.int64)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of all files; a name of several files has the type of the first. Reads all footers."""
        fields: dict[str, pa.Field] = {}
        readers = READERS if any(file.store.is_remote for file in self.files) else 1
        for schema in map_in_threads(attrgetter("schema"), self.files, readers):
            fields |= {column.name: column for column in schema if column.name not in fields}
        return pa.schema(list(fields.values()))

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the run's scorer; empty where there is no plan."""
        return self.plans[0].settings if self.plans else {}

    @cached_property
    def path_keys(self) -> list[str]:
        """The partition keys of the paths (:func:`partition_keys`); a column of the files of that name hides one."""
        return list(dict.fromkeys(key for file in self.files for key in partition_keys(file.relative)))

    @property
    def names(self) -> list[str]:
        """The names of all columns, and of the partition keys of the paths."""
        return list(dict.fromkeys([*self.schema.names, *self.path_keys]))

    def locate(self, row: int) -> tuple[str, int]:
        """The relative path of a row's file, and the number of the row in it."""
        number = self._file_of(row)
        return self.files[number].relative, row - int(self.starts[number])

    def plan_of(self, row: int) -> Plan:
        """The plan of the run that scored a row of the whole."""
        return self.plans[self.outs.index(self.files[self._file_of(row)].store.location)]

    def _file_of(self, row: int) -> int:
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    def find(self, name: str, row: int) -> int | None:
        """The number of a file's row in the whole output; ``None`` if there is no such row.

        Args:
            name: path of the file, or of the folder of an input that was scored in row ranges.
            row: number of the row there.
        """
        for number, file in enumerate(self.files):
            if file.relative == name or ROW_RANGE.sub("", file.relative) == name:
                if 0 <= row < file.rows:
                    return int(self.starts[number]) + row
                row -= file.rows
        return None

    def windows(self, columns: Sequence[str]) -> Iterator[OutputWindow]:
        """All rows in order, the next window being read while the caller works on one.

        Args:
            columns: names, or paths of nested columns as Parquet spells them (``triples.list.element.predicate``).

        Raises:
            InputError: a file cannot be read.
        """
        with ThreadPoolExecutor(1, "read") as reader:
            source = self._read(columns)
            waiting = reader.submit(next, source, None)
            while (window := result_of(waiting)) is not None:
                waiting = reader.submit(next, source, None)
                yield window

    def _read(self, columns: Sequence[str]) -> Iterator[OutputWindow]:
        for file, first in zip(self.files, self.starts.tolist(), strict=False):
            with file.parquet() as parquet:
                for batch in parquet.iter_batches(batch_size=_BATCH_ROWS, columns=_present(parquet, columns)):
                    yield OutputWindow(first, self._with_keys(pa.Table.from_batches([batch]), file, columns))
                    first += len(batch)

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, of all columns by default; columns that no file has are left out.

        Raises:
            InputError: a file cannot be read, or a column has types in different files that do not go together.
        """
        names = self.names if columns is None else columns
        tables = [window.table for window in self.windows(names)]
        try:
            joined = pa.concat_tables(tables, promote_options="permissive") if tables else self.schema.empty_table()
            return joined.select([name for name in joined.schema.names if tables or name in names])
        except pa.ArrowException as e:
            raise InputError(f"the files of {self.name} have different columns: {e}; read them one at a time") from e

    def rows(self, numbers: Sequence[int], columns: Sequence[str] | None = None) -> dict[int, pa.Table]:
        """Some rows, each as a table of one row, by number in rising order; only their row groups are read, and no
        other file is opened. ``columns``: as of :meth:`windows`; by default all columns of the file of each row.

        Raises:
            InputError: a file cannot be read.
        """
        tables: dict[int, pa.Table] = {}
        sought = np.unique(np.asarray(numbers, np.int64))
        for number in np.unique(np.searchsorted(self.starts, sought, side="right") - 1).tolist():
            file, first = self.files[number], int(self.starts[number])
            with file.parquet() as parquet:
                for group in range(parquet.num_row_groups):
                    end = first + parquet.metadata.row_group(group).num_rows
                    of_group = sought[(sought >= first) & (sought < end)]
                    if len(of_group):
                        present = None if columns is None else _present(parquet, columns)
                        table = self._with_keys(parquet.read_row_group(group, columns=present), file, columns or ())
                        rows = _copied_rows(table, of_group - first)
                        tables |= {int(row): rows.slice(i, 1) for i, row in enumerate(of_group)}
                    first = end
        return tables

    def unchanged(self) -> AbstractContextManager[None]:
        """Read the output inside; a change since it was opened is an :class:`.OutputError` that names the files,
        whatever error it caused."""
        return _unchanged(self.versions)

    def _with_keys(self, table: pa.Table, file: OutputFile, columns: Iterable[str]) -> pa.Table:
        """A table of a file's rows with the keys of its path among ``columns``, as columns of strings; a column of the
        files hides the key of its name."""
        keys = partition_keys(file.relative)
        for name in dict.fromkeys(columns):
            if name in keys and name not in self.schema.names:
                table = table.append_column(name, pa.repeat(pa.scalar(keys[name], pa.string()), len(table)))
        return table


class _RunFolder:
    """The folder of a run."""

    location: Location
    """Location of the output."""
    versions: Mapping[str, str]
    """Versions of its files by name, before any of them was read."""
    plan: Plan
    """Its plan."""
    run: bytes | None
    """Content of ``_run.json``; ``None`` if there is none."""
    files: list[OutputFile]
    """Its files with rows."""
    why_unfinished: str | None
    """Why it is not finished; ``None`` if it is."""

    def __init__(self, location: Location, allow_partial: bool) -> None:
        folder = OutputFolder(location, patient=False)
        files = _counted_files(folder.store)
        self.location, self.versions = location, {name: info.version for name, info in files.items()}
        with _unchanged({location: self.versions}):
            plan, self.run, receipts = folder.read_plan(), folder.store.read(RUN), folder.receipts()
            self.why_unfinished = folder.why_unfinished(receipts)
            if plan is None:
                raise OutputError(f"{location} is not an output folder of `scorer run`: it has no readable {PLAN}")
            self.plan, self.files = plan, []
            if self.why_unfinished is not None and not allow_partial:
                failed = folder.quarantined(plan, receipts)
                problem, advice = _unfinished(failed, len(plan.inputs)) if failed else (self.why_unfinished, _RESUMES)
                raise OutputError(
                    f"{location} is not finished: {problem}; {advice}, or pass --allow-partial to read what there is"
                )
            for relative, receipt in receipts.items():
                if isinstance(receipt, Unusable):
                    raise OutputError(f"{location}: the receipt of {relative} is damaged; run `scorer run` again")
                if relative in plan.inputs:
                    info, output = files.get(relative), receipt.output
                    if info is None or info.size != output.bytes or output.e_tag not in ("", info.version):
                        where = folder.store.uri(relative)
                        raise OutputError(f"{where} is missing, or not what its receipt says{RUN_AGAIN}")
                    self.files.append(OutputFile(folder.store, relative, info.version, receipt))


def _unfinished(failed: Sequence[FailedShard], shards: int) -> tuple[str, str]:
    """The reason why an output with quarantined shards is not finished, and advice."""
    first = failed[0]
    reason = first.message or first.kind or f"its record in {FAILED} is damaged"
    further = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    failures = f"{len(failed)} of {shards} shards failed: {first.relative}: {reason}{further}"
    return failures, "fix the input and run `scorer run` again"


def _counted_files(store: Store) -> dict[str, FileInfo]:
    """The own files of an output, and the outputs and records of its shards that have a record."""
    files = store.list()
    done, failed = relatives_of(files, RECEIPTS), relatives_of(files, FAILED)
    names = {
        PLAN,
        RUN,
        SUCCESS,
        *done,
        *map(receipt_name, done),
        *(receipt_name(relative, FAILED) for relative in failed),
    }
    return {name: info for name, info in files.items() if name in names}


@contextmanager
def _unchanged(versions: Mapping[Location, Mapping[str, str]]) -> Iterator[None]:
    """See :meth:`FinishedOutput.unchanged`.

    No lock is held: a reader never blocks a run. A run removes a receipt before it replaces the output, and writes new
    totals at the end.
    """
    cause: Exception | None = None
    try:
        yield
    except Exception as error:  # a file that changed can be damaged in any way
        cause = error
    for location, before in versions.items():
        current = {name: info.version for name, info in _counted_files(open_store(location, patient=False)).items()}
        changed = [name for name, _ in {*before.items()} ^ {*current.items()}]
        if changed:
            shown = named(sorted({*changed}, key=lambda name: (name not in (RUN, PLAN, SUCCESS), name)))
            raise OutputError(
                f"{location} changed while it was read ({shown}): rows of two runs must not mix; wait until the run "
                "that writes there has ended, then run this again"
            ) from cause
    if cause is not None:
        raise cause


def locations_of(out: Location | Sequence[Location]) -> tuple[Location, ...]:
    """The location of an output, or the locations of its parts."""
    return (out,) if isinstance(out, Path | StoreUri) else tuple(out)


def _one_signature(signatures: Sequence[tuple[str, Signature]], advice: str, error: type[ScorerError]) -> Signature:
    """The signature that all files and plans have in common; the error names the first one that differs."""
    first, signature = signatures[0]
    for name, later in signatures[1:]:
        if differs := signature.changes_to(later):
            raise error(f"{first} and {name} were scored differently ({', '.join(map(str, differs))}); {advice}")
    return signature


def _present(file: pq.ParquetFile, columns: Sequence[str]) -> list[str]:
    """The columns among ``columns`` that a file has; in place of a missing nested path, the whole column above it."""
    tops = set(file.schema_arrow.names)
    paths = {file.schema.column(i).path for i in range(len(file.schema))}
    present = [name if name in tops or name in paths else name.split(".")[0] for name in columns]
    return list(dict.fromkeys(name for name in present if name in tops or name in paths))


def _copied_rows(table: pa.Table, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Copy some rows of a table: a slice would keep the whole row group in memory, and string views have no take."""
    return pa.concat_tables([table.slice(row, 1) for row in rows.tolist()]).combine_chunks()
