"""The rows of one audit as narrow tables of numbers in a temporary DuckDB database; no text of the data gets here.

Results do not depend on threads: they are counts, or are ordered by the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import OutputError, UsageError
from ..metric.column_paths import one_array
from ..scoring.output_columns import Names, by_value, encode_names
from .document import Group

MEMORY = "600MB"
"""Most memory that DuckDB may hold; beyond it, it writes to the temporary folder."""
MOST_THREADS = 4
"""More of them would share :data:`MEMORY` in parts too small to work with."""
AT_ONCE = 2_000_000
"""Rows that are joined or grouped at once where each may have a key of its own, which :data:`MEMORY` holds."""
MOST_GROUPS = 1000
_BATCH = 1 << 17
"""Rows that are inserted, or fetched, at once."""

Grouping = tuple[str, ...]
Ints = npt.NDArray[np.int64]


class Database:
    """A database that ends with the ``with`` block.

    Attributes:
        groups: the groups of all tables, by grouping; all rows as one group come first.

    Raises:
        OutputError: the temporary folder is full, or cannot be written.
    """

    def __init__(self, groupings: Sequence[Grouping]) -> None:
        self.groups = {grouping: GroupCodes(grouping) for grouping in dict.fromkeys([(), *groupings])}
        self._waiting: dict[str, list[pa.Table]] = {}
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": False,
        }
        with _errors(), ExitStack() as opened:
            folder = opened.enter_context(TemporaryDirectory(prefix="d2t-audit-"))
            self._connection = duckdb.connect(f"{folder}/rows.duckdb", config=settings | {"temp_directory": folder})
            self._opened = opened.pop_all()
        self.run("SET enable_progress_bar = false")  # which is written to stdout, where --json is
        threads = self.rows("SELECT current_setting('threads')")[0][0]
        self.run(f"SET threads = {min(threads, MOST_THREADS)}")

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._opened.close()

    def column(self, grouping: Grouping) -> str:
        """The column of the group codes of a grouping, ``g0`` for the first."""
        return f"g{list(self.groups).index(grouping)}"

    def run(self, statement: str) -> None:
        """Execute a statement."""
        with _errors():
            self._connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query of few rows."""
        with _errors():
            return self._connection.execute(query).fetchall()

    def columns(self, query: str) -> list[Ints]:
        """The columns of a query of whole numbers. int64, *Shape:* (rows,) each."""
        with _errors():
            return [np.asarray(column, np.int64) for column in self._connection.execute(query).fetchnumpy().values()]

    def counts(self, query: str, *shape: int) -> Ints:
        """Counts by codes: a query of codes and one number each, as int64 of that shape."""
        counts = np.zeros(shape, np.int64)
        *codes, numbers = self.columns(query)
        counts[tuple(codes)] = numbers
        return counts

    def append(self, statement: str, batch: pa.Table) -> None:
        """Insert by a statement that reads the table ``batch``; small tables wait, until :meth:`flush` at the
        latest."""
        waiting = self._waiting.setdefault(statement, [])
        waiting.append(batch)
        if sum(map(len, waiting)) >= _BATCH:
            self._insert(statement)

    def _insert(self, statement: str) -> None:
        with _errors():
            self._connection.register("batch", pa.concat_tables(self._waiting.pop(statement)))
            self._connection.execute(statement)
            self._connection.unregister("batch")

    def flush(self) -> None:
        """Insert the tables that wait."""
        for statement in list(self._waiting):
            self._insert(statement)


def parts(column: str, rows: int) -> list[str]:
    """Conditions on a column of hashes that divide ``rows`` rows into parts of about :data:`AT_ONCE`."""
    count = rows // AT_ONCE + 1
    return [f"{column} % {count} = {part}" for part in range(count)]


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError) as error:
        reason = " ".join(str(error).partition("Possible solutions")[0].split())[:300]
        memory = isinstance(error, duckdb.OutOfMemoryException) and "max_temp_directory_size" not in reason
        advice = "group by fewer columns (--by)" if memory else "set TMPDIR to a folder with more room"
        raise OutputError(f"the temporary database of the audit failed: {reason}; {advice}") from error


class GroupCodes:
    """The groups of one grouping, each with the spelling of its first row. ``()`` has one group, all rows."""

    def __init__(self, columns: Grouping) -> None:
        self.columns = columns
        self._names: list[tuple[str | None, ...]] = [] if columns else [()]
        self._codes = {name: code for code, name in enumerate(self._names)}

    def __len__(self) -> int:
        return len(self._codes)

    def groups(self) -> list[Group]:
        """By code."""
        return [dict(zip(self.columns, values, strict=True)) for values in self._names]

    def codes(self, table: pa.Table) -> Ints:
        """Codes of a window's rows. int64, *Shape:* (rows,). A column that the window lacks is null.

        Raises:
            UsageError: more than :data:`MOST_GROUPS` groups.
            ColumnError: a column of lists or structs, which cannot name groups.
        """
        mixed = np.zeros(len(table), np.int64)
        null: tuple[Ints, Names] = (mixed, [None])
        names = table.schema.names
        columns = [encode_names(one_array(table, name), name) if name in names else null for name in self.columns]
        for codes, texts in columns:
            # Made dense again after each column, so that no product of sizes outgrows an integer.
            mixed = np.unique(mixed * len(texts) + codes, return_inverse=True)[1].reshape(-1)
        _, rows, inverse = np.unique(mixed, return_index=True, return_inverse=True)
        dense_codes = np.empty(len(rows), np.int64)
        for i, row in enumerate(rows.tolist()):
            values = tuple(texts[codes[row]] for codes, texts in columns)
            dense_codes[i] = self._codes.setdefault(tuple(map(by_value, values)), len(self._codes))
            self._names += [values] if len(self._codes) > len(self._names) else []
            if len(self._codes) > MOST_GROUPS:
                names_of_columns = ", ".join(self.columns)
                raise UsageError(
                    f"{names_of_columns} makes more than {MOST_GROUPS} groups; group by columns of fewer values"
                )
        return dense_codes[inverse.reshape(-1)]
