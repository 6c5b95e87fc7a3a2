"""``--ray``: the worker of :mod:`.worker` as an actor on each GPU of a Ray cluster, or on each node without one.

An actor is a process: no process is started inside it. Requests and replies are those of :mod:`.executors`; an actor's
replies come as a stream, which a thread of the driver passes on to a connection, so that the driver waits for them as
for those of its own processes. Ray places actors and notices lost nodes; it restarts none, since with restarts a job
whose device is gone for good would not end.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from ..errors import DeviceError, ScorerError
from ..storage.opened_file import OpenedFile, RefusedError
from ..storage.run_plan import Plan
from ..storage.shards import InputFile, Shard
from ..system.codec import decode, encode, program_version
from ..system.processors import usable_cpus
from ..system.worker_process import WorkerEnd, WorkerHandle
from .devices import share_of
from .executors import (
    Begin,
    Executor,
    Inspected,
    Job,
    Open,
    Reply,
    Reporter,
    Request,
    Score,
    ShardResult,
    WorkerInfo,
    WorkerReady,
    WorkerSlot,
)
from .processes import Processes
from .ray_cluster import (
    Nodes,
    Parts,
    RaySlot,
    SentFile,
    demand_of,
    files_of,
    first_line,
    parts_of,
    place_files,
    slots_of,
    with_files_of,
)
from .worker import work
from .workers import Worker, WorkerEnded, Workers

Preparation = tuple[Literal["ready", "lacks files", "refused"], str]
"""Answer of a node that is to start a worker, with the reason of a refusal."""
_START_SECONDS = 30.0
"""Seconds without an actor before the message that the run waits for it."""
_NODES_SECONDS = 300.0
"""Seconds that a run waits for a node when none is left."""


class RayActor:
    """The worker on a node.

    Methods take and return plain values, so that a node with another version of this program can say so. Two calls run
    at a time: :meth:`run`, and one that answers the driver.
    """

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._folder = ""
        self._is_local = True
        self._temporary: dict[str, Path] = {}

    def prepare(self, version: str, files: Sequence[SentFile] = (), parts: Parts | None = None) -> Preparation:
        """Find the files of the run on this node, or take them from Ray's object store.

        Args:
            version: version of the driver.
            files: files that the worker needs.
            parts: their parts in Ray's object store (:func:`.ray_cluster.place_files`).
        """
        import ray

        if (own_version := program_version()) != version:
            return (
                "refused",
                f"it has d2t-scorer {own_version}, the driver has {version}; install one version on all nodes",
            )
        try:
            folder = place_files(files, parts, ray.get)
        except ScorerError as error:
            return "refused", str(error)
        if folder is None:
            return "lacks files", ""
        self._folder = folder
        return "ready", ""

    def run(self, number: int, processors: int) -> Iterator[bytes]:
        """The replies of the worker, until it ends.

        Args:
            number: number of the worker on its node.
            processors: processors that it may use; 0 for all of the node.
        """
        if processors and (cpus := share_of(usable_cpus(), number, processors)):
            os.sched_setaffinity(0, cpus)

        def serve() -> None:
            work(self, self._requests)
            self._replies.put(None)

        threading.Thread(target=serve, name="worker", daemon=True).start()
        while (content := self._replies.get()) is not None:
            yield content

    def ask(self, content: bytes) -> None:
        """Take a request of the driver. An output for a store is written in a folder of this node."""
        any_request: Any = Request
        request: Any = decode(content, any_request, "a message of the driver")
        if isinstance(request, Open):
            request = replace(request, settings=with_files_of(request.settings, self._folder))
            self._is_local = not request.out
        elif isinstance(request, Score) and not self._is_local:
            folder = self._temporary[request.shard.relative] = Path(tempfile.mkdtemp(prefix="d2t-scorer-"))
            request = replace(request, temporary=str(folder / "shard.parquet"))
        self._requests.put(request)

    def send(self, message: Any) -> None:
        """Reply to the driver."""
        if isinstance(message, ShardResult) and (folder := self._temporary.pop(message.relative, None)):
            shutil.rmtree(folder, ignore_errors=True)
        self._replies.put(encode(message))


class RayProcess(WorkerHandle):
    """The driver's end of an actor."""

    late_at: float | None
    """Time from which the user is told that the cluster has not started the actor; ``None`` once that was said."""
    is_pending: bool
    """Whether the cluster has yet to start the actor."""

    def __init__(self, executor: Ray, slot: RaySlot) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._executor, self._slot = executor, slot
        self._handle = (
            executor.ray.remote(RayActor)
            .options(
                num_cpus=slot.reserved,
                num_gpus=slot.gpus,
                max_restarts=0,
                max_task_retries=0,
                max_concurrency=2,
                scheduling_strategy=NodeAffinitySchedulingStrategy(slot.node, soft=False),
            )
            .remote()
        )
        self.late_at = time.monotonic() + _START_SECONDS
        self.is_pending, self._reason, self._may_lack_memory = True, "", False
        driver_end, self._theirs = Pipe()
        super().__init__(driver_end, Reply)
        threading.Thread(target=self._relay, name=f"replies of {slot.name}", daemon=True).start()

    def send(self, message: Any) -> None:
        """See :class:`.WorkerHandle`. It waits until the actor has started; calls are carried out in their order."""
        with suppress(Exception):  # `receive` reports that it has ended
            self._handle.ask.remote(encode(message))

    def kill(self) -> None:
        with suppress(Exception):  # it is dead already, or the cluster is gone
            self._executor.ray.kill(self._handle)

    def close(self) -> None:
        self.kill()
        self.connection.close()

    def end(self) -> WorkerEnd:
        self.close()
        return WorkerEnd(self._reason or "ended: its actor is gone", self._may_lack_memory)

    def _relay(self) -> None:
        """Prepare the actor, and pass on its replies."""
        get, version, files = self._executor.ray.get, program_version(), self._executor.files
        try:
            state, self._reason = get(self._handle.prepare.remote(version, files))
            if state == "lacks files":
                state, self._reason = get(self._handle.prepare.remote(version, files, self._executor.parts()))
            self.is_pending = False
            if state == "ready":
                processors = 0 if self._slot.gpus else self._slot.reserved
                run = self._handle.run.options(num_returns="streaming")
                for reference in run.remote(self._slot.number, processors):
                    self._theirs.send_bytes(get(reference))
        except Exception as error:  # of Ray, or of a connection that is closed
            if missing := re.search(r"ModuleNotFoundError.*?(No module named '[^']*')", str(error), re.DOTALL):
                self._reason = f"d2t-scorer cannot be imported on this node ({missing[1]}); install it"
            else:
                self._reason = f"ended: its actor died ({first_line(error)})"
                self._may_lack_memory = isinstance(error, self._executor.ray.exceptions.OutOfMemoryError)
        finally:
            self.is_pending = False
            self._theirs.close()


