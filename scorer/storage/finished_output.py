"""Finished outputs, opened for reading: the output of a run, the parts of one, or scored files, read as one.

Of a run's output, the files are those that the plan names and a receipt describes, in the order of their paths,
whichever part they are in: rows have the same order, and so the same numbers, as in the output of an undivided run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError, OutputError, ScorerError, UsageError
from ..system.waiting import outcome
from .output_folder import OutputFolder
from .parts import (
    Coverage,
    check_parts,
    find_outputs,
    in_words,
    signature_changes,
    signature_of_footer,
    signature_of_plan,
)
from .plan import PLAN, RUN, SUCCESS, Plan
from .receipts import RECEIPTS, is_output
from .store import LocalStore

WINDOW_ROWS = 1 << 16
_RUN_AGAIN = "; run `scorer run` again to replace it"
_ROW_RANGE = re.compile(r"(?<=\.parquet)/part-[0-9]{5,}\.parquet$")
_NULL_KEY = "__HIVE_DEFAULT_PARTITION__"
T = TypeVar("T")


@dataclass(frozen=True)
class OutputFile:
    """A file of scored rows. ``out``: the output that it is in; ``relative``: its path there, with slashes."""

    out: Path
    relative: str
    rows: int

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.out / self.relative if self.relative else self.out


@dataclass(frozen=True)
class OutputWindow:
    """Rows of one file. ``first``: the number of its first row in the whole output. ``table``: the columns asked for;
    one that this file lacks is missing."""

    first: int
    table: pa.Table


@dataclass(frozen=True)
class FinishedOutput:
    """A finished output, read as one.

    ``name``: the paths as they were given, in words. ``outs``: the folders or files that it is made of. ``files``: its
    files; ``schemas``: of each. ``signature_line``, ``signature_whole``: of all files; see :func:`signature_of_footer`.
    ``plans``, ``runs``: of each folder of a run, and the content of its ``_run.json``. ``versions``: of the files that
    count, by output, before anything was read.
    """

    name: str
    outs: tuple[Path, ...]
    files: tuple[OutputFile, ...]
    schemas: tuple[pa.Schema, ...]
    signature_line: str
    signature_whole: str
    plans: tuple[Plan, ...]
    runs: tuple[bytes, ...]
    coverage: Coverage
    versions: Mapping[Path, Mapping[str, str]]

    @classmethod
    def open(cls, *outs: Path, allow_partial: bool = False) -> Self:
        """Open outputs.

        Args:
            outs: the output of a run, its parts or the folder above them; or a scored file, or a folder of them.
            allow_partial: also outputs that are not finished, and parts of which some are missing.

        Raises:
            InputError: nothing there, or a file cannot be read. OutputError: not finished, not what its receipts say,
            changed meanwhile, or not parts of one run. UsageError: scored files of different signatures.
        """
        places = [place for place in find_outputs(outs) if isinstance(place, Path)]
        if not any((place / PLAN).exists() for place in places):
            if len(places) > 1:
                check_parts({str(place): None for place in places})
            return cls._open_files(places[0])
        name = in_words(outs)
        folders = [_RunFolder(place, allow_partial) for place in dict.fromkeys(places)]
        missing_parts = check_parts({str(folder.path): folder.plan for folder in folders}, allow_partial)
        found = sorted((file for folder in folders for file in folder.files), key=lambda file: file.relative)
        if twice := [one.relative for one, other in pairwise(found) if one.relative == other.relative]:
            raise OutputError(f"{twice[0]} is in two of the outputs {in_words(places)}; name the parts of one run")
        schemas = {file.path: schema for folder in folders for file, schema in folder.files.items()}
        signatures = [(str(folder.path / PLAN), signature_of_plan(folder.plan)) for folder in folders]
        signatures += [(str(path), signature_of_footer(schema.metadata)) for path, schema in schemas.items()]
        line, whole = _one_signature(signatures, "run `scorer run` again", OutputError)
        return cls(
            name=name,
            outs=tuple(folder.path for folder in folders),
            files=tuple(found),
            schemas=tuple(schemas[file.path] for file in found),
            signature_line=line,
            signature_whole=whole,
            plans=tuple(folder.plan for folder in folders),
            runs=tuple(folder.run for folder in folders if folder.run is not None),
            coverage=_coverage(folders, missing_parts),
            versions={folder.path: folder.versions for folder in folders},
        )

    @classmethod
    def _open_files(cls, place: Path) -> Self:
        opened = [(path, *_footer(path)) for path in data_files(place)]
        files = [
            OutputFile(place, path.relative_to(place).as_posix() if path != place else "", rows)
            for path, _, rows in opened
        ]
        line, whole = _one_signature(
            [(path.name, signature_of_footer(schema.metadata)) for path, schema, _ in opened],
            "figures compare only under equal signatures: evaluate them apart",
            UsageError,
        )
        return cls(
            name=str(place),
            outs=(place,),
            files=tuple(files),
            schemas=tuple(schema for _, schema, _ in opened),
            signature_line=line,
            signature_whole=whole,
            plans=(),
            runs=(),
            coverage=Coverage(),
            versions={},
        )

    def __len__(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Number of each file's first row in the whole, and the number of all rows. int64, *Shape:* (files + 1,)."""
        return np.concatenate([[0], np.cumsum([file.rows for file in self.files])]).astype(np.int64)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that any file has; of a name in several, with the first one's type."""
        fields: dict[str, pa.Field] = {}
        for schema in self.schemas:
            fields |= {field.name: field for field in schema if field.name not in fields}
        return pa.schema(list(fields.values()))

    @property
    def settings(self) -> Mapping[str, Any]:
        """How the run was set up; empty where there is no plan."""
        return self.plans[0].settings if self.plans else {}

    @property
    def names(self) -> list[str]:
        """The names of all columns, and of the partition keys of the paths."""
        keys = (key for file in self.files for key in partition_keys(file.relative))
        return list(dict.fromkeys([*self.schema.names, *keys]))

    @property
    def hidden_keys(self) -> list[str]:
        """The partition keys of the paths that are columns of the files too, whose values are those of the files."""
        keys = dict.fromkeys(key for file in self.files for key in partition_keys(file.relative))
        return [key for key in keys if key in self.schema.names]

    def locate(self, row: int) -> tuple[str, int]:
        """Relative path of a file and the number in it, of a row of the whole."""
        number = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.files[number].relative, row - int(self.starts[number])

    def plan_of(self, row: int) -> Plan:
        """The plan that a row of the whole was scored under."""
        number = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.plans[self.outs.index(self.files[number].out)]

    def find(self, name: str, row: int) -> int | None:
        """Number in the whole, of a row of a file, or of the folder of an input that was scored in row ranges; ``None``
        where there is no such row."""
        for number, file in enumerate(self.files):
            if file.relative == name or _ROW_RANGE.sub("", file.relative) == name:
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
            while (window := outcome(waiting)) is not None:
                waiting = reader.submit(next, source, None)
                yield window

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, of all columns by default; those that no file has are left out.

        Raises:
            InputError: a file cannot be read, or a column has types in different files that do not go together.
        """
        wanted = self.names if columns is None else columns
        tables = [window.table for window in self.windows(wanted)]
        try:
            found = pa.concat_tables(tables, promote_options="permissive") if tables else self.schema.empty_table()
            return found.select([name for name in found.schema.names if tables or name in wanted])
        except pa.ArrowException as e:
            raise InputError(f"the files of {self.name} have different columns: {e}; read them one at a time") from e

    def rows(self, numbers: Sequence[int], columns: Sequence[str]) -> dict[int, pa.Table]:
        """Some rows, each as a table of one row, by number in rising order; only their row groups are read.

        Raises:
            InputError: a file cannot be read.
        """
        found: dict[int, pa.Table] = {}
        wanted = np.unique(np.asarray(numbers, np.int64))
        owners = np.searchsorted(self.starts, wanted, side="right") - 1
        for number in np.unique(owners).tolist():
            first, inside = int(self.starts[number]), wanted[owners == number] - self.starts[number]
            file = self.files[number]
            with open_parquet(file.path, self._advice) as parquet:
                start = 0
                for group in range(parquet.num_row_groups):
                    count = parquet.metadata.row_group(group).num_rows
                    here = inside[(inside >= start) & (inside < start + count)]
                    if len(here):
                        chosen = _chosen(parquet, columns)
                        table = guarded(file.path, parquet.read_row_group, group, columns=chosen, advice=self._advice)
                        few = _few(with_partition_keys(table, file.relative, self._keys(columns)), here - start)
                        found |= {first + int(row): few.slice(i, 1) for i, row in enumerate(here)}
                    start += count
        return found

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Read the output inside; a change meanwhile is reported, whatever error it caused.

        Raises:
            OutputError: it changed since it was opened; names the files.
        """
        with ExitStack() as stack:
            for path, versions in self.versions.items():
                stack.enter_context(_unchanged(path, versions))
            yield

    @property
    def _advice(self) -> str:
        return _RUN_AGAIN if self.plans else ""

    def _read(self, columns: Sequence[str]) -> Iterator[OutputWindow]:
        for file, start in zip(self.files, self.starts.tolist(), strict=False):
            with open_parquet(file.path, self._advice) as parquet:
                first, chosen = start, _chosen(parquet, columns)
                batches = parquet.iter_batches(batch_size=WINDOW_ROWS, columns=chosen)
                while (batch := guarded(file.path, next, batches, None, advice=self._advice)) is not None:
                    table = pa.Table.from_batches([batch])
                    yield OutputWindow(first, with_partition_keys(table, file.relative, self._keys(columns)))
                    first += len(batch)

    def _keys(self, wanted: Sequence[str]) -> list[str]:
        """The names among ``wanted`` that no file has as a column."""
        return [name for name in wanted if name not in self.schema.names]


