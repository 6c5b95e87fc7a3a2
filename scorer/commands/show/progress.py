"""Progress of a run: a bar on a terminal, plain lines elsewhere; always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ...system.display import visible
from .console import make_console
from .output import say

_PLAIN_EVERY = 30.0
"""Seconds between plain progress lines."""


class PlainReporter:
    """Lines for a log file: the start, failed shards, and the progress every 30 seconds."""

    def __init__(self) -> None:
        self._rows = 0
        self._total = 0
        self._began = self._said = time.monotonic()

    def started(self, shards: int, rows: int, skipped: int) -> None:
        self._total = rows
        done = f", {skipped} already done" if skipped else ""
        self.say(f"{shards} shard{'' if shards == 1 else 's'}{done}; {rows:,} rows to score")

    def progress(self, shard: str, rows: int, pairs: int) -> None:
        self._rows += rows
        now = time.monotonic()
        if now - self._said >= _PLAIN_EVERY:
            self._said = now
            rate = pairs / (now - self._began)
            total = f" of {self._total:,}" if self._total else ""  # a worker that joins does not know how many
            self.say(f"{self._rows:,}{total} rows, {pairs:,} pairs computed, {rate:,.0f} pairs/s")

    def shard_done(self, shard: str, rows: int) -> None:
        pass

    def shard_failed(self, shard: str, reason: str) -> None:
        self.say(f"set aside {shard}: {reason}")

    def say(self, message: str) -> None:
        say(message)


class BarReporter(PlainReporter):
    """A bar that counts rows."""

    def __init__(self, bar: Progress) -> None:
        super().__init__()
        self._bar = bar
        self._task = bar.add_task("scoring", total=None, pairs=0)

    def started(self, shards: int, rows: int, skipped: int) -> None:
        super().started(shards, rows, skipped)
        self._bar.update(self._task, total=rows)

    def progress(self, shard: str, rows: int, pairs: int) -> None:
        self._bar.update(self._task, advance=rows, pairs=pairs)

    def say(self, message: str) -> None:
        self._bar.console.print(visible(message))


@contextmanager
def make_reporter() -> Iterator[PlainReporter]:
    """A reporter for stderr: a bar on a terminal, plain lines otherwise."""
    if not sys.stderr.isatty():
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
