"""Workers in processes of their own: two shards in flight each, replaced when they die, one publisher.

Where they run is a :class:`Crew`'s matter: processes of this machine (:mod:`.processes`) or actors of a Ray cluster
(:mod:`.ray.cluster`). A worker that dies loses nothing: its shards are tried again one at a time, and only one that
ends a worker by itself is quarantined.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from ..errors import DeviceError, InputError, ScorerError
from ..scoring.plan import Budgets, Plan
from ..scoring.row_scorer import Report
from ..scoring.summary import Speed
from ..storage import Counts, RunOutput
from ..storage.lock_files import Worker
from .executors import Executor, Handle
from .messages import (
    Begin,
    Facts,
    Failed,
    Frames,
    Job,
    Loaded,
    Moved,
    Progress,
    Ready,
    Request,
    Result,
    Said,
    Stopped,
    Task,
    Unseen,
    frame,
)
from .options import Reporter
from .plan_file import other_hardware
from .preview import Outlook
from .publisher import Publisher
from .shard_worker import task_of
from .survey import Shard, spread

SILENCE_S = 600.0
"""A worker without progress for so long is replaced; the run ends if that is the first one, before it is ready."""
LOST_S = 300.0
"""How long a run waits for a place when all have left."""
_IN_FLIGHT = 2
_MOST_DEATHS = 2
"""Deaths of a worker, without a shard in between, after which its place is given up."""


@dataclass(frozen=True)
class Place:
    """Where one worker runs. ``name``: for messages. ``device``: as for ``--device``. ``cpus``: how many processors it
    may use, 0 for all; ``number``: which share of its machine's these are."""

    name: str
    device: str
    number: int = 0
    cpus: int = 0


@dataclass(frozen=True)
class Wrote:
    """A worker wrote a piece of its output."""

    place: Any
    content: bytes


@dataclass(frozen=True)
class Ended:
    """A worker ended, and all of its output has been told. ``why``: how, in words. ``for_good``: it cannot run there
    at all."""

    place: Any
    why: str
    for_good: bool = False


