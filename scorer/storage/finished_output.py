"""Finished outputs, opened for reading: the output of a run, the parts of one, or scored files, read as one.

Of a run's output, the files are those that the plan names and a receipt describes, in the order of their paths,
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
from .location import Location, StoreUri, named
from .output_files import RUN_AGAIN, OutputFile, data_files, partition_keys
from .output_folder import READERS, OutputFolder
from .run_plan import PLAN, RUN, SUCCESS, Plan, check_parts, find_outputs
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
from .store import FileInfo, LocalStore, Store, open_store

_BATCH_ROWS = 1 << 16
_RESUMES = "the same `scorer run` resumes it"


@dataclass(frozen=True)
class OutputWindow:
    """Rows of one file. ``first``: the number of its first row in the whole output. ``table``: the columns asked for;
    one that this file lacks is missing."""

    first: int
    table: pa.Table


@dataclass(frozen=True)
class Coverage:
    """How much of its inputs an output holds. ``limit``: rows that were scored, if ``--limit`` cut any. ``missing``:
    paths of the shards that were planned and not scored; ``planned``: how many were. ``missing_parts``: numbers of the
    parts that were not given, of ``parts`` in all. ``finished``: whether each output is finished (``_SUCCESS``)."""

    limit: int | None = None
    missing: tuple[str, ...] = ()
    planned: int = 0
    missing_parts: tuple[int, ...] = ()
    parts: int = 1
    finished: bool = True

    @property
    def reason(self) -> str | None:
        """Missing parts or shards, as a phrase; ``None`` when nothing is."""
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
    """Refuse to compare outputs when one lacks rows that the other has (:class:`.UsageError`). Two runs with the same
    limit compare: both hold the first rows."""
    if allowed or (out.limit == baseline.limit and out.is_complete and baseline.is_complete):
        return
    shown_out, shown_baseline = (
        "complete" if each.reason is None else f"partial ({each.reason})" for each in (out, baseline)
    )
    raise UsageError(
        f"the output is {shown_out}, and the baseline is {shown_baseline}: rows that were not scored would count as "
        "removed or added; "
        "score all, or pass --allow-partial to compare them anyway"
    )


@dataclass(frozen=True)
class FinishedOutput:
    """A finished output, read as one.

    ``name``: the paths as they were given, in words. ``outs``: the folders or files that it is made of. ``files``: its
    files. ``full_signature``: of all files. ``plans``, ``runs``: of each folder of a run, and the content of its
    ``_run.json``. ``versions``: of the files that count, by output, before anything was read.
    """

    name: str
    outs: tuple[Location, ...]
    files: tuple[OutputFile, ...]
    full_signature: Signature
    plans: tuple[Plan, ...] = ()
    runs: tuple[bytes, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    versions: Mapping[Location, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def open(cls, *outs: Location, allow_partial: bool = False) -> Self:
        """Open outputs.

        Args:
            outs: the output of a run, its parts or the folder above them; or a scored file, or a folder of them.
            allow_partial: also outputs that are not finished, and parts of which some are missing.

        Raises:
            InputError: nothing there, or a file cannot be read. OutputError: not finished, not what its receipts say,
            changed meanwhile, or not parts of one run. UsageError: scored files of different signatures.
        """
        places = list(dict.fromkeys(find_outputs(outs)))
        if not any(open_store(place, patient=False).read(PLAN) is not None for place in places):
            place, *others = places
            if others or not isinstance(place, Path):
                raise OutputError(f"{named(places)}: no output of `scorer run`; name one, or a scored file or folder")
            names = [scored.relative_to(place).as_posix() if scored != place else "" for scored in data_files(place)]
            files = tuple(OutputFile(LocalStore(place), name) for name in names)
            signatures = [(Path(file.uri).name, file.signature) for file in files]
            advice = "figures compare only under equal signatures: evaluate them apart"
            return cls(str(place), (place,), files, _one_signature(signatures, advice, UsageError))
        folders = [_RunFolder(place, allow_partial) for place in places]
        missing_parts = check_parts({str(folder.location): folder.plan for folder in folders}, allow_partial)
        files = tuple(sorted((file for folder in folders for file in folder.files), key=lambda file: file.relative))
        if twice := [scored.relative for scored, other in pairwise(files) if scored.relative == other.relative]:
            raise OutputError(f"{twice[0]} is in two of the outputs {named(places)}; name the parts of one run")
        signatures = [(f"{folder.location}/{PLAN}", Signature.of(folder.plan)) for folder in folders]
        signatures += [(file.uri, file.signature) for file in files]
        plan, planned = folders[0].plan, sorted(name for folder in folders for name in folder.plan.inputs)
        is_cut = plan.limit is not None and sum(file.rows for file in files) >= plan.limit  # fewer are all there are
        return cls(
            name=named(outs),
            outs=tuple(places),
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
        """The columns that any file has; of a name in several, with the first one's type. Reads all footers."""
        fields: dict[str, pa.Field] = {}
        readers = READERS if any(file.store.is_remote for file in self.files) else 1
        for schema in map_in_threads(attrgetter("schema"), self.files, readers):
            fields |= {column.name: column for column in schema if column.name not in fields}
        return pa.schema(list(fields.values()))

    @property
    def settings(self) -> Mapping[str, Any]:
        """How the run was set up; empty where there is no plan."""
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
        """Relative path of a file and the number in it, of a row of the whole."""
        number = self._file_of(row)
        return self.files[number].relative, row - int(self.starts[number])

    def plan_of(self, row: int) -> Plan:
        """The plan that a row of the whole was scored under."""
        return self.plans[self.outs.index(self.files[self._file_of(row)].store.location)]

    def _file_of(self, row: int) -> int:
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    def find(self, name: str, row: int) -> int | None:
        """Number in the whole, of a row of a file, or of the folder of an input that was scored in row ranges; ``None``
        where there is no such row."""
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
                for batch in parquet.iter_batches(batch_size=_BATCH_ROWS, columns=_chosen(parquet, columns)):
                    yield OutputWindow(first, self._with_keys(pa.Table.from_batches([batch]), file, columns))
                    first += len(batch)

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, of all columns by default; those that no file has are left out.

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
        wanted = np.unique(np.asarray(numbers, np.int64))
        for number in np.unique(np.searchsorted(self.starts, wanted, side="right") - 1).tolist():
            file, first = self.files[number], int(self.starts[number])
            with file.parquet() as parquet:
                for group in range(parquet.num_row_groups):
                    end = first + parquet.metadata.row_group(group).num_rows
                    here = wanted[(wanted >= first) & (wanted < end)]
                    if len(here):
                        chosen = None if columns is None else _chosen(parquet, columns)
                        table = self._with_keys(parquet.read_row_group(group, columns=chosen), file, columns or ())
                        few = _few(table, here - first)
                        tables |= {int(row): few.slice(i, 1) for i, row in enumerate(here)}
                    first = end
        return tables

    def unchanged(self) -> AbstractContextManager[None]:
        """Read the output inside; a change since it was opened is an :class:`.OutputError` that names the files,
        whatever error it caused."""
        return _unchanged(self.versions)

    def _with_keys(self, table: pa.Table, file: OutputFile, wanted: Iterable[str]) -> pa.Table:
        """A table of a file's rows with those keys of its path that are wanted, and that no file has as a column, as
        columns of strings."""
        keys = partition_keys(file.relative)
        for name in dict.fromkeys(wanted):
            if name in keys and name not in self.schema.names:
                table = table.append_column(name, pa.repeat(pa.scalar(keys[name], pa.string()), len(table)))
        return table


