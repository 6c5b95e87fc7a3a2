"""Where shards are scored: the interface that the driver sees, and the *inline* executor, this process itself.

The other one, workers in processes of their own on this machine or on a Ray cluster, is :mod:`.pool`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from ..scoring.plan import Budgets, Plan
from ..scoring.row_scorer import Known, Report, RowScoring
from ..storage import Counts, RunOutput
from ..storage.lock_files import Worker
from ..system.closing import Closing
from .messages import Facts, Loaded, Result
from .options import Reporter
from .preview import Outlook
from .shard_worker import OpenScorer, ShardWorker
from .survey import Shard

Handle = Callable[[Result | Loaded], None]


class Executor(Closing):
    """Scores shards."""

    @abstractmethod
    def prepare(self, ahead: Outlook, budgets: Budgets, earlier: Plan | None, reporter: Reporter) -> Facts:
        """Open what scores the rows, and find out what must be known before the plan is made.

        Args:
            budgets: of an earlier plan, if there is one. earlier: that plan, if its shards are kept.

        Raises:
            ScorerError: it cannot be opened here.
        """

    @abstractmethod
    def score(self, todo: Sequence[tuple[Shard, str]], plan: Plan, output: RunOutput, handle: Handle) -> None:
        """Score shards, in any order.

        Args:
            todo: each with the version of its output that is there, empty where there is none.
            handle: called with what became of each, in several threads.

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
        self._opened: OpenScorer
        self._ahead: Outlook
        self._reporter: Reporter

    def prepare(self, ahead: Outlook, budgets: Budgets, earlier: Plan | None, reporter: Reporter) -> Facts:
        self.close()
        self._ahead, self._reporter = ahead, reporter
        known: Known | None = earlier
        if self._first_use is not None and (earlier is None or earlier.budgets.exact is None):
            with self._first_use as worker:
                known = worker.prepare(ahead, budgets, earlier, reporter)
                budgets = known.budgets
        self._opened = OpenScorer.open(
            self._stack.enter_context, self._scoring, budgets, known, ahead.found.usable, ahead.reader, ahead.reused
        )
        return self._opened.facts

    def score(self, todo: Sequence[tuple[Shard, str]], plan: Plan, output: RunOutput, handle: Handle) -> None:
        device, held = self._opened.facts.device, dict[str, None]()

        def show() -> None:
            output.show([Worker("this process", device, tuple(held))])

        def taken() -> Iterator[tuple[Shard, str]]:
            for shard, expect in todo:
                held[shard.file.relative] = None
                show()
                yield shard, expect

        def handled(result: Result | Loaded) -> None:
            handle(result)
            if not isinstance(result, Loaded):
                held.pop(result.relative, None)
                show()

        worker = ShardWorker(
            self._opened,
            self._ahead.reader,
            plan,
            output.store,
            output.holder,
            handled,
            self._reporter,
            self._max_error_rate,
        )
        worker.score(taken())

    def report(self, counts: Counts, seconds: float) -> Report:
        return self._opened.scorer.report(counts, seconds)

    def close(self) -> None:
        """Close the row scorer."""
        self._stack.close()
