"""A finished output folder, opened for reading: its totals, its files, its columns, window by window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError, OutputError
from ..metric.columns import OUTPUT
from ..metric.options import ColumnNames
from ..storage import Receipts, SeenOutput, WrittenFile
from ..storage.plan import RUN
from ..system.waiting import outcome
from .extent import Extent, extent
from .output_files import OneSignature, columns_of, guarded, open_parquet, schema_of
from .partitions import partition_keys, with_partition_keys
from .places import Places
from .plan import Plan
from .signature import Signature
from .snapshot import Snapshot, take, unchanged
from .summary import RunSummary

WINDOW = 1 << 16
LABELS = ("fine", "confidence", "omitted", "fact_entailment", "text_entailment", "error", "note", "reused", "row_key")
"""Output columns that an audit reads."""
_RUN_AGAIN = "; run `scorer run` again to replace it"


@dataclass(frozen=True)
class Window:
    """Rows of one file. ``first``: the number of its first row in the whole output. ``table``: the columns asked for;
    one that this file lacks is missing."""

    first: int
    table: pa.Table


@dataclass(frozen=True)
class Output:
    """A finished output. ``places``: its files and where their rows are. ``schema``: the columns that any file has.
    ``full_signature``: of all files; ``signature`` is its line. ``summary``: its ``_run.json``;
    ``settings``: how the run was set up. ``columns``: what the run was told to read.
    ``extent``: how much of the inputs it holds. ``snapshot``: the folder as it was before anything of it was read."""

    path: Path
    places: Places
    schema: pa.Schema
    full_signature: Signature
    summary: RunSummary
    settings: Mapping[str, object]
    columns: ColumnNames
    extent: Extent
    snapshot: Snapshot

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def files(self) -> Sequence[str]:
        """Relative paths of the files."""
        return self.places.files

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """Number of each file's first row in the whole, and the number of all rows. *Shape:* (files + 1,), int64."""
        return self.places.starts

    @property
    def names(self) -> list[str]:
        """The names of all columns, and of the partition keys of the paths."""
        keys = (key for relative in self.files for key in partition_keys(relative))
        return list(dict.fromkeys([*self.schema.names, *keys]))

    @property
    def signature(self) -> str:
        return self.full_signature.line

    def locate(self, row: int) -> tuple[str, int]:
        """Shard and row in it, of a row of the whole."""
        return self.places.locate(row)

    def windows(self, leaves: Sequence[str]) -> Iterator[Window]:
        """All rows in order, the next window being read while the caller works on one.

        Args:
            leaves: columns, or paths of nested ones as Parquet spells them (``triples.list.element.predicate``).

        Raises:
            InputError: a file cannot be read.
        """
        with ThreadPoolExecutor(1, "read") as ahead:
            source = self._read(leaves)
            waiting = ahead.submit(next, source, None)
            while (window := outcome(waiting)) is not None:
                waiting = ahead.submit(next, source, None)
                yield window

    def take(self, rows: Sequence[int], columns: Sequence[str]) -> list[tuple[int, pa.Table]]:
        """Some rows, as (row, table of one row) in rising order; only the row groups that hold them are read."""
        found: list[tuple[int, pa.Table]] = []
        wanted = np.unique(np.asarray(rows, np.int64))
        owners = np.searchsorted(self.starts, wanted, side="right") - 1
        for number in np.unique(owners).tolist():
            inside = wanted[owners == number] - self.starts[number]
            with self._open(self.files[number]) as file:
                chosen = [name for name in columns if name in file.schema_arrow.names]
                start = 0
                for group in range(file.num_row_groups):
                    count = file.metadata.row_group(group).num_rows
                    here = inside[(inside >= start) & (inside < start + count)]
                    if len(here):
                        table = self._guarded(file.read_row_group, self.files[number], group, columns=chosen)
                        table = with_partition_keys(table, self.files[number], self._keys(columns))
                        few = _few(table, here - start)
                        base = int(self.starts[number])
                        found += [(base + int(row), few.slice(i, 1)) for i, row in enumerate(here)]
                    start += count
        return found

    def _read(self, leaves: Sequence[str]) -> Iterator[Window]:
        for name, start in zip(self.files, self.starts.tolist(), strict=False):
            with self._open(name) as file:
                first, chosen = start, _chosen(file, leaves)
                batches = file.iter_batches(batch_size=WINDOW, columns=chosen)
                while (batch := self._guarded(next, name, batches, None)) is not None:
                    table = pa.Table.from_batches([batch])
                    yield Window(first, with_partition_keys(table, name, self._keys(leaves)))
                    first += len(batch)

    def _keys(self, wanted: Sequence[str]) -> list[str]:
        """The names among ``wanted`` that no file has as a column."""
        return [name for name in wanted if name not in self.schema.names]

    @contextmanager
    def _open(self, relative: str) -> Iterator[pq.ParquetFile]:
        with open_parquet(self.path / relative, _RUN_AGAIN) as file:
            yield file

    def _guarded(self, read: Any, relative: str, *arguments: Any, **more: Any) -> Any:
        return guarded(self.path / relative, read, *arguments, advice=_RUN_AGAIN, **more)