class _RunFolder:
    """The folder of a run. ``files``: with their schemas. ``versions``: of the files that count, before any of them was
    read."""

    def __init__(self, path: Path, allow_partial: bool) -> None:
        self.path, self.versions = path, _versions(path)
        with _unchanged(path, self.versions):
            folder = OutputFolder(path)
            plan, self.run, self.why_unfinished = folder.read_plan(), folder.read(RUN), folder.why_unfinished()
            if plan is None:
                raise OutputError(f"{path} is not an output folder of `scorer run`: it has no readable {PLAN}")
            self.plan = plan
            if self.why_unfinished is not None and not allow_partial:
                raise OutputError(
                    f"{path} is not finished: {self.why_unfinished}; the same `scorer run` resumes it, or pass "
                    "--allow-partial to read what there is"
                )
            self.files: dict[OutputFile, pa.Schema] = {}
            for relative, receipt in folder.receipts().items():
                if isinstance(receipt, str):
                    raise OutputError(f"{path}: the receipt of {relative} is damaged; run `scorer run` again")
                if relative in plan.inputs:
                    file = OutputFile(path, relative, receipt.output.rows)
                    self.files[file] = _footer(file.path, receipt.output.bytes)[0]


def _coverage(folders: Sequence[_RunFolder], missing_parts: tuple[int, ...]) -> Coverage:
    plans = [folder.plan for folder in folders]
    done = {file.relative for folder in folders for file in folder.files}
    planned = sorted(name for plan in plans for name in plan.inputs)
    limit, rows = plans[0].limit, sum(file.rows for folder in folders for file in folder.files)
    return Coverage(
        limit=limit if limit is not None and rows >= limit else None,  # fewer rows are all that there are
        missing=tuple(name for name in planned if name not in done),
        planned=len(planned),
        missing_parts=missing_parts,
        parts=plans[0].part.count if plans[0].part is not None else 1,
        finished=all(folder.why_unfinished is None for folder in folders),
    )