class Crew(Protocol):
    """Worker processes, wherever they run."""

    def places(self) -> Sequence[Any]:
        """Where workers can run now."""
        ...

    def start(self, place: Any) -> None:
        """Start a worker; what it is told follows."""
        ...

    def send(self, place: Any, content: bytes) -> None:
        """Tell a worker; one that has ended is passed over."""
        ...

    def listen(self, wait_s: float) -> Sequence[Wrote | Ended]:
        """What happened, after at most so many seconds."""
        ...

    def kill(self, place: Any) -> None:
        """End a worker at once; :meth:`listen` tells."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...


@dataclass
class _Worker:
    """A worker that runs. ``tasks``: the shards that it has; ``is_suspect``: one that was in a worker that died."""

    place: Any
    frames: Frames = field(default_factory=Frames)
    facts: Facts | None = None
    tasks: dict[str, Task] = field(default_factory=dict)
    is_suspect: bool = False
    progress: tuple[int, float] = (0, 0.0)
    heard: float = field(default_factory=lambda: time.monotonic())
    stopped: Stopped | None = None
    begun: bool = False


class Pool(Executor):
    """See the module.

    Args:
        job: what workers make a row scoring of.
    """

    def __init__(self, crew: Crew, job: Job) -> None:
        self._crew, self._job = crew, job
        self._workers: dict[Any, _Worker] = {}
        self._deaths: dict[Any, int] = {}
        self._given_up: set[Any] = set()
        self._why = ""
        self._died: list[str] = []
        self._facts: Facts | None = None
        self._budgets = Budgets()
        self._earlier: Plan | None = None
        self._starts: tuple[Task, ...] = ()
        self._pairs = 0
        self._lost: float | None = None
        self._reporter: Reporter

    def prepare(self, ahead: Outlook, budgets: Budgets, earlier: Plan | None, reporter: Reporter) -> Facts:
        """See :class:`.executors.Executor`. One worker finds out; the others take what it found."""
        self._reader, self._reporter = ahead.reader, reporter
        self._budgets, self._earlier = budgets, earlier
        self._starts = tuple(task_of(shard, "") for shard in spread(ahead.found.usable))
        for place in list(self._workers):
            self._crew.kill(place)
        while True:
            if not self._workers:
                self._start(self._free()[:1])
            for worker in self._listen(lambda result: None):
                if worker.facts is not None:
                    self._facts = worker.facts
                    return worker.facts
            for worker in self._silent():
                raise DeviceError(
                    f"{worker.place.name}: no progress for {SILENCE_S:.0f} s while {self._job} was opened and verified "
                    f"on {worker.place.device}; see whether `scorer doctor --bundle` comes to an end there"
                )
            self._refuse_end(f"the device or {self._job} cannot be used")

    def score(self, todo: Sequence[tuple[Shard, str]], plan: Plan, output: RunOutput, handle: Handle) -> None:
        self._budgets, self._earlier = plan.budgets, plan
        self._begin = Begin(plan, output.token)
        self._waiting = deque(task_of(shard, expect) for shard, expect in todo)
        self._suspects: deque[Task] = deque()
        self._left = {shard.file.relative for shard, _ in todo}
        with Publisher() as self._publisher:
            while self._left:
                self._start(self._free())
                for worker in self._workers.values():
                    self._give(worker)
                self._listen(handle)
                output.show([_shown(worker) for worker in self._workers.values()], self._died)
                for worker in self._silent():
                    self._reporter.say(f"{worker.place.name}: no progress for {SILENCE_S:.0f} s; it is ended")
                    worker.heard = time.monotonic()
                    self._crew.kill(worker.place)
                self._refuse_end("the same command resumes")
            self._publisher.finish()
        for worker in self._workers.values():
            self._crew.send(worker.place, frame(None))

    def report(self, counts: Counts, seconds: float) -> Report:
        """Rates of all workers together."""
        origin = self._facts.origin if self._facts is not None else None
        bounds = (origin.bound, origin.invariance_error) if origin is not None else (None, None)
        return Report(Speed.of(counts, seconds), self._budgets.exact, *bounds)

    def close(self) -> None:
        """End all workers."""
        self._crew.close()

    def _free(self) -> list[Any]:
        return [one for one in self._crew.places() if one not in self._workers and one not in self._given_up]

    def _start(self, places: Sequence[Any]) -> None:
        for place in places:
            self._crew.start(place)
            self._workers[place] = _Worker(place)
            request = Request(
                job=self._job,
                device=place.device,
                number=place.number,
                cpus=place.cpus,
                budgets=self._budgets,
                earlier=self._earlier,
                starts=self._starts,
                talks=self._facts is None,
            )
            self._crew.send(place, frame(request))

    def _give(self, worker: _Worker) -> None:
        """Give a worker shards, as many as it should have; a suspect goes to one that has nothing else."""
        if worker.facts is None:
            return
        if not worker.begun:
            worker.begun = True
            self._crew.send(worker.place, frame(self._begin))
        while len(worker.tasks) < _IN_FLIGHT and not worker.is_suspect:
            if self._suspects and not worker.tasks:
                task, worker.is_suspect = self._suspects.popleft(), True
            elif self._waiting:
                task = self._waiting.popleft()
            else:
                return
            if not worker.tasks:
                worker.heard = time.monotonic()
            worker.tasks[task.relative] = task
            self._crew.send(worker.place, frame(task))

    def _listen(self, handle: Handle) -> list[_Worker]:
        """Take in what workers say; the workers that are left."""
        for message in self._crew.listen(1.0):
            worker = self._workers.get(message.place)
            if worker is None:
                continue
            if isinstance(message, Ended):
                self._end(worker, message, handle)
                continue
            for said in worker.frames.read(message.content):
                if not isinstance(said, Progress) or said.rows or (said.pairs, said.partial) != worker.progress:
                    worker.heard = time.monotonic()
                self._take(worker, said, handle)
        return list(self._workers.values())

    def _take(self, worker: _Worker, said: Any, handle: Handle) -> None:
        name = worker.place.name
        if isinstance(said, Moved):
            return
        if isinstance(said, Said):
            self._reporter.say(f"{name}: {said.message}")
        elif isinstance(said, Progress):
            worker.progress = said.pairs, said.partial
            pairs = self._pairs + sum(one.progress[0] for one in self._workers.values())
            partial = sum(one.progress[1] for one in self._workers.values())
            self._reporter.progress(said.shard, said.rows, pairs, partial)
        elif isinstance(said, Ready):
            self._welcome(worker, said.facts)
        elif isinstance(said, Stopped):
            worker.stopped = said
            if issubclass(said.error, InputError):  # no other worker could go on either
                raise said.error(f"{name}: {said.message}")
        elif isinstance(said, Loaded):
            handle(said)
        elif isinstance(said, Unseen):
            task = worker.tasks.get(said.failed.relative)
            if task is not None and self._is_seen(task):
                self._waiting.extendleft(worker.tasks.values())
                worker.tasks.clear()
                self._leave_out(worker, f"does not see the inputs as the driver does: {said.failed.message}")
            else:
                self._done(worker, said.failed, handle)
        else:
            self._done(worker, said, handle)

    def _done(self, worker: _Worker, result: Result, handle: Handle) -> None:
        worker.tasks.pop(result.relative, None)
        worker.is_suspect = worker.is_suspect and bool(worker.tasks)
        self._deaths.pop(worker.place, None)
        if result.relative in self._left:
            self._left.discard(result.relative)
            self._publisher.put(partial(handle, result))

    def _is_seen(self, task: Task) -> bool:
        """Whether the driver still sees a shard as it was planned."""
        try:
            return self._reader.probe(task.uri).identity == task.identity
        except ScorerError:
            return False

    def _leave_out(self, worker: _Worker, why: str) -> None:
        self._why = f"{worker.place.name} {why}"
        self._reporter.say(f"{self._why}; the run continues without it")
        self._given_up.add(worker.place)
        self._crew.kill(worker.place)

    def _welcome(self, worker: _Worker, facts: Facts) -> None:
        """Let a worker begin if it computes as the first one does; otherwise it is named and left out."""
        first, plan, differ = self._facts, self._earlier, ""
        if first is not None:
            differ = _differences(first, facts)
        elif plan is not None and plan.signature == facts.signature:
            differ = other_hardware(plan, facts)
        if differ:
            self._leave_out(worker, f"differs from the plan in {differ}")
        else:
            worker.facts = facts

    def _end(self, worker: _Worker, ended: Ended, handle: Handle) -> None:
        """A worker ended: its shards go to others, and it is replaced unless it cannot work there."""
        place, name = worker.place, worker.place.name
        del self._workers[place]
        self._pairs += worker.progress[0]
        alone = list(worker.tasks.values()) if worker.is_suspect else []
        for task in worker.tasks.values():
            if task not in alone:
                self._suspects.append(task)
        if place in self._given_up:
            return
        why = worker.stopped.message if worker.stopped is not None else ended.why
        self._why = f"{name}: {why}"
        self._died.append(self._why)
        self._deaths[place] = self._deaths.get(place, 0) + 1
        for task in alone:
            self._left.discard(task.relative)
            self._deaths.pop(place, None)  # the shard is to blame, not the device
            reason = f"{task.uri}: the process that scored it {why}, twice, the second time with no other shard"
            handle(Failed(task.relative, "crashed", reason, task.identity))
        if worker.stopped is not None or ended.for_good or self._deaths.get(place, 0) >= _MOST_DEATHS:
            self._given_up.add(place)
            self._reporter.say(f"{self._why}; the run continues without it")
        else:
            self._reporter.say(f"{self._why}; it is started again")

    def _silent(self) -> list[_Worker]:
        """Workers that have something to do and have made no progress."""
        busy = [worker for worker in self._workers.values() if worker.tasks or worker.facts is None]
        return [worker for worker in busy if time.monotonic() - worker.heard > SILENCE_S]

    def _refuse_end(self, advice: str) -> None:
        """Give up where no worker runs and none can be started.

        Raises:
            DeviceError: says how the last one ended.
        """
        if self._workers or self._free():
            self._lost = None
            return
        self._lost = self._lost or time.monotonic()
        if self._crew.places() or time.monotonic() - self._lost > LOST_S:
            raise DeviceError(f"no worker is left: {self._why or 'no device'}; {advice}")


def _shown(worker: _Worker) -> Worker:
    device = worker.facts.device if worker.facts is not None else "getting ready"
    return Worker(worker.place.name, device, tuple(worker.tasks))


def _differences(first: Facts, other: Facts) -> str:
    """In what two workers differ that must be equal, in words; empty if they agree."""
    if first.signature != other.signature:
        return f"signature: {first.signature.line} → {other.signature.line}"
    if hardware := other_hardware(first, other):
        return hardware
    return "" if _reused(first) == _reused(other) else "reused outputs"


def _reused(facts: Facts) -> str:
    return facts.reuse.digest if facts.reuse is not None else ""
