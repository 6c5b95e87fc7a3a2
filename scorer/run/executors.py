"""Options of a run, and executors: who scores its shards.

These are worker processes (:mod:`.processes`), actors of a cluster (:mod:`.ray`), or this process (:mod:`.inline`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..scoring.settings import Settings
from ..storage.location import Location
from ..storage.plan import Plan
from ..storage.shards import WINDOW_BYTES, WINDOW_ROWS, InputFile, Shard
from ..system.files import Format
from ..system.waiting import Closing
from .messages import Begin, FirstRows, FooterRead, Inspect, Open, ReuseLoaded, ShardResult, WorkerInfo

Result = ShardResult | ReuseLoaded
_SAMPLED_SHARDS = 8


@dataclass(frozen=True)
class RunOptions:
    """Options of a run.

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


class Reporter(Protocol):
    """Told of a run; shows it or not."""

    def started(self, shards: int, rows: int, skipped: int) -> None:
        """``shards``: all, of which ``skipped`` are done already. ``rows``: to score."""
        ...

    def progress(self, rows: float, pairs: int) -> None:
        """Rows scored and pairs computed so far."""
        ...

    def shard_failed(self, relative: str, reason: str) -> None: ...

    def say(self, message: str) -> None:
        """A line for people."""
        ...


@dataclass(frozen=True)
class Job:
    """How a scorer is set up, and what a run is asked to do."""

    settings: Settings
    options: RunOptions

    def inspect(self, files: Sequence[InputFile], found: int = 0) -> Inspect:
        """The request to read footers. ``found``: rows of the files before them, which count for the limit."""
        limit = self.options.limit
        return Inspect(
            files=list(files),
            settings=self.settings.to_plan(),
            split_rows=self.options.split_rows,
            limit=None if limit is None else max(0, limit - found),
            first_rows=self.options.max_error_rate < 1,
        )

    def open(self, settings: Settings, plan: Plan | None, shards: Sequence[Shard], cpus: Sequence[int] = ()) -> Open:
        """The request to open the scorer."""
        return Open(
            settings=settings.to_plan(),
            plan=plan,
            shards=list(shards),
            cpus=list(cpus),
            reuse=[str(one.absolute()) if isinstance(one, Path) else str(one) for one in self.options.reuse],
            max_error_rate=self.options.max_error_rate,
        )


@dataclass
class Inspected:
    """The inputs of a run. ``shards``: in the order of their files. ``unreadable``: by path of the output, why a file
    cannot be scored. ``first_rows``: names of the files whose first rows were looked at."""

    shards: list[Shard] = field(default_factory=list)
    unreadable: dict[str, tuple[InputFile, FooterRead]] = field(default_factory=dict)
    first_rows: list[tuple[str, FirstRows]] = field(default_factory=list)

    def add(self, file: InputFile, footer: FooterRead) -> None:
        """Take in what was found of the next file."""
        self.shards += footer.shards
        if footer.error:
            self.unreadable[file.relative] = file, footer
        if footer.first_rows is not None:
            self.first_rows.append((file.name, footer.first_rows))

    @property
    def rows(self) -> int:
        """Rows of the shards so far."""
        return sum(shard.rows for shard in self.shards)

    @property
    def sample(self) -> list[Shard]:
        """A few shards, spread evenly, whose first rows are looked at where something must be measured."""
        return self.shards[:: max(1, len(self.shards) // _SAMPLED_SHARDS)][:_SAMPLED_SHARDS]


class Executor(Closing):
    """Scores shards. Entered and used in one thread; :meth:`inspect`, :meth:`open`, :meth:`score` are called once each,
    in this order."""

    job: Job

    @abstractmethod
    def inspect(self, files: Sequence[InputFile]) -> Inspected:
        """Read footers and find columns; a file that cannot be scored costs nothing but itself."""

    @abstractmethod
    def open(self, plan: Plan | None, shards: Sequence[Shard]) -> WorkerInfo:
        """Open the scorer, and find out what must be known before the plan is made.

        Args:
            plan: an earlier one, if there is one; see :class:`.messages.Open`.
            shards: a few, whose first rows are looked at where something must be measured.

        Raises:
            ScorerError: it cannot be opened here.
        """

    @abstractmethod
    def score(self, shards: Sequence[Shard], begin: Begin, temporary: Callable[[str], Path]) -> Iterator[Result]:
        """Score shards, in any order.

        Args:
            temporary: a new name for the output of a shard to be written under.

        Raises:
            ScorerError: the run cannot go on.
        """
