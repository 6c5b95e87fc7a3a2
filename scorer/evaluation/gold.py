"""A scored folder or file with its gold columns, as Arrow columns and small integers; rows never become objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ..errors import InputError
from ..metric.inputs import holders_of, one_array
from ..scoring.output_files import OneSignature, data_files, guarded, open_parquet, schema_of
from ..scoring.partitions import partition_keys, with_partition_keys
from ..scoring.signature import optional_of, parse
from ..scoring.summary import RunSummary
from ..storage import SeenOutput
from ..storage.plan import PLAN


@dataclass(frozen=True)
class Scored:
    """A scored folder or file.

    ``table``: the columns that were asked for, all files concatenated. ``signature``: the same in all files, ``None``
    if they have none. ``finished``: whether the run is complete (always true for a single file). ``summary``: its
    ``_run.json``, ``None`` if there is none.
    """

    table: pa.Table
    signature: str | None
    finished: bool
    summary: RunSummary | None

    @property
    def omissions_checked(self) -> bool:
        """Whether the run checked for omissions, according to its signature."""
        return not self.signature or parse(self.signature).get("checks") != "hallucination"

    @property
    def optional(self) -> frozenset[str]:
        """The optional facts, as the signature lists them (``eatType=restaurant``)."""
        return frozenset("=".join(pair) for pair in optional_of(self.signature or ""))

    def has(self, name: str) -> bool:
        """Whether the table has this column, or a field of a struct of this name with dots."""
        return bool(holders_of(self.table.schema, name))

    def array(self, name: str) -> pa.Array:
        """A column as one array."""
        return one_array(self.table, name)


def load(path: Path, columns: Iterable[str] | None = None) -> Scored:
    """Read a scored folder or a single scored file.

    Args:
        columns: read only those of these columns that exist; all columns by default. A missing column is not an error
        here: the code that needs it reports it.

    Raises:
        InputError: nothing to read, a file that is not Parquet, files of different columns.
        UsageError: files of different signatures; the message names the first difference.
    """
    files = data_files(path)
    wanted = None if columns is None else list(dict.fromkeys(columns))
    signatures = OneSignature("figures compare only under equal signatures: evaluate them apart")
    for file in files:  # all signatures are compared before any data is read
        signatures.add_footer(file.name, schema_of(file).metadata)
    tables = []
    for file in files:
        with open_parquet(file) as parquet:
            schema = parquet.schema_arrow
            holders = [holder for name in wanted or () for holder in holders_of(schema, name)]
            chosen = schema.names if wanted is None else list(dict.fromkeys(holders))
            read = guarded(file, parquet.read, columns=chosen)
            relative = file.relative_to(path).as_posix() if path.is_dir() else file.name
            keys = partition_keys(relative) if wanted is None else wanted
            tables.append(with_partition_keys(read, relative, [key for key in keys if key not in schema.names]))
    try:
        table = pa.concat_tables(tables, promote_options="permissive").replace_schema_metadata(None)
    except pa.ArrowException as e:
        raise InputError(f"the files of {path} have different columns: {e}; evaluate them one at a time") from e
    folder = path.is_dir()
    ours = folder and (path / PLAN).exists()
    finished = not ours or SeenOutput(path).is_finished
    return Scored(table, signatures.signature.line or None, finished, RunSummary.load(path) if folder else None)


def schema_names(path: Path) -> list[str]:
    """Names of all columns of the first file, and of the partition keys of its path."""
    first = data_files(path)[0]
    keys = partition_keys(first.relative_to(path).as_posix()) if path.is_dir() else ()
    return list(dict.fromkeys([*schema_of(first).names, *keys]))
