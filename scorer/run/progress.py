"""Who is told of a run while it works, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from .messages import Progress


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


@dataclass
class WorkerProgress:
    """How far one worker is. ``last``: its last message. ``finished``: rows of the shards that it has finished."""

    last: Progress = field(default_factory=Progress)
    finished: int = 0

    @property
    def unfinished(self) -> float:
        """Rows of the shards that it has begun."""
        return max(0.0, self.last.rows + self.last.partial - self.finished)


class RunProgress:
    """Adds up the workers of a run; rows of a worker that ended count no more, unless their shard was finished."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._workers: dict[object, WorkerProgress] = {}
        self._rows = self._pairs = 0

    def update(self, worker: object, found: Progress) -> None:
        """Take in what a worker sent."""
        self._workers.setdefault(worker, WorkerProgress()).last = found
        self._show()

    def shard_done(self, worker: object, rows: int) -> None:
        """A worker finished a shard of so many rows."""
        self._rows += rows
        self._workers.setdefault(worker, WorkerProgress()).finished += rows
        self._show()

    def ended(self, worker: object) -> None:
        """A worker ended."""
        if (found := self._workers.pop(worker, None)) is not None:
            self._pairs += found.last.pairs

    def _show(self) -> None:
        workers = self._workers.values()
        rows = self._rows + sum(one.unfinished for one in workers)
        self._reporter.progress(rows, self._pairs + sum(one.last.pairs for one in workers))
