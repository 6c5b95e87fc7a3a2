"""Progress of a run on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..errors import count_of, without_user_info
from ..system.terminal import visible
from .console import Lines, duration, make_console, say

_FIRST, _EVERY = 10.0, 60.0
"""Seconds until the first plain line of progress, and between two of them."""


class PlainReporter:
    """Lines for a log file: the start, failed shards, and the progress every minute with an estimate of the rest."""

    _total = 0
    _began = _next = 0.0

    def started(self, shards: int, rows: int, skipped: int) -> None:
        self._total = rows
        self._began = time.monotonic()  # the scorer is open by now, and the inputs were looked at
        self._next = self._began + _FIRST
        done = f", {skipped} already done" if skipped else ""
        self.say(f"{count_of(shards, 'shard')}{done}; {count_of(rows, 'row')} to score")

    def progress(self, rows: float, pairs: int) -> None:
        now = time.monotonic()
        if not self._total or now < self._next:
            return
        self._next, seconds, done = now + _EVERY, now - self._began, min(rows, self._total)
        rest = f", about {duration(seconds * (self._total - done) / done)} left" if done else ""
        rate = f"{pairs:,} pairs computed, {pairs / seconds:,.0f} pairs/s"
        self.say(f"{int(done):,} of {self._total:,} rows, {rate}{rest}")

    def shard_failed(self, relative: str, reason: str) -> None:
        self.say(f"quarantined {relative}: {reason}")

    def say(self, message: str) -> None:
        say(message)


class BarReporter(PlainReporter):
    """A bar that counts rows, and moves with the pairs that are computed."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("scoring", total=None, pairs=0)

    def started(self, shards: int, rows: int, skipped: int) -> None:
        super().started(shards, rows, skipped)
        self._bar.update(self._task, total=rows)

    def progress(self, rows: float, pairs: int) -> None:
        self._bar.update(self._task, completed=min(rows, self._total), pairs=pairs)

    def say(self, message: str) -> None:
        self._bar.console.print(visible(without_user_info(message)))


@contextmanager
def make_reporter() -> Iterator[PlainReporter]:
    """A reporter for stderr: a bar on a terminal, otherwise, with ``--quiet`` and in a notebook plain lines.

    A command that a notebook calls has a terminal that keeps every state of a bar as a line.
    """
    if Lines.quiet or not sys.stderr.isatty() or _in_notebook():
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


def _in_notebook() -> bool:
    """True if a kernel of Jupyter, or of an editor, has started this process; both set variables."""
    return "JPY_PARENT_PID" in os.environ or "inline" in os.environ.get("MPLBACKEND", "")
