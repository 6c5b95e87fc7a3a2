"""What scores shards, in this process (*inline*) or in one of its own: opens the row scorer, reads, scores and writes.

It never makes a shard done: what it made goes to the driver, which publishes it and writes the receipt. In an object
store it uploads the output itself, on condition of the version that the driver saw. All shards go through one stream of
windows, so that the device does not wait where one ends and the next begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import partial

import msgspec
from msgspec.structs import replace

from ..errors import ScorerError, ShardError
from ..scoring.counts import total
from ..scoring.plan import Budgets, Plan
from ..scoring.reuse import Reuse
from ..scoring.row_scorer import Known, RowScorer, RowScoring
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
from ..storage import Counts, InputFile, Maker, Receipt, ShardReader, ShardWriter, require_space
from ..storage.durable import Holder
from ..storage.location import Location
from ..storage.store_old import Store
from ..system.signals import check_signals
from .early_check import EarlyCheck
from .messages import Facts, Failed, Loaded, Made, Result, ReuseFacts, Task
from .options import Listener
from .publisher import Publisher
from .survey import Shard, spread, start_of


@dataclass(frozen=True)
class _ShardEnd(Mark):
    """All windows of a shard were read, or as many as could be."""

    shard: Shard
    error: ShardError | None


@dataclass
class OpenScorer:
    """A row scorer that is open, and the earlier outputs that it reuses."""

    scorer: RowScorer
    reuse: Reuse | None

    @classmethod
    def open(
        cls,
        enter: Callable[[AbstractContextManager[object]], object],
        scoring: RowScoring,
        budgets: Budgets,
        earlier: Known | None,
        shards: Sequence[Shard],
        reader: ShardReader,
        reused: Sequence[Location],
    ) -> OpenScorer:
        """Open the row scorer, and find out what must be known before the plan is made.

        Args:
            enter: keeps what is opened until the end.
            budgets: of an earlier plan, if there is one. earlier: that plan, or what another process found out.
            shards: the first rows of a few of them are looked at where something must be measured.
            reused: the outputs of ``--reuse``.
        """
        scorer: RowScorer = enter(scoring.open(budgets))  # type: ignore[assignment]  # what its context gives
        scorer = scorer.warm_up(earlier, [start_of(shard, reader) for shard in spread(shards)])
        reuse: Reuse | None = enter(scorer.open_reuse(reused)) if reused else None  # type: ignore[assignment]
        return cls(scorer, reuse)

    @property
    def facts(self) -> Facts:
        """What the driver must know."""
        scorer, reuse = self.scorer, None
        if self.reuse is not None:
            sources = self.reuse.sources
            reuse = ReuseFacts(sources.digest, sources.planned(), sources.origins()[1:], sources.summary())
        return Facts(
            scorer.signature,
            scorer.budgets,
            scorer.provider,
            scorer.origin,
            scorer.versions,
            scorer.caveats,
            reuse,
        )


class ShardWorker:
    """Scores shards under one plan.

    Args:
        store: of the output; a folder is not written by this, but its temporary files are.
        holder: of the folder in which outputs are written.
        give: takes what became of each shard, in several threads.
        max_error_rate: see :class:`.options.RunOptions`.
        talks: say what is reused.
    """

    def __init__(
        self,
        opened: OpenScorer,
        reader: ShardReader,
        plan: Plan,
        store: Store,
        holder: Holder,
        give: Callable[[Result | Loaded], None],
        reporter: Listener,
        max_error_rate: float,
        talks: bool = True,
    ) -> None:
        self._opened, self._store, self._give, self._reporter = opened, store, give, reporter
        self._talks, self._holder = talks, holder
        self._scorer, self._reuse = opened.scorer, opened.reuse
        self._digest = opened.reuse.sources.digest if opened.reuse is not None else ""
        self._reader, self._plan = reader, plan
        self._early = EarlyCheck(self._scorer.warnings, max_error_rate, reporter.say)
        self._writing = 0.0
        self._expected: dict[str, str] = {}
        self._before: dict[str, float] = dict(self._scorer.seconds)
        self._computed = self._scorer.computed

    def score(self, todo: Iterable[tuple[Shard, str] | Mark]) -> None:
        """Score shards, each with the version of its output that is expected; a :class:`Mark` is passed over."""
        if self._reuse is not None:
            if self._talks:
                self._reuse.sources.say(self._reporter.say)
            self._reuse.load()
            self._give(Loaded(self._reuse.summary()))
        with Publisher() as self._publisher:
            self._stream(todo)
            self._publisher.finish()

    def _stream(self, todo: Iterable[tuple[Shard, str] | Mark]) -> None:
        """Read, score and write windows. Shards are asked for as they are needed, in another thread."""
        out = self._holder.root

        def tick(shard: Shard, rows: float) -> None:
            self._reporter.progress(shard.file.relative, 0, self._scorer.computed, rows)

        writer: ShardWriter | None = None
        counts: list[Counts] = []
        failure: ScorerError | None = None
        try:
            # Closed here, not where it is deleted: the exception of a signal would be lost there.
            with closing(self._scorer.stream(self._windows(todo), self._reuse, tick)) as stream:
                for scored in stream:
                    check_signals()
                    began = time.perf_counter()
                    if isinstance(scored, FailedWindow):
                        failure = failure or scored.error
                    elif isinstance(scored, ScoredWindow) and failure is None:
                        shard = scored.tag
                        relative = shard.file.relative
                        if writer is None:
                            require_space(out, shard.least_bytes, f"the output of {relative}")
                            writer = ShardWriter(
                                out / relative,
                                scored.table.schema,
                                metadata=self._scorer.signature.footer,
                                holder=self._holder,
                            )
                        writer.write(scored.table)
                        counts.append(scored.counts)
                        self._early.see(scored.counts)
                        self._reporter.progress(relative, len(scored.table), self._scorer.computed)
                    elif isinstance(scored, _ShardEnd):
                        error = scored.error or failure
                        if error is not None:
                            if writer is not None:
                                writer.abandon()
                            self._set_aside(scored.shard, error)
                        elif writer is not None:
                            self._commit(scored.shard, writer, counts)
                        writer, counts, failure = None, [], None
                    self._writing += time.perf_counter() - began
        finally:
            if writer is not None:
                writer.abandon()

    def _windows(self, todo: Iterable[tuple[Shard, str] | Mark]) -> Iterator[Window[Shard, ShardColumns] | Mark]:
        """Windows of all shards in order, with the end of each."""
        budgets = self._plan.budgets
        for one in todo:
            if isinstance(one, Mark):
                yield one
                continue
            shard, self._expected[one[0].file.relative] = one
            seen, error = 0, None
            try:
                for table in shard.windows(
                    self._reader,
                    max_rows=budgets.window_rows or WINDOW_ROWS,
                    max_bytes=budgets.window_bytes or WINDOW_BYTES,
                    first_rows=FIRST_ROWS if budgets.first_rows is None else budgets.first_rows,
                ):
                    seen += len(table)
                    yield Window(shard, table, shard.columns)
                if seen != shard.rows:
                    error = ShardError(f"{shard.file.uri}: read {seen} rows, but its footer says {shard.rows}")
            except ShardError as failed:
                error = failed
            yield _ShardEnd(shard, error)

    def _commit(self, shard: Shard, writer: ShardWriter, counts: list[Counts]) -> None:
        """Complete the file of a shard, in another thread; in an object store, upload it."""
        self._publisher.put(partial(self._complete, shard, writer, total(counts), self._maker()))

    def _complete(self, shard: Shard, writer: ShardWriter, counts: Counts, maker: Maker) -> None:
        relative, record = shard.file.relative, shard.record()
        written, temporary = writer.finish()
        if self._store.is_remote:
            version = self._store.upload(relative, temporary, written.sha256, self._expected.pop(relative, ""))
            if version is None:
                temporary.unlink(missing_ok=True)
                message = f"{self._store.uri(relative)}: another program replaced it meanwhile"
                self._give(Failed(relative, "replaced", message, shard.info.identity))
                return
            written = replace(written, e_tag=version)
        receipt = Receipt(
            relative=relative,
            input=record,
            fingerprint=shard.fingerprint(self._scorer.signature, self._digest),
            output=written,
            counts=counts,
            plan=self._plan.digest,
            maker=maker,
        )
        self._give(Made(receipt, "" if self._store.is_remote else str(temporary)))

    def _set_aside(self, shard: Shard, error: ScorerError) -> None:
        """Tell why a shard was not scored."""
        self._give(Failed.of(shard.file.relative, error, shard.info.identity))

    def _maker(self) -> Maker:
        """What made a shard, with the seconds and the pairs since the shard before."""
        origin, computed = self._scorer.origin, self._scorer.computed
        seconds = dict(self._scorer.seconds, write=self._writing)
        maker = Maker(
            run=self._holder.token,
            worker=origin.device.words,
            origin=msgspec.to_builtins(origin),
            seconds={stage: round(value - self._before.get(stage, 0.0), 3) for stage, value in seconds.items()},
            computed=computed - self._computed,
        )
        self._before, self._computed = seconds, computed
        return maker


def shard_of_task(task: Task, reader: ShardReader, scoring: RowScoring) -> Shard:
    """The shard of a task, opened again.

    Raises:
        ShardError: it cannot be opened, or changed since the driver looked at it. ColumnError: it cannot be scored.
    """
    info = reader.known(task.uri)
    if info.identity != task.identity:
        raise ShardError(f"{task.uri}: it changed after the run was planned", "changed")
    return Shard(InputFile(task.uri, task.relative), info, scoring.find_columns(info.schema), task.limit, task.piece)


def task_of(shard: Shard, expect: str) -> Task:
    """A shard for a worker in another process."""
    return Task(shard.file.relative, shard.file.uri, shard.info.identity, shard.piece, shard.limit, expect)
