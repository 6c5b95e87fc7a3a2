"""What a run is asked to do, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from ..scoring.summary import RunSummary
from ..storage.location import Location
from ..storage.shards import WINDOW_BYTES, WINDOW_ROWS
from ..system.input_formats import Format


@dataclass(frozen=True)
class RunOptions:
    """What a run is asked to do.

    ``limit``: score only the first rows, in the order of paths. ``part``: (k, n) scores the shards of part k of n; a
    limit is that of all parts together. ``max_error_rate``: share of rows with errors above which the run exits 3.
    ``window_rows``, ``window_bytes``: the largest window. ``reuse``: earlier outputs whose labels are taken over where
    rows and signature are the same. ``form``: the format of the inputs; ``delimiter``: of CSV and TSV. ``rescore``:
    labels may be replaced because the bundle, the templates, an option or the division into row ranges changed, and
    outputs by shorter ones. ``allow_stale``: keep outputs whose input is gone. ``split_rows``: make a shard of
    each range of row groups with at most so many rows.
    """

    inputs: tuple[str, ...]
    out: Location
    limit: int | None = None
    part: tuple[int, int] | None = None
    max_error_rate: float = 0.001
    window_rows: int = WINDOW_ROWS
    window_bytes: int = WINDOW_BYTES
    reuse: tuple[Location, ...] = ()
    form: Format = "auto"
    delimiter: str | None = None
    rescore: bool = False
    allow_stale: bool = False
    split_rows: int | None = None


@dataclass(frozen=True)
class Outcome:
    """How a run ended. ``summary``: of ``_run.json``. ``exit_code``: 0, or 3 for the ``reason``."""

    summary: RunSummary
    exit_code: int
    reason: str = ""
