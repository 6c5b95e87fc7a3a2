"""What scoring reused rows again has shown so far, shard by shard."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ShardError
from ...storage.counts import Counts, RecheckCounts
from ..origin import ROUNDING, allowed_difference
from ..summary import Recheck
from .recheck import Disagreement
from .sources import Sources

DISAGREED = "disagreed"
"""Kind of a shard that was quarantined because reused labels in it differ from those of this run."""
_SHOWN = 3


class RecheckLog:
    """Gathers the windows of a shard; a shard in which a row disagrees must not be believed."""

    def __init__(self, sources: Sources | None) -> None:
        self._bound = None
        if sources is not None:
            self._bound = allowed_difference(max(sources.bounds(), default=0.0)) + ROUNDING
        self._quarantined = RecheckCounts()  # of quarantined shards, whose counts no receipt has
        self._begin()

    def _begin(self) -> None:
        self._seen = self._rows = self._wrong = 0
        self._words: list[str] = []

    def window(self, rows: int, counts: Counts, found: Sequence[Disagreement]) -> None:
        """Take in a window of so many rows."""
        self._rows += counts.recheck.rows if counts.recheck is not None else 0
        self._wrong += len(found)
        room = max(0, _SHOWN - len(self._words))
        self._words += [f"row {self._seen + one.row} (key {one.key}): {one.what}" for one in found[:room]]
        self._seen += rows

    def end_shard(self, uri: str) -> ShardError | None:
        """The shard ended; what is wrong with it, if anything."""
        rows, wrong, words = self._rows, self._wrong, self._words
        self._begin()
        if not wrong:
            return None
        self._quarantined = RecheckCounts.total([self._quarantined, RecheckCounts(rows, wrong)])
        more = f"; and {wrong - len(words)} more" if wrong > len(words) else ""
        return ShardError(
            f"{uri}: {wrong} of {rows} reused rows that were scored again are not what the earlier output says: "
            + "; ".join(words) + more,
            DISAGREED,
        )  # fmt: skip

    @property
    def aside(self) -> RecheckCounts:
        """Of the shards so far in which rows disagreed."""
        return self._quarantined

    def figures(self, counts: Counts) -> Recheck:
        """What ``_run.json`` says. ``counts``: of all shards that are done."""
        done = counts.recheck or RecheckCounts()
        both = RecheckCounts.total([done, self._quarantined])
        return Recheck(both.rows, both.disagreed, self._bound)
