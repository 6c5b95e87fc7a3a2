"""The executor that is this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..scoring.scorer import Scorer
from ..storage.plan import Plan
from ..storage.shards import InputFile, Shard
from .executors import Executor, Inspected, Job, Reporter, Result
from .inspection import inspect_files
from .messages import Begin, Score, WorkerInfo
from .shard_scorer import ShardScorer


class Inline(Executor):
    """This process: for Python, tests and benchmarks. A crash of a native library ends it, nothing is done about a
    hang, and a lack of memory ends the run."""

    def __init__(self, job: Job, reporter: Reporter) -> None:
        self.job, self._reporter = job, reporter
        self._scorer: ShardScorer | None = None

    def inspect(self, files: Sequence[InputFile]) -> Inspected:
        found = Inspected()
        for file, footer in zip(files, inspect_files(self.job.inspect(files)), strict=True):
            found.add(file, footer)
        return found

    def open(self, plan: Plan | None, shards: Sequence[Shard]) -> WorkerInfo:
        self._scorer = ShardScorer(self.job.open(self.job.settings, plan, shards), self._reporter.say)
        return self._scorer.info

    def score(self, shards: Sequence[Shard], begin: Begin, temporary: Callable[[str], Path]) -> Iterator[Result]:
        assert self._scorer is not None
        if (loaded := self._scorer.begin(begin)) is not None:
            yield loaded
        rows = 0
        for result in self._scorer.score(
            Score(shard=shard, temporary=str(temporary(shard.relative))) for shard in shards
        ):
            progress, rows = self._scorer.progress(), rows + result.rows
            self._reporter.progress(rows + progress.rows, progress.pairs)
            yield result

    @property
    def scorer(self) -> Scorer:
        """The open scorer."""
        assert self._scorer is not None
        return self._scorer.scorer

    def close(self) -> None:
        """Close the scorer."""
        if self._scorer is not None:
            self._scorer.close()
