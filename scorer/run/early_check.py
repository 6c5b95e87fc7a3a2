"""Check the first rows of a run for problems that affect the whole run: warn early, or stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..errors import InputError
from ..scoring.counts import total
from ..storage.counts import Counts

HOPELESS_AFTER_ROWS = 10_000
HOPELESS_RATE = 0.95


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
                f"{rate:.1%} of the first {rows.all:,} rows cannot be scored ({kinds}); stopped. Look at the columns "
                "and at `scorer plan`; --max-error-rate 1 runs on regardless"
            )
