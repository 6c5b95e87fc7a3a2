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
"""Seconds without progress after which a worker that owes a reply is killed."""
IN_FLIGHT = 2
"""Shards of a worker at a time: the one that it scores, and the next."""
UPLOADED_AT_ONCE = 4
"""Further shards that a worker has on their way to an object store."""
MOST_DEATHS = 5
"""Shards, or files, that each end a worker with none finished between them, after which the run stops: they are not the
cause."""


class WorkerEnded(NamedTuple):
    """The end of a worker, in place of a message."""

    end: WorkerEnd
    """Cause of the end."""
    reported_out_of_memory: bool = False
    """Whether it had reported that it lacks memory."""

    @property
    def reason(self) -> str:
        """Continues "the worker …"."""
        return self.end.reason


class RunStoppedError(ScorerError):
    """Shard after shard, or file after file, ended a worker."""

    exit_code = 3


@dataclass(eq=False)
class Worker:
    """A worker, as the driver sees it."""

    slot: WorkerSlot
    """Slot that it runs in."""
    process: WorkerHandle
    """Handle of its process or actor."""
    has_started: bool = False
    """Whether it has sent a message."""
    is_ready: bool = False
    """Whether it has opened the scorer."""
    is_isolated: bool = False
    """Whether its only shard is under suspicion."""
    reported_out_of_memory: bool = False
    """Whether its last message was that it lacks memory."""
    owed: int = 0
    """Replies that it still has to send."""
    heard: float = field(default_factory=time.monotonic)
    """Time of the last message from it or to it, in seconds on a monotonic clock."""
    progress: Progress = field(default_factory=Progress)
    """Its last report of progress."""
    tasks: dict[str, Score] = field(default_factory=dict)
    """Shards in flight, by path of the output."""

    def send(self, message: Any, replies: int = 1) -> None:
        self.owed += replies
        self.heard = time.monotonic()
        self.process.send(message)

    def receive(self) -> Any:
        """The next message, or the end of the worker."""
        self.heard = time.monotonic()
        try:
            message = self.process.receive()
        except (EOFError, OSError):
            return WorkerEnded(self.process.end(), self.reported_out_of_memory)
        self.reported_out_of_memory = isinstance(message, OutOfMemory)
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
    """A place to run workers in, and the meaning of their failures there."""

    def start(self, slot: WorkerSlot) -> WorkerHandle:
        """Start a worker, without waiting for it."""
        ...

    def refresh(self) -> None:
        """Add workers where more can run. Called before each wait for messages."""
        ...

    def ends_run(self, worker: Worker, error: ScorerError) -> bool:
        """Whether the run cannot go on without a worker that failed."""
        ...

    def refusal(self, task: Score, result: ShardResult) -> str:
        """Why a result and its worker are not accepted; empty if they are."""
        ...

    def await_worker(self, reason: str) -> None:
        """Wait for another worker, since the last one was excluded for a reason; or raise :class:`.DeviceError`."""
        ...


class Workers(Closing):
    """The workers of a run."""

    all: list[Worker]
    """Workers that have not ended."""
    excluded: set[WorkerSlot]
    """Slots without which the run goes on."""
    info: WorkerInfo
    """Description of the first worker that opened the scorer; the others must agree with it."""

    def __init__(self, job: Job, site: Site, reporter: Reporter) -> None:
        self._job, self._site, self._reporter = job, site, reporter
        self.all, self.excluded = [], set()
        self._begin: Begin | None = None
        self._todo, self._suspects = deque[Score](), deque[Score]()
        self._in_flight = IN_FLIGHT + (0 if isinstance(job.options.out, Path) else UPLOADED_AT_ONCE)
        self._rows, self._pairs = 0, 0  # of finished shards, of ended workers
        self._said: set[str] = set()

    @property
    def has_begun(self) -> bool:
        """Whether shards are scored, so that a new worker opens the scorer at once."""
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
        """Error for a worker that ended while it opened the scorer."""
        return DeviceError(
            f"the worker that opened the bundle {self._job.settings.bundle} on {worker.slot.device} {ended.reason}; "
            "see whether `scorer doctor --bundle` comes to an end there"
        )

    def accept_first(self, worker: Worker, info: WorkerInfo) -> None:
        """Use the description of the first open worker for the run."""
        self.info, worker.is_ready = info, True

    def receive(self) -> Iterator[tuple[Worker, Any]]:
        """Receive the next messages of workers, and the end of those that ended; waits for a second at most.

        Progress and lines for the user go to the reporter. The silence of a worker counts up to the moment at which
        this process begins to wait: before, it may have published for long, or have been stopped.
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
                    if message.text not in self._said:  # several workers may send the same line
                        self._said.add(message.text)
                        self._reporter.say(message.text)
                case WorkerError():
                    self.fail(worker, message.to_exception())
                case WorkerEnded() if not worker.has_started:
                    self.fail(worker, DeviceError(f"a worker does not start: {message.reason}"))
                case _:
                    yield worker, message

    def score(self, shards: Sequence[Shard], begin: Begin, temporary: Callable[[str], Path]) -> Iterator[ShardResult]:
        """Score shards (:meth:`.Executor.score`). The shards in flight of a worker that ends are tried again, each
        alone; one that ends this worker too is given up."""
        self._begin, remaining, deaths = begin, len(shards), 0
        self._todo.extend(Score(shard=shard) for shard in shards)
        for worker in self.all:
            worker.send(begin if worker.is_ready else self._job.open(begin.plan, (), worker.slot))
        while remaining:
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
                        remaining, deaths = remaining - 1, 0
                        self._rows += message.receipt.output.rows if message.receipt is not None else 0
                        self._update(worker, replace(worker.progress, rows=0.0))
                        yield message
                    case WorkerEnded() if not worker.is_ready:
                        self.fail(worker, self.opening_error(worker, message))
                    case WorkerEnded():
                        if (blamed := self._retry_or_give_up(worker, message)) is not None:
                            remaining, deaths = remaining - 1, deaths + 1
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

    def _retry_or_give_up(self, worker: Worker, ended: WorkerEnded) -> ShardResult | None:
        """Set aside the shards of a dead worker, to be tried alone.

        Returns:
            The result of a shard that was alone already, unless the worker lacked memory: such a shard is tried once
            more, in windows of half the size.
        """
        if not (worker.is_isolated and worker.tasks):
            self._suspects.extend(worker.tasks.values())
            message = worker.slot.prefixed(f"the worker {ended.reason}")
            self._reporter.say(f"{message}; it is started again, and its shards are tried one at a time")
            return None
        (task,) = worker.tasks.values()
        shard = task.shard
        if ended.reported_out_of_memory and not task.halved:
            self._suspects.appendleft(replace(task, halved=True))
            self._reporter.say(f"{shard.name}: too little memory; it is tried again in windows of half the size")
            return None
        tries = (
            "three times, the last time in windows of half the size"
            if task.halved
            else "twice, the second time with no other shard"
        )
        error = f"{shard.file.uri}: the process that scored it {ended.reason}, {tries}"
        if ended.reported_out_of_memory or ended.end.may_lack_memory:
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
        """Take the progress of a worker; unfinished rows of a worker that ended count no more."""
        worker.progress = progress
        rows = self._rows + sum(worker.progress.rows for worker in self.all)
        self._reporter.progress(rows, self._pairs + sum(worker.progress.pairs for worker in self.all))


def differences(first: WorkerInfo, other: WorkerInfo) -> str:
    """Differences of two workers in traits that must be equal, in words; empty if they agree."""
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
