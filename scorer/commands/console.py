"""Output of commands: messages and progress on stderr, results on stdout, without hidden characters.

rich is imported by the functions that lay out, since most commands end without a table.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from ..errors import count_of, without_user_info
from ..system import numbers
from ..system.terminal import all_visible, json_visible, visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.progress import Progress
    from rich.segment import Segment
    from rich.table import Table

Result = TypeVar("Result")
MISSING = "-"
"""Text for ``None``, in every function here."""
INTERVAL = "95% interval"
"""The header of every column of intervals."""
WHOLE = 100_000
"""Columns of a console that neither cuts nor wraps: that of a pipe or a file, and of tables of figures."""
_FIRST, _EVERY = 10.0, 60.0
"""Seconds until the first plain line of progress, and between two of them."""


class Lines:
    """State of the messages of this process."""

    quiet = False
    """Whether they are left out."""
    verbose = False
    """Whether unexpected errors have a traceback."""
    printed: set[str] = set()  # noqa: RUF012  (state of the process)
    """Messages that :func:`say_once` has printed in this command."""


def say(message: str, *, always: bool = False) -> None:
    """Print a message on stderr; ``always``: also with ``--quiet``, for the end of a command for instance."""
    if always or not Lines.quiet:
        typer.echo(visible(without_user_info(message)), err=True)


def say_once(message: str) -> None:
    """Print a line on stderr, once per command."""
    if message not in Lines.printed:
        Lines.printed.add(message)
        say(message)


def print_line(message: str) -> None:
    """Print one line of the result on stdout."""
    typer.echo(visible(message))


def print_json(value: Any) -> None:
    """Print a value, which may be or hold structs and data classes, as JSON on stdout, hidden characters escaped."""
    import json

    from msgspec import to_builtins

    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    text = json.dumps(value, indent=1, ensure_ascii=encoding != "utf8", default=to_builtins)
    typer.echo(json_visible(text))


def print_result(
    result: Result, as_json: bool, show: Callable[[Console, Result], None], *, least_width: int = 0
) -> None:
    """Print a result on stdout: as JSON, or as ``show`` prints it, which gets it without hidden characters."""
    if as_json:
        print_json(result)
    else:
        show(make_console(least_width=least_width), all_visible(result))


def make_console(*, stderr: bool = False, least_width: int = 0) -> Console:
    """A console as wide as the terminal, at least ``least_width`` columns; markup and emoji codes stay text.

    A pipe or a file gets whole lines, whatever COLUMNS says. A terminal itself wraps lines that are wider than it is.

    Callers make data visible before they lay it out, so that columns stay straight; this covers what was missed.
    """
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                # The control codes of rich itself are marked as such.
                yield segment if segment.control else Segment(visible(segment.text, lines=True), segment.style)

    console = SafeConsole(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
    console.width = max(console.width, least_width) if console.file.isatty() else WHOLE
    return console


@dataclass(eq=False)
class RunReporter:
    """Progress of a run on stderr: a bar that counts rows and moves with the pairs that are computed; without one,
    lines for a log file, every minute with an estimate of the rest."""

    say: Callable[[str], None] = say
    """Prints a line."""
    bar: Progress | None = None
    """The bar; ``None`` for lines."""
    total: int = 0
    """Rows to score."""
    began: float = 0.0
    """Time of the start, in seconds on a monotonic clock."""
    next: float = 0.0
    """Time of the next line on the same clock."""

    def started(self, shards: int, rows: int, skipped: int) -> None:
        self.total = rows
        self.began = time.monotonic()  # the scorer is open by now, and the inputs were looked at
        self.next = self.began + _FIRST
        done = f", {skipped} already done" if skipped else ""
        self.say(f"{count_of(shards, 'shard')}{done}; {count_of(rows, 'row')} to score")
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], total=rows)

    def progress(self, rows: float, pairs: int) -> None:
        now, done = time.monotonic(), min(rows, self.total)
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=done, pairs=pairs)
        elif self.total and now >= self.next:
            self.next, seconds = now + _EVERY, now - self.began
            time_left = f", about {duration(seconds * (self.total - done) / done)} left" if done else ""
            rate = f"{pairs:,} pairs computed, {pairs / seconds:,.0f} pairs/s"
            self.say(f"{int(done):,} of {self.total:,} rows, {rate}{time_left}")

    def shard_failed(self, relative: str, reason: str) -> None:
        self.say(f"quarantined {relative}: {reason}")


@contextmanager
def make_reporter() -> Iterator[RunReporter]:
    """A reporter for stderr: a bar on a terminal, otherwise, with ``--quiet`` and in a notebook plain lines.

    A command that a notebook calls has a terminal that keeps every state of a bar as a line. Kernels of Jupyter and of
    editors set a variable each.
    """
    in_notebook = "JPY_PARENT_PID" in os.environ or "inline" in os.environ.get("MPLBACKEND", "")
    if Lines.quiet or in_notebook or not sys.stderr.isatty():
        yield RunReporter()
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("rows, {task.fields[pairs]:,} pairs"),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=make_console(stderr=True), transient=True) as bar:
        bar.add_task("scoring", total=None, pairs=0)
        yield RunReporter(lambda message: bar.console.print(visible(without_user_info(message))), bar)


def table(*headers: str, left: int = 1, names: Collection[str] = ()) -> Table:
    """An empty table.

    Args:
        left: number of first columns that hold names; names are aligned left and may wrap.
        names: headers of other columns that hold names. All others hold figures, are aligned right and never wrap.
    """
    from rich.table import Table

    grid = Table(box=None, pad_edge=False)
    for position, header in enumerate(headers):
        is_name = position < left or header in names
        grid.add_column(header, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold")
    return grid


def number(value: float | None, digits: int = 3) -> str:
    """A figure with a fixed number of decimals: ``0.864``."""
    return MISSING if value is None else f"{value:.{digits}f}"


def signed(value: float | None) -> str:
    """A correlation or a difference, with its sign: ``+0.508``."""
    return MISSING if value is None else f"{value:+.3f}"


def share(value: float | None) -> str:
    """A share from 0 to 1, in percent: ``12.3%``; see :func:`scorer.system.numbers.percent`."""
    return MISSING if value is None else numbers.percent(value)


def interval(pair: Sequence[float | None] | None, form: Callable[[float | None], str] = number) -> str:
    """The two ends of an interval, each shown by ``form``: ``0.102 to 0.391``."""
    if pair is None or pair[0] is None or pair[1] is None:
        return MISSING
    return f"{form(pair[0])} to {form(pair[1])}"


def with_interval(
    value: float | None, ends: Sequence[float | None] | None, form: Callable[[float | None], str] = number
) -> str:
    """A figure, and its interval where it has one: ``0.231 (0.102 to 0.391)``."""
    between = interval(ends, form)
    return form(value) if between == MISSING else f"{form(value)} ({between})"


def kinds(counts: Mapping[str, int]) -> str:
    """``null_text 3, too_long:omission 1``."""
    return ", ".join(f"{kind} {count:,}" for kind, count in counts.items())


def duration(seconds: float) -> str:
    """A time in the unit that suits it: ``80 seconds``, ``12 minutes``, ``3.4 hours``, ``21 days``."""
    for unit, size, until in (("seconds", 1, 120), ("minutes", 60, 7200), ("hours", 3600, 48 * 3600)):
        if seconds < until:
            return f"{seconds / size:.{int(unit == 'hours')}f} {unit}"
    return f"{seconds / 86400:.{int(seconds < 864_000)}f} days"
