"""What a run is asked to do, who is told of its progress, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..scoring.summary import RunSummary
from ..scoring.windows import WINDOW_BYTES, WINDOW_ROWS
from ..storage.location import Location
from ..system.input_formats import Format


@dataclass(frozen=True)
class RunOptions:
    """What a run is asked to do, whatever scores the rows.

    ``limit``: score only the first rows, in the order of paths. ``part``: (k, n) scores the shards of part k of n,
    while other processes score the other parts; a limit is that of all parts together. ``max_error_rate``: share of
    error rows above which the run exits 3. ``window_rows``, ``window_bytes``: the largest window. ``reuse``:
    earlier outputs whose labels are taken over where rows and signature are the same. ``prune``: outputs whose
    input is gone may be removed, and outputs may be replaced by fewer rows; without it, both are refused. ``form``: the
    format of the inputs; ``delimiter``: of CSV and TSV. ``rescore``: labels may be replaced because the bundle, the
    templates or an option changed.
    ``split_rows``: divide Parquet shards of more rows into pieces along their row groups.
    """

    inputs: tuple[str, ...]
    out: Location
    limit: int | None = None
    part: tuple[int, int] | None = None
    max_error_rate: float = 0.001
    window_rows: int = WINDOW_ROWS
    window_bytes: int = WINDOW_BYTES
    reuse: tuple[Location, ...] = ()
    prune: bool = False
    form: Format = "auto"
    delimiter: str | None = None
    rescore: bool = False
    split_rows: int | None = None


class Listener(Protocol):
    """Told of the work; shows it or not."""

    def progress(self, shard: str, rows: int, pairs: int, partial: float = 0.0) -> None:
        """``rows``: of a window that was scored, 0 while one is computed. ``pairs``: computed so far. ``partial``: how
        many rows of the window that is computed now its work so far amounts to."""
        ...

    def say(self, message: str) -> None: ...


class Reporter(Listener, Protocol):
    """Told of the run too."""

    def started(self, shards: int, rows: int, skipped: int) -> None: ...

    def shard_done(self, shard: str, rows: int) -> None: ...

    def shard_failed(self, shard: str, reason: str) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """How a run ended. ``summary``: of ``_run.json``. ``exit_code``: 0, or 3 for the ``reason``."""

    summary: RunSummary
    exit_code: int
    reason: str = ""
