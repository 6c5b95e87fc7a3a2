"""The only module that imports Ray: connects to a cluster, and runs the actors of ``--ray`` in it."""

from __future__ import annotations

import logging
import os
import pickle
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from ... import __version__
from ...errors import DeviceError, MissingDependencyError, UsageError
from ...system.closing import Closing
from .actor import RayWorker
from .head import Head, answers
from .messages import Died, Ended, Message, Refused, Wrote
from .paths import SharedPaths
from .slots import Node, RaySlot

_CONNECT_S = 10.0
_STOP_S = 12.0
"""How long actors may take to end their workers after an interrupt."""
_LISTEN_S = 2.0
"""How long an actor waits for something to tell."""


@dataclass(frozen=True)
class Job:
    """What all workers are told. ``request``: for the worker of a slot. ``prepare``: called before a worker starts."""

    paths: SharedPaths
    module: str
    request: Callable[[RaySlot], bytes]
    prepare: Callable[[], None]


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """The ``ray`` module, connected to a cluster until the context ends.

    Args:
        address: HOST:PORT, or ``auto``.

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
        raise MissingDependencyError("--ray needs Ray 2.60 or later: pip install 'd2t-scorer[ray]'") from error
    if why := answers(address, _CONNECT_S):  # Ray tries for a minute, and then ends the process
        raise DeviceError(
            f"--ray {address}: nothing answers there ({why}); give the address that `ray start --head` printed"
        )
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # ConnectionError, RuntimeError, ValueError, and some of Ray's own
        raise DeviceError(f"--ray {address}: {_first_line(error)}; start a cluster with `ray start --head`") from error
    try:
        yield ray
    finally:
        ray.shutdown()


@dataclass(frozen=True)
class _Actor:
    """An actor that runs. ``received``: bytes of its worker's output that arrived. ``has_begun``: whether its worker
    was started."""

    slot: RaySlot
    handle: Any
    received: int = 0
    has_begun: bool = False


class RayCluster(Closing):
    """Actors in a cluster; see :class:`.messages.Cluster`. At its end, the workers are ended and the actors killed.

    Args:
        ray: as :func:`connect` gives it.
    """

    def __init__(self, ray: Any, job: Job) -> None:
        self._ray = ray
        self._job = job
        self._calls: dict[Any, _Actor] = {}
        self._head = Head(str(ray.get_runtime_context().gcs_address))
        self._nodes: list[Node] = []

    def nodes(self) -> list[Node]:
        """Those that are alive, by their ids; while the head does not answer, those that were.

        Raises:
            DeviceError: the head is gone.
        """
        if not self._head.is_there():
            return self._nodes
        found = []
        for node in self._ray.nodes():
            if node["Alive"]:
                given = node.get("Resources", {})
                cpus, gpus = int(given.get("CPU", 0)), int(given.get("GPU", 0))
                found.append(Node(node["NodeID"], node.get("NodeManagerHostname") or "node", cpus, gpus))
        self._nodes = sorted(found, key=lambda node: node.id)
        return self._nodes

    def start(self, slot: RaySlot) -> None:
        """See :class:`.messages.Cluster`. The actor is bound to its node, and Ray never restarts it: with restarts,
        a job whose device is gone for good would not end."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        job = self._job
        job.prepare()
        chosen = self._ray.remote(RayWorker).options(
            num_cpus=slot.cpus,
            num_gpus=slot.gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(slot.node, soft=False),
        )
        handle = chosen.remote()
        cpus = 0 if slot.gpus else slot.cpus
        begun = handle.begin.remote(
            __version__, slot.number, cpus, pickle.dumps(job.paths), job.module, job.request(slot)
        )
        self._calls[begun] = _Actor(slot, handle)

    def listen(self, wait_s: float) -> list[Message]:
        """See :class:`.messages.Cluster`."""
        if not self._calls:
            time.sleep(wait_s)
            return []
        ready, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=wait_s)
        if ready:  # all others that are ready too
            ready, _ = self._ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)
        return [message for call in ready if (message := self._answer(call)) is not None]

    def waiting(self) -> list[RaySlot]:
        """See :class:`.messages.Cluster`."""
        return [actor.slot for actor in self._calls.values() if not actor.has_begun]

    def _answer(self, call: Any) -> Message | None:
        """What came of a call of an actor; calls it again, or lets it go."""
        actor = self._calls.pop(call)
        slot = actor.slot
        try:
            answer = self._ray.get(call)
        except self._ray.exceptions.ActorUnavailableError as error:
            if actor.has_begun:  # a broken connection; the actor may be there
                self._listen_to(actor)
                return None
            self._kill(actor)
            return Died(slot, _first_line(error))
        except self._ray.exceptions.RayError as error:
            self._kill(actor)
            if "ModuleNotFoundError" in str(error):
                return Refused(slot, f"d2t-scorer cannot be imported on this node ({_import_error(error)}); install it")
            return Died(slot, f"its actor died ({_first_line(error)})")
        if not actor.has_begun:
            if answer:
                self._kill(actor)
                return Refused(slot, answer)
            self._listen_to(replace(actor, has_begun=True))
            return None
        content, code = answer
        if code is not None:
            self._kill(actor)
            return Ended(slot, code)
        self._listen_to(replace(actor, received=actor.received + len(content)))
        return Wrote(slot, content) if content else None

    def _listen_to(self, actor: _Actor) -> None:
        self._calls[actor.handle.listen.remote(_LISTEN_S, actor.received)] = actor

    def _kill(self, actor: _Actor) -> None:
        with suppress(Exception):  # it is dead already, or the cluster is gone
            self._ray.kill(actor.handle)

    def close(self) -> None:
        """End all workers: ask them, so that they give their shards back, then kill the actors."""
        actors, self._calls = list(self._calls.values()), {}
        with suppress(Exception):  # the cluster may be gone
            asked = [actor.handle.stop.remote() for actor in actors if actor.has_begun]
            if asked:
                self._ray.wait(asked, num_returns=len(asked), timeout=_STOP_S)
        for actor in actors:
            self._kill(actor)


def _first_line(error: BaseException) -> str:
    """A message of Ray in one line; its later lines are advice and traces."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    return next((line.rstrip(".:") for line in lines if line), type(error).__name__)[:300]


def _import_error(error: BaseException) -> str:
    found = re.search(r"No module named '[^']*'", str(error))
    return found[0] if found else "ModuleNotFoundError"