@contextmanager
def arrow_errors(output: Output) -> Iterator[None]:
    """Report columns of types that a run never writes, which an output may still have, in one line.

    Raises:
        InputError: what Arrow cannot do with them.
    """
    try:
        yield
    except pa.ArrowException as e:
        raise InputError(f"{output.path} has a column of a type that no run writes: {e}") from e


def _few(table: pa.Table, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Some rows of a table, as a copy: a slice would keep the whole row group in memory."""
    try:
        return table.take(rows)
    except pa.ArrowNotImplementedError:  # of string views
        return pa.concat_tables([table.slice(row, 1) for row in rows.tolist()]).combine_chunks()


def _chosen(file: pq.ParquetFile, leaves: Sequence[str]) -> list[str]:
    """What of ``leaves`` a file has; where a nested path is not there, the whole column above it."""
    tops = set(file.schema_arrow.names)
    paths = {file.schema.column(i).path for i in range(len(file.schema))}
    found = [leaf if leaf in tops or leaf in paths else leaf.split(".")[0] for leaf in leaves]
    return list(dict.fromkeys(leaf for leaf in found if leaf in tops or leaf in paths))


def open_output(path: Path, allow_partial: bool = False) -> Output:
    """Open what ``scorer run`` finished.

    Args:
        allow_partial: also what a run left that ended without scoring all shards.

    Raises:
        OutputError: no output folder, not finished, its files are not what its receipts say, or it changes meanwhile.
    """
    snapshot = take(path)
    with unchanged([snapshot]):
        return _open(path, snapshot, allow_partial)


def _open(path: Path, snapshot: Snapshot, allow_partial: bool) -> Output:
    plan = Plan.load(path) if path.is_dir() else None
    if plan is None:
        what = "has no readable _plan.json" if path.is_dir() else "is not a folder"
        raise OutputError(f"{path} is not an output folder of `scorer run`: it {what}")
    summary = RunSummary.load(path)
    why = SeenOutput(path).why_unfinished()
    finished = why is None
    if summary is None or not (finished or allow_partial):
        reason = f"it has no {RUN}" if finished or allow_partial else why
        partial = "" if finished or allow_partial else ", or pass --allow-partial to audit what there is"
        raise OutputError(f"{path} is not finished: {reason}; the same `scorer run` resumes it{partial}")
    signature = summary.signature
    columns = columns_of(plan, str(path))
    signatures = OneSignature("run `scorer run` again", OutputError)
    signatures.add(str(path / RUN), signature)
    receipts = Receipts(path)
    files, rows, columns_found = [], [], dict[str, pa.Field]()
    for relative in receipts.all():
        receipt = receipts.read(relative)
        if receipt is None:
            raise OutputError(f"{path}: the receipt of {relative} is damaged; run `scorer run` again")
        found = _footer(path / relative, receipt.output)
        signatures.add_footer(str(path / relative), found.metadata)
        _check_labels(path / relative, found, columns.prefix)
        files.append(relative)
        rows.append(receipt.output.rows)
        columns_found = {field.name: field for field in found} | columns_found
    places = Places.of(files, rows, plan.inputs)
    count = int(places.starts[-1])
    if count != summary.counts.rows.all:
        raise OutputError(
            f"{path}: its files have {count:,} rows, its {RUN} says {summary.counts.rows.all:,}; run `scorer run` again"
        )
    holds = extent(plan, count, set(files), finished)
    schema = pa.schema(list(columns_found.values()))
    return Output(path, places, schema, signature, summary, plan.settings, columns, holds, snapshot)


def _check_labels(path: Path, schema: pa.Schema, prefix: str) -> None:
    """Refuse a file whose labels are missing, or not of the types that a run writes.

    Raises:
        InputError: says which column.
    """
    for name in LABELS:
        if prefix + name not in schema.names:
            raise InputError(f"{path} has no column {prefix + name!r}: some of its labels are missing")
        found, expected = schema.field(prefix + name).type, OUTPUT.field(name).type
        if _plain(found) != _plain(expected):
            raise InputError(f"{path}: column {prefix + name!r} is {found}, and a run writes {expected}")


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type without how its strings are laid out."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def _footer(path: Path, output: WrittenFile) -> pa.Schema:
    try:
        size = path.stat().st_size
    except OSError as e:
        raise OutputError(f"{path} cannot be read: {e}{_RUN_AGAIN}") from e
    if size != output.bytes:
        raise OutputError(f"{path} has another size than its receipt says{_RUN_AGAIN}")
    return schema_of(path, _RUN_AGAIN)
