"""Check the first rows of a run for problems that affect the whole run: refuse it, warn early, or stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..errors import InputError, ShardError
from ..scoring.counts import total
from ..scoring.windows import FIRST_ROWS, WINDOW_BYTES, WINDOW_ROWS, InvalidRows
from ..stats.percentages import percent
from ..storage import ShardReader
from ..storage.counts import Counts
from .survey import Shard, Survey

HOPELESS_AFTER_ROWS = 10_000
HOPELESS_RATE = 0.95
_SHARDS = 8
_GLANCE_ROWS = FIRST_ROWS[0]


def refuse_unscorable(
    found: Survey, reader: ShardReader, max_error_rate: float, say: Callable[[str], None] = lambda line: None
) -> None:
    """Refuse a run whose first window has nothing but errors, before anything is written.

    One shard may be damaged by itself, so the beginnings of others are looked at before the run is refused.

    Args:
        max_error_rate: what the user accepts; 1 runs regardless.
        say: is told which of the first rows get no label, and why the first does not.

    Raises:
        InputError: not one row of these windows can be scored; shows the first value, and what is expected.
    """
    if max_error_rate >= 1:
        return
    refused: list[tuple[Shard, str]] = []
    firsts = {shard.file.uri: shard for shard in reversed(found.usable) if shard.rows}  # one piece of each file
    for shard in list(reversed(firsts.values()))[:_SHARDS]:
        seen = _bad_rows(shard, reader, _GLANCE_ROWS)
        if seen is not None and seen.all and shard.rows > _GLANCE_ROWS:
            seen = _bad_rows(shard, reader, WINDOW_ROWS)
        if seen is None or not seen.all:
            if seen is not None:
                say(f"note: {shard.file.name}: some of its first rows get no label: {seen.message}")
            return
        refused.append((shard, seen.message))
    if refused:
        shard, message = refused[0]
        raise InputError(
            f"{shard.file.name}: not one row of the first window can be scored, and nothing was written: {message} "
            "(--max-error-rate 1 runs regardless)"
        )


def _bad_rows(shard: Shard, reader: ShardReader, rows: int) -> InvalidRows | None:
    windows = shard.windows(reader, max_rows=rows, max_bytes=WINDOW_BYTES, limit=rows)
    try:
        return next((shard.columns.invalid_rows(table) for table in windows), None)
    except ShardError:
        return None  # the run sets the shard aside, and says why


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
