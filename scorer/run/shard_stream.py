"""One stream of windows for any number of shards: read, scored, written, and handed over at the end of each shard.

The device does not wait where one shard ends and the next begins. What happens to a shard that was scored, or that
cannot be, is decided by the caller's :class:`Sink`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..errors import ScorerError, ShardError
from ..scoring.plan import Budgets
from ..scoring.reuse import RecheckLog, Reuse
from ..scoring.row_scorer import RowScorer
from ..scoring.windows import (
    FIRST_ROWS,
    WINDOW_BYTES,
    WINDOW_ROWS,
    FailedWindow,
    Mark,
    ScoredWindow,
    ShardColumns,
    Window,
)
from ..storage import Counts, ShardReader, ShardWriter, require_space
from ..storage.durable import Holder
from ..system.signals import check_terminated
from .early_check import EarlyCheck
from .options import Reporter
from .survey import Shard


class Sink(Protocol):
    """What becomes of shards."""

    def holder(self, shard: Shard) -> Holder:
        """The holder of the folder, which is asked again before the output of a shard gets its name."""
        ...

    def commit(self, shard: Shard, writer: ShardWriter, counts: list[Counts]) -> None:
        """All rows of a shard were written: give the output its name, and make the shard done."""
        ...

    def set_aside(self, shard: Shard, error: ScorerError) -> None:
        """A shard cannot be scored."""
        ...


@dataclass(frozen=True)
class _ShardEnd(Mark):
    """All windows of a shard were read, or as many as could be."""

    shard: Shard
    error: ShardError | None


@dataclass
class ShardStream:
    """Scores shards. ``out``: the output folder. ``writing``: seconds spent on writing so far."""

    scorer: RowScorer
    reader: ShardReader
    out: Path
    budgets: Budgets
    reporter: Reporter
    recheck_log: RecheckLog
    early_check: EarlyCheck
    writing: float = field(default=0.0, init=False)

    def score(self, todo: Iterable[Shard | Mark], reuse: Reuse | None, sink: Sink) -> None:
        """Score shards in order, which are asked for as they are needed, in another thread."""

        def tick(shard: Shard, rows: float) -> None:
            self.reporter.progress(shard.file.relative, 0, self.scorer.computed, rows)

        writer: ShardWriter | None = None
        counts: list[Counts] = []
        failure: ScorerError | None = None
        try:
            # Closed here, not where it is deleted: the exception of a signal would be lost there.
            with closing(self.scorer.stream(self._windows(todo, reuse), reuse, tick)) as stream:
                for scored in stream:
                    check_terminated()
                    began = time.perf_counter()
                    if isinstance(scored, FailedWindow):
                        failure = failure or scored.error
                    elif isinstance(scored, ScoredWindow) and failure is None:
                        shard = scored.tag
                        relative = shard.file.relative
                        if writer is None:
                            require_space(self.out, shard.least_bytes, f"the output of {relative}")
                            writer = ShardWriter(
                                self.out / relative,
                                scored.table.schema,
                                metadata=self.scorer.signature.footer,
                                holder=sink.holder(shard),
                            )
                        writer.write(scored.table)
                        counts.append(scored.counts)
                        self.recheck_log.window(len(scored.table), scored.counts, scored.disagreements)
                        self.early_check.see(scored.counts)
                        self.reporter.progress(relative, len(scored.table), self.scorer.computed)
                    elif isinstance(scored, _ShardEnd):
                        disagreed = self.recheck_log.end_shard(scored.shard.file.uri)
                        error = scored.error or failure or disagreed
                        if error is not None:
                            if writer is not None:
                                writer.abandon()
                            sink.set_aside(scored.shard, error)
                        elif writer is not None:
                            sink.commit(scored.shard, writer, counts)
                        writer, counts, failure = None, [], None
                    self.writing += time.perf_counter() - began
        finally:
            if writer is not None:
                writer.abandon()

    def _windows(
        self, todo: Iterable[Shard | Mark], reuse: Reuse | None
    ) -> Iterator[Window[Shard, ShardColumns] | Mark]:
        """Windows of all shards in order, with the end of each."""
        for shard in todo:
            if isinstance(shard, Mark):
                yield shard
                continue
            if reuse is not None:
                reuse.begin_shard()
            seen, error = 0, None
            try:
                for table in shard.windows(
                    self.reader,
                    max_rows=self.budgets.window_rows or WINDOW_ROWS,
                    max_bytes=self.budgets.window_bytes or WINDOW_BYTES,
                    first_rows=FIRST_ROWS if self.budgets.first_rows is None else self.budgets.first_rows,
                ):
                    seen += len(table)
                    yield Window(shard, table, shard.columns)
                if seen != shard.rows:
                    error = ShardError(f"{shard.file.uri}: read {seen} rows, but its footer says {shard.rows}")
            except ShardError as failed:
                error = failed
            yield _ShardEnd(shard, error)
