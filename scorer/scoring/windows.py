"""What a run hands to a row scorer and gets back: windows of rows, in the order of the shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from ..errors import ScorerError
from ..metric.facts import Rows
from ..metric.inputs import InvalidRows as InvalidRows
from ..storage.counts import Counts

WINDOW_ROWS = 16384
WINDOW_BYTES = 32 << 20
"""The largest window by default: rows, and bytes of their columns as they stand in memory."""
FIRST_ROWS = (1024, 4096)
"""Rows of the first windows of a run's shard or piece, if windows may have more: a device begins once the first is
prepared."""


class ShardColumns(Protocol):
    """The columns of one schema, as a row scorer found them."""

    @property
    def needed(self) -> Sequence[str]:
        """The columns to read, each once."""
        ...

    @property
    def keeps_all(self) -> bool:
        """Whether the output has all columns of the input."""
        ...

    @property
    def shape(self) -> Mapping[str, object]:
        """What the output's columns depend on besides the signature, in the types of JSON; part of the fingerprint."""
        ...

    def invalid_rows(self, table: pa.Table) -> InvalidRows | None:
        """The rows of a table that get no label, and why the first does not; ``None`` if there are none."""
        ...


class RowColumns(ShardColumns, Protocol):
    """Columns that give the facts and a text of each row, which is what the metric scores."""

    @property
    def passed(self) -> Sequence[str]:
        """The columns that the output keeps."""
        ...

    def rows(self, table: pa.Table) -> Rows:
        """Parse a window."""
        ...


Tag = TypeVar("Tag")
Columns = TypeVar("Columns", bound=ShardColumns)
TextColumns = TypeVar("TextColumns", bound=RowColumns)


@dataclass(frozen=True)
class Window(Generic[Tag, Columns]):
    """Rows to score together. ``tag``: says to the caller whose they are."""

    tag: Tag
    table: pa.Table
    columns: Columns


class Mark:
    """What keeps its place among the windows and is passed on as it is, such as the end of a shard."""


@dataclass(frozen=True)
class FailedWindow(Generic[Tag]):
    """A window that cannot be scored for what is in it; its shard is quarantined with the error."""

    tag: Tag
    error: ScorerError


@dataclass(frozen=True)
class ScoredWindow(Generic[Tag]):
    """What became of a :class:`Window`: its table with the output columns, and its counts."""

    tag: Tag
    table: pa.Table
    counts: Counts
