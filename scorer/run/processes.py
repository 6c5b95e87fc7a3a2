"""The executor of worker processes: two shards in flight in each, deaths and hangs blamed on shards or on the device.

A worker that dies loses nothing: its shards are tried again one at a time, and only one that ends a worker by itself is
quarantined.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..errors import DeviceError, InputError, OutputError, ScorerError, UsageError
from ..storage.plan import Plan
from ..storage.receipts import changes
from ..storage.shards import InputFile, Shard
from ..system.starting import EARLY
from ..system.waiting import check_signals
from ..system.worker_process import WorkerHandle, WorkerProcess
from . import WORKER
from .executors import (
    Begin,
    Executor,
    FooterRead,
    Inspected,
    Job,
    LogMessage,
    OutOfMemory,
    Progress,
    Reply,
    Reporter,
    Score,
    ShardResult,
    WorkerError,
    WorkerInfo,
    WorkerReady,
    WorkerSlot,
)

HANG_SECONDS = 600.0
"""A worker that owes a reply and makes no progress for so long is killed."""
IN_FLIGHT = 2
"""Shards that a worker has at a time: one that it scores, and the next."""
MOST_DEATHS = 5
"""So many shards, or files, in a row that each end a worker stop the run: it is not the shards."""


class WorkerEnded(NamedTuple):
    """How a worker ended: continues "the worker …". ``memory``: it said that it lacks memory."""

    reason: str
    memory: bool = False


class RunStoppedError(ScorerError):
    """Shard after shard, or file after file, ended a worker."""

    exit_code = 3


@dataclass(eq=False)
class Worker:
    """A worker and what the driver knows of it. ``is_isolated``: it has one shard, under suspicion. ``owed``: replies
    that it still has to send. ``heard``: when it last said or was asked something. ``tasks``: shards in flight, by
    output."""

    slot: WorkerSlot
    process: WorkerHandle
    has_started: bool = False
    is_ready: bool = False
    is_isolated: bool = False
    lacks_memory: bool = False
    owed: int = 0
    heard: float = field(default_factory=time.monotonic)
    progress: Progress = field(default_factory=Progress)
    tasks: dict[str, Score] = field(default_factory=dict)

    def send(self, message: Any, replies: int = 1) -> None:
        self.owed += replies
        self.heard = time.monotonic()
        self.process.send(message)

    def receive(self) -> Any:
        """The next message, or that it ended."""
        self.heard = time.monotonic()
        try:
            message = self.process.receive()
        except (EOFError, OSError):
            return WorkerEnded(self.process.describe_end(), self.lacks_memory)
        self.lacks_memory = isinstance(message, OutOfMemory)
        self.owed -= not isinstance(message, Progress | LogMessage | OutOfMemory)
        self.has_started = True
        return message

    def kill_if_silent(self, now: float) -> WorkerEnded | None:
        """End it if it owes a reply and has done nothing for too long."""
        if not self.owed or now - self.heard < HANG_SECONDS:
            return None
        self.process.kill()
        self.process.close()
        return WorkerEnded(f"made no progress for {HANG_SECONDS:.0f} s and was killed")


class Processes(Executor):
    """A worker process a slot. The first one reads the footers and finds the budgets; the others take them."""

    def __init__(self, job: Job, slots: Sequence[WorkerSlot], reporter: Reporter) -> None:
        self.job, self._slots, self._reporter = job, slots, reporter
        self._workers: list[Worker] = []
        self._begin: Begin | None = None
        self._todo, self._suspects = deque[Score](), deque[Score]()
        self._rows, self._pairs = 0, 0  # of finished shards, of ended workers
        self._said: set[str] = set()

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.process.close()
        self._workers = []

    def inspect(self, files: Sequence[InputFile]) -> Inspected:
        """Starts the workers. A file at which the first one ended is read again by a new one, which does nothing else;
        only if this one ends, too, the file is given up."""
        for slot in self._slots:
            self._workers.append(self._start(slot))
        inspected, left, is_alone, deaths = Inspected(), deque(files), False, 0
        self._workers[0].send(self.job.inspect(left), len(left))
        while left:
            for worker, message in self._receive():
                if isinstance(message, FooterRead):
                    inspected.add(left.popleft(), message)
                    if not is_alone:
                        continue
                    is_alone, deaths, reader = False, 0, worker
                elif isinstance(message, WorkerEnded):
                    is_reader, reader = worker is self._workers[0], self._replace(worker)
                    if not is_reader:
                        continue
                    if is_alone:
                        deaths += 1
                        inspected.add(left[0], _crashed_at(left.popleft(), message, deaths))
                    else:
                        self._reporter.say(f"{left[0].name}: the worker {message.reason}; it is read again, by itself")
                    is_alone = not is_alone
                else:
                    continue
                if asked := [left[0]] if is_alone else list(left):
                    reader.send(self.job.inspect(asked, inspected.rows, opens=False), len(asked))
        return inspected

    def open(self, plan: Plan | None, shards: Sequence[Shard]) -> None:
        """The first worker finds out; the others take what it found."""
        first = self._workers[0]
        first.send(self.job.open(plan, shards, first.slot))
        while not first.is_ready:
            for worker, message in self._receive():
                if isinstance(message, WorkerReady):
                    self.info, worker.is_ready = message.info, True
                elif isinstance(message, WorkerEnded):
                    self._stop(worker, self._opening_error(worker, message))

    def score(self, shards: Sequence[Shard], begin: Begin, temporary: Callable[[str], Path]) -> Iterator[ShardResult]:
        """Shards in flight when a worker ends are tried again, each alone; one that ends this worker too is given
        up."""
        self._begin, left, deaths = begin, len(shards), 0
        self._todo.extend(Score(shard=shard) for shard in shards)
        for worker in self._workers:
            worker.send(begin if worker.is_ready else self.job.open(begin.plan, (), worker.slot))
        while left:
            for worker in self._workers:
                while worker.is_ready and (task := self._next(worker)) is not None:
                    worker.tasks[task.shard.relative] = task
                    worker.send(replace(task, temporary=str(temporary(task.shard.relative))))
            for worker, message in self._receive():
                match message:
                    case WorkerReady() if worker.is_ready:  # it has begun, and knows the keys of reused outputs
                        self.info = replace(self.info, reuse=message.info.reuse)
                    case WorkerReady():
                        self._accept(worker, message.info)
                    case ShardResult():
                        del worker.tasks[message.relative]
                        left, deaths = left - 1, 0
                        self._rows += message.receipt.output.rows if message.receipt is not None else 0
                        self._update(worker, replace(worker.progress, rows=0.0))
                        yield message
                    case WorkerEnded() if not worker.is_ready:
                        self._stop(worker, self._opening_error(worker, message))
                    case WorkerEnded():
                        if (blamed := self._blame(worker, message)) is not None:
                            left, deaths = left - 1, deaths + 1
                            yield blamed
                            if deaths == MOST_DEATHS:
                                raise RunStoppedError(
                                    f"{MOST_DEATHS} shards in a row each ended a worker; the last, {blamed.error}"
                                )
                        self._replace(worker).send(self.job.open(begin.plan, (), worker.slot))

    def _next(self, worker: Worker) -> Score | None:
        """The next shard of a worker; one under suspicion gets a worker that has nothing else."""
        if not worker.tasks:
            worker.is_isolated = bool(self._suspects)
            if self._suspects:
                return self._suspects.popleft()
        if self._todo and not worker.is_isolated and len(worker.tasks) < IN_FLIGHT:
            return self._todo.popleft()
        return None

    def _blame(self, worker: Worker, ended: WorkerEnded) -> ShardResult | None:
        """Put the shards of a worker that ended aside, to be tried alone; the result of one that was alone already,
        unless it lacked memory: that is tried once more, in windows of half the size."""
        if not (worker.is_isolated and worker.tasks):
            self._suspects.extend(worker.tasks.values())
            message = worker.slot.prefixed(f"the worker {ended.reason}")
            self._reporter.say(f"{message}; it is started again, and its shards are tried one at a time")
            return None
        (task,) = worker.tasks.values()
        shard = task.shard
        if ended.memory and not task.halved:
            self._suspects.appendleft(replace(task, halved=True))
            self._reporter.say(f"{shard.name}: too little memory; it is tried again in windows of half the size")
            return None
        error = (
            f"{shard.file.uri}: the process that scored it {ended.reason}, twice, the second time with no other shard"
        )
        if ended.memory or "memory" in ended.reason:
            error += "; give the machine more memory, or run fewer workers"
        return ShardResult(relative=shard.relative, identity=shard.identity, error=error, kind="crashed")

    def _receive(self) -> Iterator[tuple[Worker, Any]]:
        """Receive the next messages of workers, and the end of those that ended; waits for a second at most.

        Progress and lines for people go to the reporter. The silence of a worker counts up to the moment from which it
        is waited for: before, this process may have published for long, or have been stopped.
        """
        check_signals()
        now = time.monotonic()
        speaking = wait([worker.process.connection for worker in self._workers], timeout=1.0)
        for worker in list(self._workers):
            message = worker.receive() if worker.process.connection in speaking else worker.kill_if_silent(now)
            match message:
                case None | OutOfMemory():
                    pass
                case Progress():
                    self._update(worker, message)
                case LogMessage():
                    if message.text not in self._said:  # each worker may have it to say
                        self._said.add(message.text)
                        self._reporter.say(message.text)
                case WorkerError():
                    self._stop(worker, message.to_exception())
                case WorkerEnded() if not worker.has_started:
                    self._stop(worker, DeviceError(f"a worker does not start: {message.reason}"))
                case _:
                    yield worker, message

    def _update(self, worker: Worker, progress: Progress) -> None:
        """Take in how far a worker is; rows in hand of one that ended count no more."""
        worker.progress = progress
        found = [one.progress for one in self._workers]
        rows = self._rows + sum(one.rows for one in found)
        self._reporter.progress(rows, self._pairs + sum(one.pairs for one in found))

    def _opening_error(self, worker: Worker, ended: WorkerEnded) -> DeviceError:
        return DeviceError(
            f"the worker that opened the bundle {self.job.settings.bundle} on {worker.slot.device} {ended.reason}; see "
            "whether `scorer doctor --bundle` comes to an end there"
        )

    def _stop(self, worker: Worker, error: ScorerError) -> None:
        """Go on without a worker that cannot, unless the others could not either: then its error is raised."""
        is_first = self._begin is None and worker is self._workers[0]
        if is_first or len(self._workers) == 1 or isinstance(error, InputError | OutputError | UsageError):
            raise error
        self._exclude(worker, str(error))

    def _start(self, slot: WorkerSlot) -> Worker:
        process = EARLY.pop() if EARLY else WorkerProcess(WORKER, Reply)
        process.receives = Reply
        return Worker(slot, process)

    def _replace(self, worker: Worker) -> Worker:
        """Start another process in the slot of one that ended."""
        self._pairs += worker.progress.pairs
        fresh = self._start(worker.slot)
        self._workers[self._workers.index(worker)] = fresh
        return fresh

    def _accept(self, worker: Worker, info: WorkerInfo) -> None:
        """Let a worker begin if it computes as the first one does; otherwise exclude it."""
        if differs := differences(self.info, info):
            self._exclude(worker, f"differs from the plan in {differs}")
            return
        worker.is_ready = True
        worker.send(self._begin)

    def _exclude(self, worker: Worker, reason: str) -> None:
        """Go on without a worker; its shards are scored by the others."""
        self._workers.remove(worker)
        self._pairs += worker.progress.pairs
        self._todo.extend(worker.tasks.values())
        worker.process.kill()
        worker.process.close()
        reason = worker.slot.prefixed(reason)
        if not self._workers:
            self._out_of_workers(reason)
            return
        self._reporter.say(f"{reason}; the run continues without it")

    def _out_of_workers(self, reason: str) -> None:
        """Raises :class:`DeviceError`: the last worker was excluded."""
        raise DeviceError(f"no worker is left: {reason}; the same command resumes")


def _crashed_at(file: InputFile, ended: WorkerEnded, deaths: int) -> FooterRead:
    """The result of a file that ended a worker which read it and did nothing else. ``deaths``: such files in a row.

    Raises:
        RunStoppedError: these are too many.
    """
    error = f"{file.uri}: the process that read its footer {ended.reason}, twice, the second time with no other file"
    if deaths == MOST_DEATHS:
        many = f"{MOST_DEATHS} files in a row each ended a worker that read the footer"
        raise RunStoppedError(f"{many}; the last, {error}")
    return FooterRead(error=error, kind="crashed")


def differences(first: WorkerInfo, other: WorkerInfo) -> str:
    """In what two workers differ that must be equal, in words; empty if they agree."""
    if (first.signature, first.signature_parts) != (other.signature, other.signature_parts):
        return f"signature: {first.signature} → {other.signature}"
    one, two = (
        {
            "device": info.origin.device.description,
            "provider": info.provider,
            "runtime": info.origin.runtime,
            "versions": info.versions,
            "reused outputs": info.reuse.digest,
        }
        for info in (first, other)
    )
    return "; ".join(changes(one, two))
