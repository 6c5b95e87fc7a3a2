"""Workers on a Ray cluster (``--ray``): the same worker as an actor on each GPU, or share of a node's processors.

An actor is a process, so no other process is in it. Requests and replies pass through Ray, rows never do. Ray never
restarts an actor; the executor does, on the same node. This is the only module that imports Ray.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import socket
import threading
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from typing import Any

from msgspec.structs import replace

from .. import __version__
from ..errors import DeviceError, MissingDependencyError, ScorerError, UsageError, install_hint
from ..scoring.settings import Settings
from ..system.codec import decode, encode
from ..system.worker_process import Channel, mark_as_worker
from .executors import Job
from .messages import Inspect, LogMessage, Open, OutOfMemory, Progress, Reply, Request, WorkerError
from .processes import Place, Processes, share_of, usable_cpus
from .progress import Reporter
from .ray_files import Parts, SentFile, files_of, parts_of, place_files, with_files_of
from .worker import answer

_REQUESTS: Any = Request
_REPLIES: Any = Reply
MISSING = "missing"
"""The answer of a node that has to be sent the bundle."""
_ANSWER_S = 10.0
_LATE_S = 30.0
"""After such a time without an actor, people are told what is waited for."""
_HEAR_S = 2.0
"""How long an actor waits for something to tell."""


class RayWorker:
    """A worker in an actor. Methods take and return plain values, so that a node with another version of this program
    can say so. ``hear`` runs in a concurrency group of its own: otherwise a request would wait for it to end."""

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._folder = ""

    def begin(self, version: str, files: Sequence[SentFile], parts: Parts | None, share: tuple[int, int]) -> str:
        """Start to work; empty, :data:`MISSING`, or why it is not started.

        Args:
            version: of the driver.
            files, parts: what the worker needs, and where it is in Ray's object store; see :func:`.place_files`.
            share: which share of the node's processors it may use, and how many workers share them.
        """
        if version != __version__:
            return f"it has d2t-scorer {__version__}, the driver has {version}; install one version on all nodes"
        try:
            folder = place_files(files, parts, _taken_out)
        except ScorerError as error:
            return str(error)
        if folder is None:
            return MISSING
        self._folder = folder
        if cpus := share_of(usable_cpus(), *share):
            with suppress(OSError):
                os.sched_setaffinity(0, cpus)  # before the runtime counts its threads
        mark_as_worker()
        threading.Thread(target=self._work, name="worker", daemon=True).start()
        return ""

    def send(self, content: bytes) -> None:
        """Take in a request."""
        message = decode(content, _REQUESTS, "a request of the driver")
        if isinstance(message, Inspect | Open):
            settings = Settings.from_plan(message.settings, "the driver's request")
            message = replace(message, settings=with_files_of(settings, self._folder).to_plan())
        self._requests.put(message)

    def hear(self, wait_s: float) -> list[bytes]:
        """The replies since the last call; waits for the first one."""
        found: list[bytes] = []
        with suppress(queue.Empty):
            found.append(self._replies.get(timeout=wait_s))
            while True:
                found.append(self._replies.get_nowait())
        return found

    def _work(self) -> None:
        channel = _QueueChannel(self._replies)
        try:
            answer(channel, self._requests)
        except ScorerError as error:
            channel.send(WorkerError.of(error))
        except MemoryError:
            channel.send(OutOfMemory())
            self._end()
        except BaseException:
            traceback.print_exc()
            self._end()

    def _end(self) -> None:
        """End the actor once what it has said was heard."""
        while not self._replies.empty():
            threading.Event().wait(0.1)
        os._exit(1)


class _QueueChannel(Channel):
    """The end of a conversation that an actor replies on."""

    def __init__(self, replies: queue.SimpleQueue[bytes]) -> None:
        self._replies = replies

    def send(self, message: Any) -> None:
        self._replies.put(encode(message))


class RayProcess:
    """An actor, as the executor sees a worker process; see :class:`scorer.system.worker_process.WorkerProcess`.

    A thread asks the actor for its replies and writes them to a pipe, so that all workers can be waited for at once.
    """

    def __init__(self, ray: Any, place: RayPlace, files: Sequence[SentFile], parts: _LazyParts) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray, self._files, self._parts, self._place = ray, files, parts, place
        chosen = ray.remote(concurrency_groups={"hear": 1})(RayWorker).options(
            num_cpus=place.reserved,
            num_gpus=place.gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(place.node, soft=False),
        )
        self._handle = chosen.remote()
        self._why = "its actor was ended"
        self._ours, self._theirs = Pipe(duplex=False)
        threading.Thread(target=self._pump, name="actor", daemon=True).start()

    def fileno(self) -> int:
        return self._ours.fileno()

    def send(self, message: Any) -> None:
        """Send a request, which the actor takes in after those before it."""
        self._handle.send.remote(encode(message))

    def receive(self) -> Any:
        """The next reply. Raises :class:`EOFError` or :class:`OSError` if the actor has ended."""
        return decode(self._ours.recv_bytes(), _REPLIES, "a reply of a worker")

    def kill(self) -> None:
        """End the actor at once."""
        with suppress(Exception):  # it is dead already, or the cluster is gone
            self._ray.kill(self._handle)

    def close(self) -> None:
        """End the actor."""
        self.kill()
        with suppress(OSError):
            self._ours.close()

    def describe_end(self) -> str:
        """Why the actor ended."""
        self.close()
        return self._why

    def _pump(self) -> None:
        """Start the worker in the actor, then pass its replies on until it ends."""
        try:
            why = self._begin(None)
            if why == MISSING:
                why = self._begin(self._parts.get())
            if why:
                self._tell(WorkerError(error="DeviceError", message=f"{self._place.name}: {why}"))
            while True:
                for content in self._ray.get(self._handle.hear.options(concurrency_group="hear").remote(_HEAR_S)):
                    self._theirs.send_bytes(content)
        except ScorerError as error:
            with suppress(OSError):
                self._tell(WorkerError.of(error))
        except OSError:
            pass  # the driver has closed its end
        except Exception as error:
            self._why = f"ended: its actor died ({first_line(error)})"
        with suppress(OSError):
            self._theirs.close()

    def _begin(self, parts: Parts | None) -> str:
        """Begin; while the cluster has not started the actor, say so, and that nothing hangs."""
        call = self._handle.begin.remote(__version__, self._files, parts, (self._place.number, self._place.count))
        waited = 0.0
        while not self._ray.wait([call], timeout=_ANSWER_S)[0]:
            waited += _ANSWER_S
            self._tell(Progress(moved=int(waited)))
            if waited == _LATE_S:
                line = (
                    f"{self._place.name}: the cluster has not started its actor for {_LATE_S:.0f} s; it is waited for "
                    "(`ray status` shows what else holds processors or GPUs)"
                )
                self._tell(LogMessage(text=line))
        found: str = self._ray.get(call)
        return found

    def _tell(self, message: Any) -> None:
        self._theirs.send_bytes(encode(message))


@dataclass(frozen=True)
class RayPlace(Place):
    """A place for one worker on a node. ``reserved``, ``gpus``: the processors and GPUs that its actor reserves.
    ``number``, ``count``: which of how many workers of its node it is, where they share its processors."""

    node: str = ""
    reserved: int = 0
    gpus: int = 0
    number: int = 0
    count: int = 1


class _LazyParts:
    """Files in Ray's object store, put there once, when a node lacks them."""

    def __init__(self, ray: Any, files: Sequence[SentFile]) -> None:
        self._ray, self._files, self._lock = ray, files, threading.Lock()
        self._parts: Parts | None = None

    def get(self) -> Parts:
        with self._lock:
            self._parts = self._parts or parts_of(self._files, self._ray.put)
        return self._parts


