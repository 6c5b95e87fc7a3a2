"""Groups of rows: distinct values of columns as small numbers that both runs share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import UsageError
from ..metric import group_values as values
from ..metric.inputs import one_array
from .document import Group

MOST_GROUPS = 1000
DEFAULT = "system"
"""Groups by this column unless asked otherwise, if there is one."""

Grouping = tuple[str, ...]


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
        return [dict(zip(self.columns, found, strict=True)) for found in self._codes]

    def codes(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Codes of a window's rows. int64, *Shape:* (rows,). A column that the window lacks is null.

        Raises:
            UsageError: more than :data:`MOST_GROUPS` groups. ColumnError: a column whose values cannot name groups.
        """
        n = len(table)
        if not self.columns:
            return np.zeros(n, np.int64)
        mixed = np.zeros(n, np.int64)
        columns = [_column(table, name) for name in self.columns]
        for codes, texts in columns:
            # Made dense again after each column, so that no product of sizes outgrows an integer.
            mixed = np.unique(mixed * len(texts) + codes, return_inverse=True)[1].reshape(-1)
        _, rows, inverse = np.unique(mixed, return_index=True, return_inverse=True)
        if len(rows) > MOST_GROUPS:
            self._refuse()
        ours = np.empty(len(rows), np.int64)
        for i, row in enumerate(rows.tolist()):
            found = tuple(texts[codes[row]] for codes, texts in columns)
            ours[i] = self._codes.setdefault(found, len(self._codes))
        if len(self._codes) > MOST_GROUPS:
            self._refuse()
        return ours[inverse.reshape(-1)]

    def _refuse(self) -> None:
        raise UsageError(
            f"{', '.join(self.columns)} makes more than {MOST_GROUPS} groups; group by columns of fewer values"
        )


def _column(table: pa.Table, name: str) -> tuple[npt.NDArray[np.int64], values.Texts]:
    if name not in table.schema.names:
        return np.zeros(len(table), np.int64), [None]
    return values.encode(one_array(table, name), name)