class Ray(Executor):
    """Workers on a cluster; nodes may join and leave.

    Args:
        job: settings and options of the run.
        ray: module of Ray, as :func:`.ray_cluster.connect` gives it.
        cpus: processors of each worker (``--ray-cpus``).
        reporter: receives the events of the run.

    Raises:
        UsageError, DeviceError: no node has the processors or GPUs of a worker.
        BundleError, TemplateError: a file that workers need does not exist.
    """

    def __init__(self, job: Job, ray: Any, cpus: int | None, reporter: Reporter) -> None:
        self.job, self._reporter, self.ray = job, reporter, ray
        self.files = files_of(job.settings)
        self._workers = Workers(job, self, reporter)
        self._nodes = Nodes(ray)
        self._demand = demand_of(job.settings.device, cpus, self._nodes.alive())
        self._parts: Parts | None = None
        self._putting = threading.Lock()

    @property
    def info(self) -> WorkerInfo:
        return self._workers.info

    def parts(self) -> Parts:
        """The files of the run in Ray's object store, put there once for all nodes."""
        with self._putting:
            if self._parts is None:
                self._parts = parts_of(self.files, self.ray.put)
            return self._parts

    def __enter__(self) -> Ray:
        self._take_in_nodes()
        return self

    def close(self) -> None:
        self._workers.close()

    def inspect(self, files: Sequence[InputFile]) -> Inspected:
        """Footers are read on the driver's machine, which sees the inputs, while the actors start."""
        with Processes(self.job, [WorkerSlot("", "cpu")], self._reporter) as processes:
            return processes.inspect(files)

    def open(self, plan: Plan | None, shards: Sequence[Shard]) -> None:
        """See :class:`.executors.Executor`. The first actor to start opens the scorer; if it cannot, the next one."""
        workers, first = self._workers, None
        while not any(worker.is_ready for worker in workers.all):
            if first not in workers.all:
                first = next((worker for worker in workers.all if worker.has_started), None)
                if first is not None:
                    first.send(self.job.open(plan, shards, first.slot))
            for worker, message in workers.receive():
                match message:
                    case WorkerReady():
                        workers.accept_first(worker, message.info)
                    case WorkerEnded():
                        workers.exclude(worker, message.reason)

    def score(self, shards: Sequence[Shard], begin: Begin, temporary: Callable[[str], Path]) -> Iterator[ShardResult]:
        return self._workers.score(shards, begin, temporary)

    def start(self, slot: WorkerSlot) -> WorkerHandle:
        """See :class:`.Site`."""
        assert isinstance(slot, RaySlot)
        return RayProcess(self, slot)

    def refresh(self) -> None:
        """Take in nodes that have joined. An actor that the cluster has not started yet does not hang."""
        self._take_in_nodes()
        now = time.monotonic()
        for worker in self._workers.all:
            actor = worker.process
            if isinstance(actor, RayProcess) and actor.is_pending:
                worker.heard = now
                if actor.late_at is not None and now > actor.late_at:
                    actor.late_at = None
                    self._reporter.say(
                        f"{worker.slot.name}: the cluster has not started its actor for {_START_SECONDS:.0f} s; it is "
                        "waited for (`ray status` shows what else holds processors or GPUs)"
                    )

    def ends_run(self, worker: Worker, error: ScorerError) -> bool:
        """Never: another node may see the inputs, or have the device, that this one lacks."""
        return False

    def refusal(self, task: Score, result: ShardResult) -> str:
        """A worker does not see an input, or sees it changed, while the driver sees it unchanged."""
        if result.unseen and _is_seen(task.shard):
            return f"does not see the inputs as the driver does: {result.error}"
        return ""

    def await_worker(self, reason: str) -> None:
        """Wait for a node where the cluster has none left."""
        workers, deadline, is_told = self._workers, time.monotonic() + _NODES_SECONDS, False
        while not workers.all and time.monotonic() < deadline:
            self._take_in_nodes()
            if workers.all or slots_of(self._nodes.alive(), self._demand):
                break
            if not is_told:
                self._reporter.say(f"{reason}; the cluster has no node for a worker, and the run waits for one")
            is_told = True
            time.sleep(1.0)
        if not workers.all:
            raise DeviceError(f"no worker is left: {reason}; the same command resumes")

    def _take_in_nodes(self) -> None:
        """Start a worker in each slot of the cluster that has none and is not excluded."""
        unavailable = {worker.slot for worker in self._workers.all} | self._workers.excluded
        for slot in slots_of(self._nodes.alive(), self._demand):
            if slot not in unavailable:
                self._workers.add(slot)


def _is_seen(shard: Shard) -> bool:
    """Whether this process sees an input with the size, time and version of its identity; nothing is decoded."""
    try:
        with OpenedFile(shard.file.uri) as file:
            traits = file.size, file.mtime_ns, file.e_tag
    except RefusedError:
        return False
    return traits == (shard.identity.size, shard.identity.mtime_ns, shard.identity.e_tag)