class RayWorkers(Processes):
    """The executor of actors. Outputs in a store are uploaded by the workers."""

    uploads = True

    def __init__(self, ray: Any, job: Job, cpus: int | None, reporter: Reporter) -> None:
        super().__init__(job, places_of(ray.nodes(), job.settings.device, cpus), reporter)
        self._ray, self._files = ray, files_of(job.settings)
        self._parts = _LazyParts(ray, self._files)

    def _start_process(self, place: Place) -> Any:
        assert isinstance(place, RayPlace)
        return RayProcess(self._ray, place, self._files, self._parts)


def places_of(nodes: Sequence[dict[str, Any]], device: str, cpus: int | None) -> list[RayPlace]:
    """The places for workers: one for each GPU, or share of the processors, of the nodes that are alive.

    Args:
        nodes: as ``ray.nodes()`` gives them.
        device: of ``--device``; ``auto`` is a GPU if a node has one, otherwise processors.
        cpus: of ``--ray-cpus``: processors of a worker; ``None`` for all of its node, or one next to a GPU.

    Raises:
        UsageError: a device of one machine.
        DeviceError: no node has what a worker needs.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"--device {device} with --ray: Ray chooses the GPU of a worker; write auto, cpu or cuda")
    alive = sorted((node for node in nodes if node["Alive"]), key=lambda node: str(node["NodeID"]))
    given = [(int(n.get("Resources", {}).get("CPU", 0)), int(n.get("Resources", {}).get("GPU", 0))) for n in alive]
    wants_gpu = device == "cuda" or (device == "auto" and any(gpus for _, gpus in given))
    hosts = Counter(node.get("NodeManagerHostname") or "node" for node in alive)
    places = []
    for node, (cores, gpus) in zip(alive, given, strict=True):
        if wants_gpu:
            count, reserved = min(gpus, cores // cpus) if cpus else gpus, cpus or min(1, cores)
        else:
            count, reserved = cores // (cpus or max(cores, 1)), cpus or cores
        host = node.get("NodeManagerHostname") or "node"
        name = host if hosts[host] == 1 else f"{host}/{node['NodeID'][:8]}"
        for number in range(count):
            places.append(
                RayPlace(
                    name if count == 1 else f"{name}#{number}",
                    "cuda:0" if wants_gpu else "cpu",
                    node=node["NodeID"],
                    reserved=reserved,
                    gpus=int(wants_gpu),
                    number=number,
                    count=1 if wants_gpu else count,
                )
            )
    if not places:
        parts = [*(["a GPU"] if wants_gpu else []), *([f"{cpus} CPU cores"] if cpus else [])]
        wanted = " and ".join(parts)
        raise DeviceError(
            f"--ray: no node of the cluster has {wanted or 'a CPU core'} to give out (nodes: {len(alive)}, most CPU "
            f"cores of a node: {max((cores for cores, _ in given), default=0)}, GPUs: {sum(g for _, g in given)}); "
            "start nodes, or change --device or --ray-cpus"
        )
    return places


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """The ``ray`` module, connected to a cluster until the context ends.

    Args:
        address: HOST:PORT, or ``auto`` for the cluster that runs on this machine; if there is none, Ray is started here
            and ends with the context.

    Raises:
        UsageError: an address of Ray Client.
        MissingDependencyError: Ray is not installed.
        DeviceError: there is no such cluster, or it runs another version of Ray or Python.
    """
    if address.startswith("ray://"):
        raise UsageError(
            f"--ray {address}: Ray Client is not supported; start the command on a node of the cluster, with --ray auto"
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # otherwise a warning; workers name their device
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(f"--ray needs Ray 2.60 or later; {install_hint('ray')}") from error
    more = {}
    named = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    found = _on_this_machine() if named == "auto" else named
    if found is None:
        address, more = "local", {"include_dashboard": False}
    elif why := answers(found):
        # Ray tries for a minute, and then ends the process.
        raise DeviceError(
            f"--ray {address}: nothing answers there ({why}); give the address that `ray start --head` printed"
        )
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **more)
    except Exception as error:  # ConnectionError, RuntimeError, ValueError, and some of Ray's own
        raise DeviceError(f"--ray {address}: {first_line(error)}; start a cluster with `ray start --head`") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def answers(address: str, wait_s: float = _ANSWER_S) -> str:
    """Why nothing listens on an address; empty if something does, or if it is not of the form HOST:PORT."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return ""
    try:
        with socket.create_connection((host.strip("[]"), int(port)), wait_s):
            return ""
    except (OSError, OverflowError) as error:
        return str(error) or type(error).__name__


def first_line(error: BaseException) -> str:
    """A message of Ray in one line; its later lines are advice and traces."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    return next((line.rstrip(".:") for line in lines if line), type(error).__name__)[:300]


def _on_this_machine() -> str | None:
    """The address of the cluster that runs on this machine; one that was killed leaves its address."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found: str | None = canonicalize_bootstrap_address("auto")
    except ConnectionError:
        return None
    return None if found is None or answers(found) else found


def _taken_out(reference: Any) -> bytes:
    """A part of a file, out of Ray's object store."""
    import ray

    content: bytes = ray.get(reference)
    return content
