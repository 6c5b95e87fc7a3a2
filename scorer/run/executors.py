"""Where shards are scored: the interface that the driver sees, and the *inline* executor, this process itself.

The other one, workers in processes of their own on this machine or on a Ray cluster, is :mod:`.pool`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from ..scoring.plan import Budgets, Plan
from ..scoring.row_scorer import Known, Report, RowScoring
from ..storage import Counts, RunOutput, ShardReader
from ..storage.lock_files import Worker
from ..storage.objects.uri import Location
from ..system.closing import Closing
from .messages import Facts, Loaded
from .options import Reporter
from .shard_worker import OpenScorer, Result, ShardWorker
from .survey import Shard, Survey

Handled = Result | Loaded


class Executor(Closing):
    """Scores shards. ``reader``: the driver's, once :meth:`prepare` was called."""

    reader: ShardReader

    @abstractmethod
    def prepare(
        self,
        budgets: Budgets,
        earlier: Plan | None,
        found: Survey,
        reader: ShardReader,
        reused: tuple[Location, ...],
        reporter: Reporter,
    ) -> Facts:
        """Open what scores the rows, and find out what must be known before the plan is made.

        Args:
            budgets: of an earlier plan, if there is one. earlier: that plan.
            reused: the outputs of ``--reuse``.

        Raises:
            ScorerError: it cannot be opened here.
        """

    @abstractmethod
    def score(
        self,
        todo: Sequence[tuple[Shard, str]],
        plan: Plan,
        output: RunOutput,
        handle: Callable[[Handled], None],
        reporter: Reporter,
    ) -> None:
        """Score shards, in any order.

        Args:
            todo: each with the version of its output that is there, empty where there is none.
            handle: called in this thread with what became of each.

        Raises:
            ScorerError: nothing is left that could score them.
        """

    @abstractmethod
    def report(self, counts: Counts, seconds: float) -> Report:
        """What to say at the end; see :meth:`scorer.scoring.row_scorer.RowScorer.report`."""


class Inline(Executor):
    """This process: one stream over all shards, so that the device does not wait where one ends and the next begins.

    Args:
        first_use: measures in a process of its own what no earlier plan says, where data are to be computed for that;
            a crash or a hang there blames the device or the bundle.
    """

    def __init__(self, scoring: RowScoring, max_error_rate: float, first_use: Executor | None = None) -> None:
        self._scoring, self._max_error_rate, self._first_use = scoring, max_error_rate, first_use
        self._stack = ExitStack()
        self._opened: OpenScorer | None = None
        self._reused: tuple[Location, ...] = ()

    def prepare(
        self,
        budgets: Budgets,
        earlier: Plan | None,
        found: Survey,
        reader: ShardReader,
        reused: tuple[Location, ...],
        reporter: Reporter,
    ) -> Facts:
        self.close()
        self.reader, self._reused = reader, reused or self._reused
        known: Known | None = earlier
        if self._first_use is not None and (earlier is None or earlier.budgets.exact is None):
            with self._first_use as worker:
                known = worker.prepare(budgets, earlier, found, reader, (), reporter)
                budgets = known.budgets
        self._opened = OpenScorer.open(
            self._stack.enter_context, self._scoring, budgets, known, found, reader, self._reused
        )
        return self._opened.facts

    def score(
        self,
        todo: Sequence[tuple[Shard, str]],
        plan: Plan,
        output: RunOutput,
        handle: Callable[[Handled], None],
        reporter: Reporter,
    ) -> None:
        assert self._opened is not None
        device, held = self._opened.facts.device, dict[str, None]()

        def show() -> None:
            output.show([Worker("this process", device, tuple(held))])

        def taken() -> Iterator[tuple[Shard, str]]:
            for shard, expect in todo:
                held[shard.file.relative] = None
                show()
                yield shard, expect

        def handled(result: Handled) -> None:
            handle(result)
            if not isinstance(result, Loaded):
                held.pop(result.relative, None)
                show()

        worker = ShardWorker(
            self._opened,
            self.reader,
            plan,
            output.store,
            output.holder,
            handled,
            reporter,
            self._max_error_rate,
            loaded=handle,
        )
        worker.score(taken())

    def report(self, counts: Counts, seconds: float) -> Report:
        assert self._opened is not None
        return self._opened.scorer.report(counts, seconds)

    def close(self) -> None:
        """Close the row scorer."""
        self._stack.close()
