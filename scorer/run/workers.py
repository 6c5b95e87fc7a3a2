"""Workers and the shards in their hands, wherever the workers run: messages, deaths, hangs, and retries.

A worker that dies loses nothing: its shards are tried again one at a time, and only one that ends a worker by itself is
quarantined. Held by the executors of :mod:`.processes` and :mod:`.ray_executor`, which say where workers run
(:class:`Site`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from ..errors import DeviceError, ScorerError
from ..storage.receipts import changes
from ..storage.shards import Shard
from ..system.waiting import Closing, check_signals
from ..system.worker_process import WorkerEnd, WorkerHandle
from .executors import (
    Begin,
    Job,
    LogMessage,
    OutOfMemory,
    Progress,
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
UPLOADED_AT_ONCE = 4
"""Further shards that a worker has on their way to an object store."""
MOST_DEATHS = 5
"""So many shards, or files, in a row that each end a worker stop the run: it is not the shards."""


class WorkerEnded(NamedTuple):
    """The end of a worker, in place of a message.

    Attributes:
        end: the way in which it ended.
        lacks_memory: it said before that it lacks memory.
    """

    end: WorkerEnd
    lacks_memory: bool = False

    @property
    def reason(self) -> str:
        """Continues "the worker …"."""
        return self.end.reason


class RunStoppedError(ScorerError):
    """Shard after shard, or file after file, ended a worker."""

    exit_code = 3


@dataclass(eq=False)
class Worker:
    """A worker and what the driver knows of it.

    Attributes:
        has_started: it has sent a message.
        is_isolated: it has one shard, under suspicion.
        owed: replies that it still has to send.
        heard: when it last said or was asked something.
        tasks: shards in flight, by output.
    """

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
            return WorkerEnded(self.process.end(), self.lacks_memory)
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
        return WorkerEnded(WorkerEnd(f"made no progress for {HANG_SECONDS:.0f} s and was killed"))


class Site(Protocol):
    """Where workers run, and what their failures mean there."""

    def start(self, slot: WorkerSlot) -> WorkerHandle:
        """Start a worker. Does not wait for it."""
        ...

    def refresh(self) -> None:
        """Called before each wait for messages; may add workers."""
        ...

    def ends_run(self, worker: Worker, error: ScorerError) -> bool:
        """Whether the run cannot go on without a worker that failed."""
        ...

    def refusal(self, task: Score, result: ShardResult) -> str:
        """Why a result does not count, and neither does its worker; empty if it counts."""
        ...

    def await_worker(self, reason: str) -> None:
        """Wait for another worker, since the last one was excluded for a reason; or raise :class:`.DeviceError`."""
        ...


class Workers(Closing):
    """The workers of a run.

    Attributes:
        all: the workers that there are.
        excluded: slots without which the run goes on.
        info: of the first worker that opened the scorer; the others must agree with it.
        has_begun: shards are scored, so that a new worker opens the scorer at once.
    """

    info: WorkerInfo

    def __init__(self, job: Job, site: Site, reporter: Reporter) -> None:
        self._job, self._site, self._reporter = job, site, reporter
        self.all: list[Worker] = []
        self.excluded: set[WorkerSlot] = set()
        self._begin: Begin | None = None
        self._todo, self._suspects = deque[Score](), deque[Score]()
        self._in_flight = IN_FLIGHT + (0 if isinstance(job.options.out, Path) else UPLOADED_AT_ONCE)
        self._rows, self._pairs = 0, 0  # of finished shards, of ended workers
        self._said: set[str] = set()

    @property
    def has_begun(self) -> bool:
        return self._begin is not None

    def close(self) -> None:
        """End all workers."""
        for worker in self.all:
            worker.process.close()
        self.all = []

    def add(self, slot: WorkerSlot) -> Worker:
        """Start a worker in a slot."""
        self.all.append(self._start(slot))
        return self.all[-1]

    def replace(self, worker: Worker) -> Worker:
        """Start another worker in the slot of one that ended."""
        self._pairs += worker.progress.pairs
        fresh = self._start(worker.slot)
        self.all[self.all.index(worker)] = fresh
        return fresh

    def _start(self, slot: WorkerSlot) -> Worker:
        worker = Worker(slot, self._site.start(slot))
        if self._begin is not None:
            worker.send(self._job.open(self._begin.plan, (), slot))
        return worker

    def exclude(self, worker: Worker, reason: str) -> None:
        """Go on without a worker; its shards are scored by the others."""
        self.all.remove(worker)
        self.excluded.add(worker.slot)
        self._pairs += worker.progress.pairs
        self._todo.extend(worker.tasks.values())
        worker.process.kill()
        worker.process.close()
        reason = worker.slot.prefixed(reason)
        if not self.all:
            self._site.await_worker(reason)
            return
        self._reporter.say(f"{reason}; the run continues without it")

    def fail(self, worker: Worker, error: ScorerError) -> None:
        """Go on without a worker that cannot, or raise its error where the run cannot go on either."""
        if self._site.ends_run(worker, error):
            raise error
        self.exclude(worker, str(error))

    def opening_error(self, worker: Worker, ended: WorkerEnded) -> DeviceError:
        """The error of a worker that ended while it opened the scorer."""
        return DeviceError(
            f"the worker that opened the bundle {self._job.settings.bundle} on {worker.slot.device} {ended.reason}; "
            "see whether `scorer doctor --bundle` comes to an end there"
        )

    def accept_first(self, worker: Worker, info: WorkerInfo) -> None:
        """Take what the first open worker says of itself as that of the run."""
        self.info, worker.is_ready = info, True

    def receive(self) -> Iterator[tuple[Worker, Any]]:
        """Receive the next messages of workers, and the end of those that ended; waits for a second at most.

        Progress and lines for people go to the reporter. The silence of a worker counts up to the moment from which it
        is waited for: before, this process may have published for long, or have been stopped.
        """
        check_signals()
        self._site.refresh()
        now = time.monotonic()
        speaking = wait([worker.process.connection for worker in self.all], timeout=1.0)
        for worker in list(self.all):
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
                    self.fail(worker, message.to_exception())
                case WorkerEnded() if not worker.has_started:
                    self.fail(worker, DeviceError(f"a worker does not start: {message.reason}"))
                case _:
                    yield worker, message

    def score(self, shards: Sequence[Shard], begin: Begin, temporary: Callable[[str], Path]) -> Iterator[ShardResult]:
        """Score shards, see :meth:`.Executor.score`. Those in flight when a worker ends are tried again, each alone;
        one that ends this worker too is given up."""
        self._begin, left, deaths = begin, len(shards), 0
        self._todo.extend(Score(shard=shard) for shard in shards)
        for worker in self.all:
            worker.send(begin if worker.is_ready else self._job.open(begin.plan, (), worker.slot))
        while left:
            self._hand_out(temporary)
            for worker, message in self.receive():
                match message:
                    case WorkerReady() if worker.is_ready:  # it has begun, and knows the keys of reused outputs
                        self.info = replace(self.info, reuse=message.info.reuse)
                    case WorkerReady():
                        self._accept(worker, message.info)
                    case ShardResult() if refusal := self._site.refusal(worker.tasks[message.relative], message):
                        self.exclude(worker, refusal)
                    case ShardResult():
                        del worker.tasks[message.relative]
                        left, deaths = left - 1, 0
                        self._rows += message.receipt.output.rows if message.receipt is not None else 0
                        self._update(worker, replace(worker.progress, rows=0.0))
                        yield message
                    case WorkerEnded() if not worker.is_ready:
                        self.fail(worker, self.opening_error(worker, message))
                    case WorkerEnded():
                        if (blamed := self._blame(worker, message)) is not None:
                            left, deaths = left - 1, deaths + 1
                            yield blamed
                            if deaths == MOST_DEATHS:
                                raise RunStoppedError(
                                    f"{MOST_DEATHS} shards in a row each ended a worker; the last, {blamed.error}"
                                )
                        self.replace(worker)

    def _hand_out(self, temporary: Callable[[str], Path]) -> None:
        """Give workers that are ready their next shards."""
        for worker in self.all:
            while worker.is_ready and (task := self._next(worker)) is not None:
                worker.tasks[task.shard.relative] = task
                worker.send(replace(task, temporary=str(temporary(task.shard.relative))))

    def _next(self, worker: Worker) -> Score | None:
        """The next shard of a worker; one under suspicion gets a worker that has nothing else."""
        if not worker.tasks:
            worker.is_isolated = bool(self._suspects)
            if self._suspects:
                return self._suspects.popleft()
        if self._todo and not worker.is_isolated and len(worker.tasks) < self._in_flight:
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
        if ended.lacks_memory and not task.halved:
            self._suspects.appendleft(replace(task, halved=True))
            self._reporter.say(f"{shard.name}: too little memory; it is tried again in windows of half the size")
            return None
        error = (
            f"{shard.file.uri}: the process that scored it {ended.reason}, twice, the second time with no other shard"
        )
        if ended.lacks_memory or ended.end.may_lack_memory:
            error += "; give the machine more memory, or run fewer workers"
        return ShardResult(relative=shard.relative, identity=shard.identity, error=error, kind="crashed")

    def _accept(self, worker: Worker, info: WorkerInfo) -> None:
        """Let a worker begin if it computes as the first one does; otherwise exclude it."""
        if differs := differences(self.info, info):
            self.exclude(worker, f"differs from the plan in {differs}")
            return
        worker.is_ready = True
        worker.send(self._begin)

    def _update(self, worker: Worker, progress: Progress) -> None:
        """Take in how far a worker is; rows in hand of one that ended count no more."""
        worker.progress = progress
        rows = self._rows + sum(worker.progress.rows for worker in self.all)
        self._reporter.progress(rows, self._pairs + sum(worker.progress.pairs for worker in self.all))


def differences(first: WorkerInfo, other: WorkerInfo) -> str:
    """In what two workers differ that must be equal, in words; empty if they agree."""
    if (first.signature, first.signature_parts) != (other.signature, other.signature_parts):
        return f"signature: {first.signature} → {other.signature}"
    first_traits, other_traits = (
        {
            "device": info.origin.device.description,
            "provider": info.provider,
            "runtime": info.origin.runtime,
            "versions": info.versions,
            "reused outputs": info.reuse.digest,
        }
        for info in (first, other)
    )
    return "; ".join(map(str, changes(first_traits, other_traits)))
