"""Delta tables as inputs: the data files that a version of the table has, and no others.

The folder of a Delta table also holds files of earlier versions, which a reader of Parquet would take for data. Which
files a version has is in ``_delta_log``; the package ``deltalake`` (extra ``delta``) reads it. Files of a table are
never changed once they are written, so what a version has can be read while others write to the table.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, UsageError
from .listing import DELTA_LOG, is_hidden

_PINNED = re.compile(r"(.+)@v([0-9]{1,18})", re.DOTALL)
_READABLE = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
"""Features of tables that do not change which rows a data file has, and how its columns are named."""


@dataclass(frozen=True)
class Snapshot:
    """A version of a table: the relative paths of its data files, sorted."""

    version: int
    files: tuple[str, ...]


def is_table(path: str) -> bool:
    """Whether a local folder is a Delta table."""
    return Path(path, DELTA_LOG).is_dir()


def pinned(given: str) -> tuple[str, int] | None:
    """The path and the version of ``PATH@v12``; ``None`` if it is not of this form."""
    match = _PINNED.fullmatch(given)
    return (match[1], int(match[2])) if match is not None else None


def snapshot(path: str, version: int | None) -> Snapshot:
    """A version of the table in a local folder, by default the latest.

    Raises:
        UsageError: the package is not installed.
        InputError: there is no such version, the table cannot be read, or its data files alone do not say what its
            rows are.
    """
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        raise UsageError(
            f"{path} is a Delta table, which needs the extra delta: pip install 'd2t-scorer[delta]'"
        ) from error
    asked = "" if version is None else f" at version {version}"
    place = os.path.realpath(path)  # the package resolves links and ".." in the names of its files
    try:
        table = DeltaTable(place, version=version)
        _refuse_features(path, table)
        uris = table.file_uris()
    except (DeltaError, OSError, ValueError) as error:
        raise InputError(f"the Delta table {path} cannot be read{asked}: {' '.join(str(error).split())}") from error
    return Snapshot(table.version(), tuple(sorted(_relative(place, uri) for uri in uris)))


def _refuse_features(path: str, table: Any) -> None:
    """Refuse a table of which a data file has rows that were deleted, or columns of other names."""
    protocol, settings = table.protocol(), table.metadata().configuration
    found = sorted(set(protocol.reader_features or ()) - _READABLE)
    if protocol.min_reader_version == 2 and settings.get("delta.columnMapping.mode", "none") != "none":
        found.append("columnMapping")
    if found:
        raise InputError(
            f"the Delta table {path} has the feature {found[0]}, with which its data files cannot be read as they are; "
            "write its rows to a folder of Parquet files, or to a table without it"
        )


def _relative(path: str, uri: str) -> str:
    """The path of a data file below its table."""
    file = Path(uri.removeprefix("file://"))
    if not file.is_relative_to(path):
        raise InputError(f"the Delta table {path} has a data file outside of its folder: {uri}; copy the table")
    relative = file.relative_to(path).as_posix()
    if any(is_hidden(part) for part in relative.split("/")):
        raise InputError(f"the Delta table {path} has a data file whose name is hidden: {relative}; copy the table")
    return relative