def _versions(path: Path) -> dict[str, str]:
    """Versions of an output's own files and of those that have a receipt, by name."""
    files = LocalStore(path).list()
    named = [name for name in files if name in (PLAN, RUN, SUCCESS) or name.startswith(f"{RECEIPTS}/")]
    named += [name for name in files if f"{RECEIPTS}/{name}.json" in files]
    return {name: files[name].version for name in named}


@contextmanager
def _unchanged(path: Path, before: Mapping[str, str]) -> Iterator[None]:
    """See :meth:`FinishedOutput.unchanged`.

    No lock is held: a reader never blocks a run. A run removes a receipt before it replaces the output, and writes new
    totals at the end.
    """

    def refuse(cause: Exception | None) -> None:
        now = _versions(path)
        names = {name for name in {*before, *now} if before.get(name) != now.get(name)}
        if names:
            shown = in_words(sorted(names, key=lambda name: (name not in (RUN, PLAN, SUCCESS), name)))
            raise OutputError(
                f"{path} changed while it was read ({shown}): rows of two runs must not mix; wait until the run that "
                "writes there has ended, then run this again"
            ) from cause

    try:
        yield
    except Exception as error:  # a file that changed can be damaged in any way
        refuse(error)
        raise
    refuse(None)


def paths_of(given: Path | Sequence[Path]) -> tuple[Path, ...]:
    """One output, or the parts of one, as paths."""
    return (given,) if isinstance(given, Path) else tuple(given)


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
        file for file in sorted(path.rglob("*")) if file.is_file() and is_output(file.relative_to(path).as_posix())
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
            try:
                handle = pa.OSFile(str(path))
            except UnicodeError:
                handle = path.open("rb")
            file = stack.enter_context(pq.ParquetFile(stack.enter_context(handle)))
        except (OSError, pa.ArrowException) as e:
            raise InputError(f"{path} cannot be read as Parquet: {e}{advice}") from e
        yield file


