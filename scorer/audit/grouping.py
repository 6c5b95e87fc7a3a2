"""Groups of rows: distinct values of columns as small numbers that both nights share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import ColumnError, UsageError
from .document import Group

MOST_GROUPS = 1000
DEFAULT = "system"
"""Groups by this column unless asked otherwise, if there is one."""

Grouping = tuple[str, ...]


def as_text(value: Any) -> str | None:
    """A value as groups are named by it: booleans as TOML writes them, bytes as hexadecimal, ``None`` for null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, bytes) else str(value)


class GroupCodes:
    """The groups of one grouping. ``()`` has one group, all rows."""

    def __init__(self, columns: Grouping) -> None:
        self.columns = columns
        self._codes: dict[tuple[str | None, ...], int] = {}
        if not columns:
            self._codes[()] = 0

    def __len__(self) -> int:
        return len(self._codes)

    def groups(self) -> list[Group]:
        """By code."""
        return [dict(zip(self.columns, values, strict=True)) for values in self._codes]

    def codes(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Codes of a window's rows. int64, *Shape:* (rows,). A column that the window lacks is null.

        Raises:
            UsageError: more than :data:`MOST_GROUPS` groups. ColumnError: a column whose values cannot name groups.
        """
        n = len(table)
        mixed, parts = np.zeros(n, np.int64), []
        for name in self.columns:
            codes, values = _column(table, name)
            parts.append(values)
            mixed = mixed * len(values) + codes
        if not self.columns:
            return mixed
        distinct, inverse = np.unique(mixed, return_inverse=True)
        if len(distinct) > MOST_GROUPS:
            self._refuse()
        ours = np.empty(len(distinct), np.int64)
        for i, code in enumerate(distinct.tolist()):
            found = []
            for values in reversed(parts):
                code, place = divmod(code, len(values))
                found.append(values[place])
            ours[i] = self._codes.setdefault(tuple(reversed(found)), len(self._codes))
        if len(self._codes) > MOST_GROUPS:
            self._refuse()
        return ours[inverse.reshape(-1)]

    def _refuse(self) -> None:
        raise UsageError(
            f"{', '.join(self.columns)} makes more than {MOST_GROUPS} groups; group by columns of fewer values"
        )


def _column(table: pa.Table, name: str) -> tuple[npt.NDArray[np.int64], list[str | None]]:
    if name not in table.schema.names:
        return np.zeros(len(table), np.int64), [None]
    column = table[name].combine_chunks()
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {name!r} is {column.type} and cannot group rows; name one of single values")
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    if pa.types.is_string(encoded.dictionary.type) or pa.types.is_large_string(encoded.dictionary.type):
        raw = encoded.dictionary.cast(pa.large_binary()).to_pylist()
        values = [None if value is None else value.decode(errors="replace") for value in raw]
    else:
        values = [as_text(value) for value in encoded.dictionary.to_pylist()]
    return codes, [*values, None]
