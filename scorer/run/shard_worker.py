"""What scores shards, in this process (*inline*) or in one of its own: opens the row scorer, reads, scores and writes.

It never makes a shard done: what it made goes to the driver, which publishes it and writes the receipt. In an object
store it uploads the output itself, on condition of the version that the driver saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from ..errors import ScorerError, ShardError
from ..scoring.counts import total
from ..scoring.plan import Budgets, Plan
from ..scoring.reuse import RecheckLog, Reuse
from ..scoring.row_scorer import Known, RowScorer, RowScoring
from ..scoring.windows import Mark
from ..storage import Counts, InputFile, ShardReader, ShardWriter
from ..storage.counts import RecheckCounts
from ..storage.durable import Holder
from ..storage.objects.uri import Location
from ..storage.store import Store
from .early_check import EarlyCheck
from .messages import Facts, Failed, Loaded, Made, ReuseFacts, Task
from .options import Reporter
from .publisher import Publisher
from .shard_stream import ShardStream
from .survey import Shard, Survey, starts_of

Result = Made | Failed


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
        found: Survey,
        reader: ShardReader,
        reused: Sequence[Location],
    ) -> OpenScorer:
        """Open the row scorer, and find out what must be known before the plan is made.

        Args:
            enter: keeps what is opened until the end.
            budgets: of an earlier plan, if there is one. earlier: that plan, or what another process found out.
            reused: the outputs of ``--reuse``.
        """
        scorer: RowScorer = enter(scoring.open(budgets))  # type: ignore[assignment]  # what its context gives
        scorer = scorer.warm_up(earlier, starts_of(found, reader) if found.usable else [])
        reuse: Reuse | None = enter(scorer.open_reuse(reused)) if reused else None  # type: ignore[assignment]
        return cls(scorer, reuse)

    @property
    def facts(self) -> Facts:
        """What the driver must know."""
        scorer, reuse = self.scorer, None
        if self.reuse is not None:
            sources = self.reuse.sources
            bound = RecheckLog(sources).figures(Counts()).bound
            reuse = ReuseFacts(sources.digest, sources.planned(), sources.origins()[1:], sources.summary(), bound)
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
    """

    def __init__(
        self,
        opened: OpenScorer,
        reader: ShardReader,
        plan: Plan,
        store: Store,
        holder: Holder,
        give: Callable[[Result], None],
        reporter: Reporter,
        max_error_rate: float,
        loaded: Callable[[Loaded], None] = lambda loaded: None,
        talks: bool = True,
    ) -> None:
        self._opened, self._store, self._give, self._reporter = opened, store, give, reporter
        self._loaded, self._talks, self._holder = loaded, talks, holder
        self._scorer, self._reuse = opened.scorer, opened.reuse
        self._digest = opened.reuse.sources.digest if opened.reuse is not None else ""
        self._recheck = RecheckLog(opened.reuse.sources if opened.reuse is not None else None)
        early = EarlyCheck(self._scorer.warnings, max_error_rate, reporter.say)
        self._stream = ShardStream(self._scorer, reader, holder.root, plan.budgets, reporter, self._recheck, early)
        self._expected: dict[str, str] = {}
        self._before: dict[str, float] = dict(self._scorer.seconds)
        self._computed = self._scorer.computed
        self._aside = RecheckCounts()

    def score(self, todo: Iterable[tuple[Shard, str] | Mark]) -> None:
        """Score shards, each with the version of its output that is expected; a :class:`Mark` is passed over."""
        if self._reuse is not None:
            if self._talks:
                self._reuse.sources.say(self._reporter.say)
            self._reuse.load()
            self._loaded(Loaded(self._reuse.summary()))
        with Publisher() as self._publisher:
            self._stream.score(self._noted(todo), self._reuse, self)
            self._publisher.finish()

    def _noted(self, todo: Iterable[tuple[Shard, str] | Mark]) -> Iterator[Shard | Mark]:
        for one in todo:
            if isinstance(one, Mark):
                yield one
                continue
            shard, expect = one
            self._expected[shard.file.relative] = expect
            yield shard

    def holder(self, shard: Shard) -> Holder:
        """See :class:`.shard_stream.Sink`."""
        return self._holder

    def commit(self, shard: Shard, writer: ShardWriter, counts: list[Counts]) -> None:
        """Complete the file of a shard; in an object store, upload it."""
        seconds, computed = self._taken()
        made = partial(
            Made,
            relative=shard.file.relative,
            fingerprint=shard.fingerprint(self._scorer.signature, self._digest),
            counts=total(counts),
            seconds=seconds,
            computed=computed,
            origin=self._scorer.origin,
        )
        self._publisher.put(partial(self._complete, shard, writer, made))

    def _complete(self, shard: Shard, writer: ShardWriter, made: Callable[..., Made]) -> None:
        record = shard.record()
        written, temporary = writer.finish()
        if self._store.is_remote:
            relative = shard.file.relative
            version = self._store.upload(relative, temporary, written.sha256, self._expected.pop(relative, ""))
            if version is None:
                temporary.unlink(missing_ok=True)
                message = f"{self._store.uri(relative)}: another program replaced it meanwhile"
                self._give(Failed(relative, "replaced", message, shard.info.identity))
                return
            written = replace(written, e_tag=version)
        self._give(made(temporary="" if self._store.is_remote else str(temporary), written=written, record=record))

    def set_aside(self, shard: Shard, error: ScorerError) -> None:
        """Tell why a shard was not scored."""
        kind = error.kind if isinstance(error, ShardError) else "columns"
        aside = self._recheck.aside
        rows, wrong = aside.rows - self._aside.rows, aside.disagreed - self._aside.disagreed
        self._aside = aside
        identity = shard.info.identity
        self._give(Failed(shard.file.relative, kind, str(error), identity, RecheckCounts(rows, wrong)))

    def _taken(self) -> tuple[Mapping[str, float], int]:
        """Seconds by stage, and pairs, since the shard before."""
        seconds = dict(self._scorer.seconds, write=self._stream.writing)
        found = {stage: value - self._before.get(stage, 0.0) for stage, value in seconds.items()}
        computed = self._scorer.computed - self._computed
        self._before, self._computed = seconds, self._scorer.computed
        return found, computed


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
