"""The executor of worker processes on this machine: footers, the first worker, and failures that end the run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..errors import DeviceError, InputError, OutputError, ScorerError, UsageError
from ..storage.run_plan import Plan
from ..storage.shards import InputFile, Shard
from ..system.starting import EARLY
from ..system.worker_process import WorkerHandle, WorkerProcess
from . import WORKER
from .executors import (
    Begin,
    Executor,
    FooterRead,
    Inspected,
    Job,
    Reply,
    Reporter,
    Score,
    ShardResult,
    WorkerInfo,
    WorkerReady,
    WorkerSlot,
)
from .workers import MOST_DEATHS, RunStoppedError, Worker, WorkerEnded, Workers


class Processes(Executor):
    """One worker process a slot. The first one reads the footers and measures the budgets; the others take them."""

    def __init__(self, job: Job, slots: Sequence[WorkerSlot], reporter: Reporter) -> None:
        self.job, self._slots, self._reporter = job, slots, reporter
        self._workers = Workers(job, self, reporter)

    @property
    def info(self) -> WorkerInfo:
        return self._workers.info

    def close(self) -> None:
        self._workers.close()

    def inspect(self, files: Sequence[InputFile]) -> Inspected:
        """Start the workers. A file that ended the first one is read again by a new worker, which does nothing else; it
        is given up only if this one ends, too."""
        workers = self._workers
        for slot in self._slots:
            workers.add(slot)
        inspected, remaining, is_alone, deaths = Inspected(), deque(files), False, 0
        workers.all[0].send(self.job.inspect(remaining), len(remaining))
        while remaining:
            for worker, message in workers.receive():
                if isinstance(message, FooterRead):
                    inspected.add(remaining.popleft(), message)
                    if not is_alone:
                        continue
                    is_alone, deaths, reader = False, 0, worker
                elif isinstance(message, WorkerEnded):
                    is_reader, reader = worker is workers.all[0], workers.replace(worker)
                    if not is_reader:
                        continue
                    if is_alone:
                        deaths += 1
                        inspected.add(remaining[0], _crashed_at(remaining.popleft(), message, deaths))
                    else:
                        self._reporter.say(
                            f"{remaining[0].name}: the worker {message.reason}; it is read again, by itself"
                        )
                    is_alone = not is_alone
                else:
                    continue
                if unread := [remaining[0]] if is_alone else list(remaining):
                    reader.send(self.job.inspect(unread, inspected.rows, opens=False), len(unread))
        return inspected

    def open(self, plan: Plan | None, shards: Sequence[Shard]) -> None:
        """The first worker opens the scorer and measures; the others take its budgets."""
        workers, first = self._workers, self._workers.all[0]
        first.send(self.job.open(plan, shards, first.slot))
        while not first.is_ready:
            for worker, message in workers.receive():
                if isinstance(message, WorkerReady):
                    workers.accept_first(worker, message.info)
                elif isinstance(message, WorkerEnded):
                    workers.fail(worker, workers.opening_error(worker, message))

    def score(self, shards: Sequence[Shard], begin: Begin, temporary: Callable[[str], Path]) -> Iterator[ShardResult]:
        return self._workers.score(shards, begin, temporary)

    def start(self, slot: WorkerSlot) -> WorkerHandle:
        """See :class:`.Site`. The first worker is the one that the command started before all else."""
        process = EARLY.pop() if EARLY else WorkerProcess(WORKER, Reply)
        process.receives = Reply
        return process

    def refresh(self) -> None:
        pass

    def ends_run(self, worker: Worker, error: ScorerError) -> bool:
        """Yes for the first worker, which opens the scorer for all, for the last one that is left, and for errors of
        inputs and options, which every worker would meet."""
        is_first = not self._workers.has_begun and worker is self._workers.all[0]
        return is_first or len(self._workers.all) == 1 or isinstance(error, InputError | OutputError | UsageError)

    def refusal(self, task: Score, result: ShardResult) -> str:
        return ""

    def await_worker(self, reason: str) -> None:
        """No other worker comes."""
        raise DeviceError(f"no worker is left: {reason}; the same command resumes")


def _crashed_at(file: InputFile, ended: WorkerEnded, deaths: int) -> FooterRead:
    """The result of a file that ended a worker by itself.

    Args:
        file: the file.
        ended: the end of the worker.
        deaths: number of such files in a row.

    Raises:
        RunStoppedError: these are too many.
    """
    error = f"{file.uri}: the process that read its footer {ended.reason}, twice, the second time with no other file"
    if deaths == MOST_DEATHS:
        problem = f"{MOST_DEATHS} files in a row each ended a worker that read the footer"
        raise RunStoppedError(f"{problem}; the last, {error}")
    return FooterRead(error=error, kind="crashed")