class _RunFolder:
    """The folder of a run. ``versions``: of the files that count, before any of them was read."""

    def __init__(self, location: Location, allow_partial: bool) -> None:
        folder = OutputFolder(location, patient=False)
        files = _that_count(folder.store)
        self.location, self.versions = location, {name: info.version for name, info in files.items()}
        with _unchanged({location: self.versions}):
            plan, self.run, receipts = folder.read_plan(), folder.store.read(RUN), folder.receipts()
            self.why_unfinished = folder.why_unfinished(receipts)
            if plan is None:
                raise OutputError(f"{location} is not an output folder of `scorer run`: it has no readable {PLAN}")
            self.plan, self.files = plan, list[OutputFile]()
            if self.why_unfinished is not None and not allow_partial:
                failed = folder.quarantined(plan, receipts)
                why, advice = _unfinished(failed, len(plan.inputs)) if failed else (self.why_unfinished, _RESUMES)
                raise OutputError(
                    f"{location} is not finished: {why}; {advice}, or pass --allow-partial to read what there is"
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
    """Why an output with quarantined shards is not finished, and what to do."""
    first = failed[0]
    reason = first.message or first.kind or f"its record in {FAILED} is damaged"
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    failures = f"{len(failed)} of {shards} shards failed: {first.relative}: {reason}{more}"
    return failures, "fix the input and run `scorer run` again"


def _that_count(store: Store) -> dict[str, FileInfo]:
    """The own files of an output, and those of its shards that have a record."""
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
        now = {name: info.version for name, info in _that_count(open_store(location, patient=False)).items()}
        changed = [name for name, _ in {*before.items()} ^ {*now.items()}]
        if changed:
            shown = named(sorted({*changed}, key=lambda name: (name not in (RUN, PLAN, SUCCESS), name)))
            raise OutputError(
                f"{location} changed while it was read ({shown}): rows of two runs must not mix; wait until the run "
                "that writes there has ended, then run this again"
            ) from cause
    if cause is not None:
        raise cause


def locations_of(given: Location | Sequence[Location]) -> tuple[Location, ...]:
    """One output, or the parts of one."""
    return (given,) if isinstance(given, Path | StoreUri) else tuple(given)


def _one_signature(signatures: Sequence[tuple[str, Signature]], advice: str, error: type[ScorerError]) -> Signature:
    """The signature that all have in common, by name."""
    first, signature = signatures[0]
    for name, other in signatures[1:]:
        if differs := signature.changes_to(other):
            raise error(f"{first} and {name} were scored differently ({', '.join(map(str, differs))}); {advice}")
    return signature


def _chosen(file: pq.ParquetFile, columns: Sequence[str]) -> list[str]:
    """Those of ``columns`` that a file has; where a nested path is not there, the whole column above it."""
    tops = set(file.schema_arrow.names)
    paths = {file.schema.column(i).path for i in range(len(file.schema))}
    present = [name if name in tops or name in paths else name.split(".")[0] for name in columns]
    return list(dict.fromkeys(name for name in present if name in tops or name in paths))


def _few(table: pa.Table, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Some rows of a table, as a copy: a slice would keep the whole row group in memory; string views have no take."""
    return pa.concat_tables([table.slice(row, 1) for row in rows.tolist()]).combine_chunks()
