"""A scored folder or file with its gold columns, as Arrow columns and small integers; rows never become objects."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError, UsageError
from ..metric.inputs import ColumnNames
from ..scoring.signature import Signature, optional_of, parse, what_differs


@dataclass(frozen=True)
class Scored:
    """What was scored.

    ``table``: the columns that were asked for, all files one after the other. ``signature``: the same in all files,
    ``None`` when they carry none. ``finished``: whether a run came to its end here (a single file always counts).
    ``summary``: the content of ``_run.json``, empty without one.
    """

    table: pa.Table
    signature: str | None
    finished: bool
    summary: dict[str, Any]

    @property
    def omissions_checked(self) -> bool:
        """Whether the run looked for omissions at all, as far as the signature says."""
        return not self.signature or parse(self.signature).get("checks") != "hallucination"

    @property
    def optional(self) -> frozenset[str]:
        """The facts that a text need not say, as the signature names them (``eatType=restaurant``)."""
        return frozenset("=".join(pair) for pair in optional_of(self.signature or ""))

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self.table.schema.names

    def array(self, name: str) -> pa.Array:
        """A column as one array."""
        column = self.table[name].combine_chunks()
        return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column


def load(path: Path, columns: Iterable[str] | None = None) -> Scored:
    """Read a scored folder or a single scored file.

    Args:
        columns: only these, as far as they exist; all by default. A missing column is looked for by whoever needs it.

    Raises:
        InputError: nothing to read, a file that is no Parquet, files that do not fit together.
        UsageError: files of different signatures; names the first difference.
    """
    files = _files(path)
    wanted = None if columns is None else list(dict.fromkeys(columns))
    tables, signature = [], _one_signature(files)
    for file in files:
        try:
            names = pq.read_schema(file).names
            chosen = names if wanted is None else [name for name in wanted if name in names]
            tables.append(pq.ParquetFile(file).read(columns=chosen))
        except (pa.ArrowException, OSError) as e:
            raise InputError(f"{file} cannot be read as Parquet: {e}") from e
    try:
        table = pa.concat_tables(tables, promote_options="permissive").replace_schema_metadata(None)
    except pa.ArrowException as e:
        raise InputError(f"the files of {path} do not fit together: {e}; evaluate them one by one") from e
    folder = path.is_dir()
    summary = _summary(path / "_run.json") if folder else {}
    ours = folder and (path / "_plan.json").exists()
    return Scored(table, signature, not ours or (path / "_SUCCESS").exists(), summary)


def run_columns(path: Path) -> ColumnNames:
    """The column names that a run was given, as its plan records them; the default ones elsewhere."""
    plan = _summary(path / "_plan.json") if path.is_dir() else {}
    given = plan.get("settings", {}).get("columns", {}) if isinstance(plan.get("settings", {}), dict) else {}
    known = {name: given[name] for name in ("text", "triples", "mr", "prefix") if isinstance(given.get(name), str)}
    return ColumnNames(**known)


def schema_names(path: Path) -> list[str]:
    """Names of all columns of the first file."""
    try:
        return list(pq.read_schema(_files(path)[0]).names)
    except (pa.ArrowException, OSError) as e:
        raise InputError(f"{path} cannot be read as Parquet: {e}") from e


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path} does not exist; give the output folder of `scorer run`, or a scored Parquet file")
    found = []
    for file in sorted(path.rglob("*")):
        hidden = any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
        if file.is_file() and not hidden:
            found.append(file)
    if not found:
        raise InputError(f"no scored file in {path}; has `scorer run --out {path}` finished a shard?")
    return found


def _one_signature(files: list[Path]) -> str | None:
    seen: dict[Signature, Path] = {}
    for file in files:
        try:
            metadata = pq.read_schema(file).metadata or {}
        except (pa.ArrowException, OSError) as e:
            raise InputError(f"{file} cannot be read as Parquet: {e}") from e
        seen.setdefault(Signature.of_footer(metadata), file)
    if len(seen) > 1:
        (one, first), (other, second) = list(seen.items())[:2]
        raise UsageError(
            f"{first.name} and {second.name} were not scored alike ({what_differs(one, other)}); figures "
            "compare only under equal signatures: evaluate them apart"
        )
    return next(iter(seen)).line or None


def _summary(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
