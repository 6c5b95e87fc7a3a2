"""A scored folder or file with its gold columns, as Arrow columns and small integers; rows never become objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from ..metric.inputs import one_array
from ..metric.paths import holders_of
from ..scoring.outputs import Output
from ..scoring.signature import optional_of, parse
from ..scoring.summary import RunSummary


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


def load(output: Output, columns: Iterable[str] | None = None) -> Scored:
    """Read a scored output.

    Args:
        columns: read only those of these columns that exist; all columns by default. A missing column is not an error
        here: the code that needs it reports it.

    Raises:
        InputError: a file cannot be read, files of different columns.
    """
    wanted = None
    if columns is not None:
        found = [holder for name in dict.fromkeys(columns) for holder in holders_of(output.schema, name) or [name]]
        wanted = list(dict.fromkeys(found))
    return Scored(
        output.table(wanted),
        output.signature or None,
        output.coverage.is_complete,
        output.summary if output.runs and len(output.runs) == len(output.outs) else None,
    )
