"""Executors: what the driver asks of worker processes (:mod:`.processes`) and of this process (:mod:`.inline`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..scoring.settings import Settings
from ..storage.plan import Budgets
from ..storage.shards import InputFile, Shard
from ..system.closing import Closing
from .messages import Begin, FirstRows, FooterRead, Inspect, Open, ReuseLoaded, ShardResult, WorkerInfo
from .options import RunOptions

Result = ShardResult | ReuseLoaded
BoundOf = tuple[Mapping[str, Any], str]
"""Signature parts and provider that a bound of ``--exact`` was measured under."""


_SAMPLED_SHARDS = 8


@dataclass(frozen=True)
class Job:
    """What the workers of a run are told: how a scorer is set up, and what is asked for."""

    settings: Settings
    options: RunOptions

    def inspect(self, files: Sequence[InputFile], limit: int | None) -> Inspect:
        """The request to read footers."""
        return Inspect(
            files=list(files),
            settings=self.settings.to_plan(),
            split_rows=self.options.split_rows,
            limit=limit,
            first_rows=self.options.max_error_rate < 1,
        )

    def open(
        self, settings: Settings, budgets: Budgets, bound_of: BoundOf | None, shards: Sequence[Shard], cpus: list[int]
    ) -> Open:
        """The request to open the scorer."""
        return Open(
            settings=settings.with_absolute_paths().to_plan(),
            budgets=budgets,
            bound_of=bound_of,
            shards=list(shards),
            cpus=cpus,
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


class Executor(Closing):
    """Scores shards. Entered and used in one thread; :meth:`inspect`, :meth:`open`, :meth:`score` are called once each,
    in this order."""

    job: Job

    @abstractmethod
    def inspect(self, files: Sequence[InputFile]) -> Inspected:
        """Read footers and find columns; a file that cannot be scored costs nothing but itself."""

    @abstractmethod
    def open(self, budgets: Budgets, bound_of: BoundOf | None, shards: Sequence[Shard]) -> WorkerInfo:
        """Open the scorer, and find out what must be known before the plan is made.

        Args:
            budgets: of an earlier plan, if there is one; ``bound_of``: see :class:`.messages.Open`.
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


def sample_shards(shards: Sequence[Shard]) -> list[Shard]:
    """A few shards, spread evenly over a run, whose first rows are looked at where something must be measured."""
    return list(shards[:: max(1, len(shards) // _SAMPLED_SHARDS)][:_SAMPLED_SHARDS])
