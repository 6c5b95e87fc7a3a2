"""Progress of a run: a bar on a terminal, plain lines elsewhere; always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ...errors import without_user_info
from ...system.display import visible
from .console import make_console
from .figures import duration
from .output import is_quiet, say

_FIRST = 10.0
"""Seconds until the first plain line of progress."""
_EVERY = 60.0
"""Seconds between plain lines of progress."""


class PlainReporter:
    """Lines for a log file: the start, failed shards, and the progress every minute with an estimate of the rest."""

    def __init__(self) -> None:
        self.done = 0.0
        """Rows that are scored, and those that the work on others amounts to."""
        self._total = 0
        self._began = time.monotonic()
        self._next = self._began + _FIRST

    def started(self, shards: int, rows: int, skipped: int) -> None:
        self._total = rows
        self._began = time.monotonic()  # the scorer is open by now, and the inputs were looked at
        self._next = self._began + _FIRST
        done = f", {skipped} already done" if skipped else ""
        self.say(f"{shards} shard{'' if shards == 1 else 's'}{done}; {rows:,} rows to score")

    def progress(self, rows: float, pairs: int) -> None:
        self.done = min(rows, self._total)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            self.tell_progress(self._line(pairs, now - self._began))

    def _line(self, pairs: int, seconds: float) -> str:
        text, rest = f"{int(self.done):,} of {self._total:,} rows", ""
        if self.done:
            rest = f", about {duration(seconds * (self._total - self.done) / self.done)} left"
        return f"{text}, {pairs:,} pairs computed, {pairs / seconds:,.0f} pairs/s{rest}"

    def tell_progress(self, line: str) -> None:
        """Print a line of progress."""
        self.say(line)

    def shard_failed(self, relative: str, reason: str) -> None:
        self.say(f"quarantined {relative}: {reason}")

    def say(self, message: str) -> None:
        say(message)


class BarReporter(PlainReporter):
    """A bar that counts rows, and moves with the pairs that are computed."""

    def __init__(self, bar: Progress) -> None:
        super().__init__()
        self._bar = bar
        self._task = bar.add_task("scoring", total=None, pairs=0)

    def started(self, shards: int, rows: int, skipped: int) -> None:
        super().started(shards, rows, skipped)
        self._bar.update(self._task, total=rows)

    def progress(self, rows: float, pairs: int) -> None:
        super().progress(rows, pairs)
        self._bar.update(self._task, completed=self.done, pairs=pairs)

    def tell_progress(self, line: str) -> None:
        """Nothing: the bar shows it."""

    def say(self, message: str) -> None:
        self._bar.console.print(visible(without_user_info(message)))


@contextmanager
def make_reporter() -> Iterator[PlainReporter]:
    """A reporter for stderr: a bar on a terminal, plain lines otherwise or with ``--quiet``."""
    if is_quiet() or not sys.stderr.isatty():
        yield PlainReporter()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows, {task.fields[pairs]:,} pairs"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=make_console(stderr=True), transient=True) as bar:
        yield BarReporter(bar)
