"""Check the first rows of a run for problems that affect the whole run: refuse it, warn early, or stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import InputError, ShardError
from ..scoring.summary import total
from ..stats.percentages import percent
from ..storage.counts import Counts
from ..storage.shards import FIRST_ROWS, WINDOW_BYTES, WINDOW_ROWS, Shard, limit_rows, read_windows
from .messages import FirstRows

if TYPE_CHECKING:
    from ..metric.inputs import InputColumns

HOPELESS_AFTER_ROWS = 10_000
HOPELESS_RATE = 0.95
MOST_FILES = 8
"""Files whose first rows are looked at: one may be damaged by itself."""


def look_at_first_rows(shard: Shard, columns: InputColumns) -> FirstRows:
    """The first rows of a shard that get no label; none where they cannot be read: the run quarantines the shard then,
    and says why."""
    for rows in (FIRST_ROWS[0], WINDOW_ROWS):
        try:
            start = limit_rows([shard], rows)[0]
            _, window = next(read_windows(start, lambda schema: columns, max_rows=rows, max_bytes=WINDOW_BYTES))
        except ShardError:
            break
        invalid = columns.invalid_rows(window)
        if invalid is None:
            break
        if not invalid.all or shard.rows <= rows or rows == WINDOW_ROWS:
            return FirstRows(all=invalid.all, message=invalid.message)
    return FirstRows(all=False, message="")


def refuse_unscorable(looked_at: Sequence[tuple[str, FirstRows]], say: Callable[[str], None]) -> None:
    """Refuse a run whose first windows have nothing but errors, before anything is written.

    Args:
        looked_at: names and first rows of the files that were looked at, in their order, up to the first one of which
            a row can be scored.
        say: is told which of the first rows get no label, and why the first does not.

    Raises:
        InputError: not one row of these windows can be scored; shows the first value, and what is expected.
    """
    if not looked_at:
        return
    name, last = looked_at[-1]
    if not last.all:
        if last.message:
            say(f"note: {name}: some of its first rows get no label: {last.message}")
        return
    name, first = looked_at[0]
    raise InputError(
        f"{name}: not one row of the first window can be scored, and nothing was written: {first.message} "
        "(--max-error-rate 1 runs regardless)"
    )


@dataclass
class EarlyCheck:
    """Looks at the counts of the first windows.

    ``warnings``: what to say of the first window. ``max_error_rate``: what the user accepts.
    """

    warnings: Callable[[Counts], Iterable[str]]
    max_error_rate: float
    say: Callable[[str], None]
    seen: Counts = field(default_factory=Counts)

    def see(self, counts: Counts) -> None:
        """Take in one window; after the first :data:`HOPELESS_AFTER_ROWS` rows it is not looked at any more.

        Raises:
            InputError: nearly all of the first rows have errors, more than the user accepts; says which.
        """
        before = self.seen.rows.all
        if before >= HOPELESS_AFTER_ROWS:
            return
        if not before:
            for message in self.warnings(counts):
                self.say(message)
        self.seen = total([self.seen, counts])
        rate, rows = self.seen.error_rate, self.seen.rows
        if rows.all >= HOPELESS_AFTER_ROWS and rate > max(HOPELESS_RATE, self.max_error_rate):
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(rows.errors.items()))
            raise InputError(
                f"{percent(rate)} of the first {rows.all:,} rows cannot be scored ({kinds}); stopped. Look at the "
                "columns and at `scorer plan`; --max-error-rate 1 runs on regardless"
            )
