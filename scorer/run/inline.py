"""The executor that scores in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..scoring.opening import OpenScorer
from ..storage.run_plan import Plan
from ..storage.shards import InputFile, Shard
from ..storage.store import Store
from .executors import Begin, Executor, Inspected, Job, Reporter, Score, ShardResult, WorkerInfo, WorkerSlot
from .inspection import inspect_files
from .shard_scorer import ShardScorer
from .worker import open_output, uploaded


class Inline(Executor):
    """This process: for Python, tests and benchmarks. A crash of a native library ends it, nothing is done about a
    hang, and a lack of memory ends the run."""

    def __init__(self, job: Job, reporter: Reporter) -> None:
        self.job, self._reporter = job, reporter
        self._shards: ShardScorer | None = None
        self._store: Store | None = None

    @property
    def info(self) -> WorkerInfo:
        assert self._shards is not None
        return self._shards.info

    def inspect(self, files: Sequence[InputFile]) -> Inspected:
        inspected = Inspected()
        for file, footer in zip(files, inspect_files(self.job.inspect(files)), strict=True):
            inspected.add(file, footer)
        return inspected

    def open(self, plan: Plan | None, shards: Sequence[Shard]) -> None:
        request = self.job.open(plan, shards, WorkerSlot("", self.job.settings.device))
        self._store, self._shards = open_output(request), ShardScorer(request, self._reporter.say)

    def score(self, shards: Sequence[Shard], begin: Begin, temporary: Callable[[str], Path]) -> Iterator[ShardResult]:
        assert self._shards is not None
        self._shards.begin(begin)
        rows = 0
        tasks = (Score(shard=shard, temporary=str(temporary(shard.relative))) for shard in shards)
        for result in self._shards.score(tasks):
            progress = self._shards.progress()
            rows += result.receipt.output.rows if result.receipt is not None else 0
            self._reporter.progress(rows + progress.rows, progress.pairs)
            yield uploaded(self._store, result)

    @property
    def scorer(self) -> OpenScorer:
        assert self._shards is not None
        return self._shards.scorer

    def close(self) -> None:
        if self._shards is not None:
            self._shards.scorer.engine.close()