def guarded(path: Path, read: Callable[..., T], *arguments: Any, advice: str = "", **more: Any) -> T:
    """Call a function that reads from an open file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return read(*arguments, **more)
    except (OSError, pa.ArrowException) as e:
        raise InputError(f"{path} cannot be read as Parquet: {e}{advice}") from e


def _footer(path: Path, size: int | None = None) -> tuple[pa.Schema, int]:
    """Schema and rows of a file, whose size a receipt may say."""
    advice = "" if size is None else _RUN_AGAIN
    try:
        found = path.stat().st_size
    except OSError as e:
        raise OutputError(f"{path} cannot be read: {e}{advice}") from e
    if size is not None and found != size:
        raise OutputError(f"{path} has another size than its receipt says{advice}")
    with open_parquet(path, advice) as file:
        return file.schema_arrow, file.metadata.num_rows


def _one_signature(
    found: Sequence[tuple[str, tuple[str, str]]], advice: str, error: type[ScorerError]
) -> tuple[str, str]:
    """The signature that all have in common, by name."""
    first, signature = found[0]
    for name, other in found[1:]:
        if differs := signature_changes(signature, other):
            raise error(f"{first} and {name} were scored differently ({differs}); {advice}")
    return signature


def _chosen(file: pq.ParquetFile, columns: Sequence[str]) -> list[str]:
    """What of ``columns`` a file has; where a nested path is not there, the whole column above it."""
    tops = set(file.schema_arrow.names)
    paths = {file.schema.column(i).path for i in range(len(file.schema))}
    found = [one if one in tops or one in paths else one.split(".")[0] for one in columns]
    return list(dict.fromkeys(one for one in found if one in tops or one in paths))


def _few(table: pa.Table, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Some rows of a table, as a copy: a slice would keep the whole row group in memory."""
    try:
        return table.take(rows)
    except pa.ArrowNotImplementedError:  # of string views
        return pa.concat_tables([table.slice(row, 1) for row in rows.tolist()]).combine_chunks()


def partition_keys(relative: str) -> dict[str, str | None]:
    """Keys and values in the path of an output file: ``country=DE/part-0.parquet`` has ``country`` with ``DE``.

    An output mirrors the paths of its inputs. The keys are not in the files, since readers of such folders (Arrow,
    DuckDB, Spark) add them from the path, and some fail when a file has them too. ``%`` escapes are decoded.
    """
    folders = _ROW_RANGE.sub("", relative).split("/")[:-1]  # the folder of an input in row ranges stands for a file
    pairs = (part.partition("=") for part in folders)
    return {unquote(key): None if value == _NULL_KEY else unquote(value) for key, sep, value in pairs if key and sep}


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
