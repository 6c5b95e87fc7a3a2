"""The only module that imports Ray: connects to a cluster, and runs the actors of ``--ray`` in it."""

from __future__ import annotations

import logging
import math
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ... import __version__
from ...errors import DeviceError, MissingDependencyError, UsageError, install_hint
from ...system.closing import Closing
from ..messages import Moved, Said, frame
from ..pool import Ended, Wrote
from ..processes import end_of
from .actor import MISSING, RayWorker
from .head import Head, answers
from .shipment import Parts, SentFile, parts_of
from .slots import Node, RaySlot, demand_of, slots_of

_CONNECT_S = 10.0
_START_S = 30.0
"""After such a time without an actor, people are told what is waited for."""
_STOP_S = 12.0
"""How long actors may take to end their workers after an interrupt."""
_LISTEN_S = 2.0
"""How long an actor waits for something to tell."""
_LOOK_S = 1.0
_LISTENING = "listening"
"""The thread of an actor in which it waits; otherwise a shard that is sent would wait for it to end."""


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
    elif why := answers(found, _CONNECT_S):
        # Ray tries for a minute, and then ends the process
        raise DeviceError(
            f"--ray {address}: nothing answers there ({why}); give the address that `ray start --head` printed"
        )
    elif ":" in found:
        _refuse_token(ray, address, found)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **more)
    except Exception as error:  # ConnectionError, RuntimeError, ValueError, and some of Ray's own
        raise DeviceError(f"--ray {address}: {_first_line(error)}; start a cluster with `ray start --head`") from error
    try:
        yield ray
    finally:
        ray.shutdown()


@dataclass
class _Actor:
    """An actor. ``received``: bytes of its worker's output that arrived. ``has_begun``: whether its worker was
    started. ``late``: when to say that it was not; infinite once that is said."""

    handle: Any
    received: int = 0
    has_begun: bool = False
    late: float = field(default_factory=lambda: time.monotonic() + _START_S)


class RayCrew(Closing):
    """An actor with a worker process on each GPU, or on each node without one; see :class:`..pool.Crew`.

    Args:
        ray: as :func:`connect` gives it.
        device, cpus: ``--device`` and ``--ray-cpus``.
        files: what each worker needs; nodes that lack them are sent them.

    Raises:
        UsageError, DeviceError: no node has what a worker needs.
    """

    def __init__(self, ray: Any, device: str, cpus: int | None, files: Sequence[SentFile] = ()) -> None:
        self._ray, self._files = ray, files
        self._parts: Parts | None = None
        self._head = Head(str(ray.get_runtime_context().gcs_address))
        self._nodes: list[Node] = []
        self._looked = -math.inf
        self._demand = demand_of(device, cpus, self._living())
        self._calls: dict[Any, RaySlot] = {}
        self._actors: dict[RaySlot, _Actor] = {}

    def places(self) -> Sequence[RaySlot]:
        """One for each GPU, or share of the processors, of the nodes that are alive.

        Raises:
            DeviceError: the head is gone.
        """
        return slots_of(self._living(), self._demand)

    def start(self, place: RaySlot) -> None:
        """The actor is bound to its node, and Ray never restarts it: with restarts, a job whose device is gone for good
        would not end."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        chosen = self._ray.remote(concurrency_groups={_LISTENING: 1})(RayWorker).options(
            num_cpus=place.reserved,
            num_gpus=place.gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(place.node, soft=False),
        )
        self._actors[place] = _Actor(chosen.remote())
        self._begin(place, None)

    def _begin(self, place: RaySlot, parts: Parts | None) -> None:
        self._calls[self._actors[place].handle.begin.remote(__version__, self._files, parts)] = place

    def send(self, place: RaySlot, content: bytes) -> None:
        """Calls of one actor are carried out in their order, so that this follows what was sent before."""
        if place in self._actors:
            self._actors[place].handle.send.remote(content)

    def listen(self, wait_s: float) -> Sequence[Wrote | Ended]:
        if not self._calls:
            time.sleep(wait_s)
            return []
        ready, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=wait_s)
        if ready:  # all others that are ready too
            ready, _ = self._ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)
        told = [message for call in ready if (message := self._answer(call)) is not None]
        return [*told, *self._late()]

    def _late(self) -> list[Wrote]:
        """One line, as if from the worker, for each actor that the cluster has not started in time. It is waited for:
        nothing of it hangs."""
        found = []
        for place, actor in self._actors.items():
            if actor.has_begun:
                continue
            if actor.late == math.inf:
                found.append(Wrote(place, frame(Moved())))
            elif time.monotonic() > actor.late:
                actor.late = math.inf
                line = (
                    f"the cluster has not started its actor for {_START_S:.0f} s; it is waited for (`ray status` shows "
                    "what else holds processors or GPUs)"
                )
                found.append(Wrote(place, frame(Said(line))))
        return found

    def kill(self, place: RaySlot) -> None:
        if place in self._actors:
            self._end(self._actors[place].handle)

    def close(self) -> None:
        """End all workers: ask them, then kill the actors."""
        handles = [actor.handle for actor in self._actors.values()]
        self._actors, self._calls = {}, {}
        with suppress(Exception):  # the cluster may be gone
            asked = [handle.stop.options(concurrency_group=_LISTENING).remote() for handle in handles]
            if asked:
                self._ray.wait(asked, num_returns=len(asked), timeout=_STOP_S)
        for handle in handles:
            self._end(handle)

    def _living(self) -> list[Node]:
        """The nodes that are alive, by their ids; while the head does not answer, those that were. The head is asked
        once a second, and again when an actor is gone: an answer takes as long as a small shard."""
        if time.monotonic() - self._looked < _LOOK_S or not self._head.is_there():
            return self._nodes
        self._looked = time.monotonic()
        found = []
        for node in self._ray.nodes():
            if node["Alive"]:
                given = node.get("Resources", {})
                cpus, gpus = int(given.get("CPU", 0)), int(given.get("GPU", 0))
                found.append(Node(node["NodeID"], node.get("NodeManagerHostname") or "node", cpus, gpus))
        self._nodes = sorted(found, key=lambda node: node.id)
        return self._nodes

    def _answer(self, call: Any) -> Wrote | Ended | None:
        """What came of a call of an actor; calls it again, or lets it go."""
        place = self._calls.pop(call)
        actor = self._actors[place]
        try:
            answer = self._ray.get(call)
        except self._ray.exceptions.ActorUnavailableError as error:
            if actor.has_begun:  # a broken connection; the actor may be there
                self._listen_to(place)
                return None
            return self._gone(place, _first_line(error))
        except self._ray.exceptions.RayError as error:
            if "ModuleNotFoundError" in str(error):
                why = f"d2t-scorer cannot be imported on this node ({_import_error(error)}); install it"
                return self._gone(place, why, for_good=True)
            return self._gone(place, f"its actor died ({_first_line(error)})")
        if not actor.has_begun:
            if answer == MISSING:
                self._parts = self._parts or parts_of(self._files, self._ray.put)  # once, for all nodes
                self._begin(place, self._parts)
                return None
            if answer:
                return self._gone(place, answer, for_good=True)
            actor.has_begun = True
            self._listen_to(place)
            return None
        content, code = answer
        if code is not None:
            return self._gone(place, f"its process ended with {end_of(code)}")
        actor.received += len(content)
        self._listen_to(place)
        return Wrote(place, content) if content else None

    def _listen_to(self, place: RaySlot) -> None:
        actor = self._actors[place]
        listen = actor.handle.listen.options(concurrency_group=_LISTENING)
        self._calls[listen.remote(_LISTEN_S, actor.received)] = place

    def _gone(self, place: RaySlot, why: str, *, for_good: bool = False) -> Ended:
        self._end(self._actors.pop(place).handle)
        self._looked = -math.inf
        return Ended(place, why, for_good)

    def _end(self, handle: Any) -> None:
        with suppress(Exception):  # it is dead already, or the cluster is gone
            self._ray.kill(handle)


def _on_this_machine() -> str | None:
    """The address of the cluster that runs on this machine; one that was killed leaves its address."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found: str | None = canonicalize_bootstrap_address("auto")
    except ConnectionError:
        return None
    return None if found is None or answers(found) else found


def _refuse_token(ray: Any, given: str, address: str) -> None:
    """Ask the head once whether it takes the token: ``ray.init`` asks it for 20 s, and does not say why it gives up.

    Raises:
        DeviceError: it does not, or there is none.
    """
    from ray._private.authentication.authentication_token_setup import ensure_token_if_auth_enabled
    from ray._raylet import GcsClient

    try:
        ensure_token_if_auth_enabled(create_token_if_missing=False)
        GcsClient(address=address)
    except ray.exceptions.AuthenticationError as error:
        raise DeviceError(
            f"--ray {given}: no token that the cluster at {address} takes ({_first_line(error)}); set "
            "RAY_AUTH_MODE=token, and copy ~/.ray/auth_token of the machine on which the head was started to this one"
        ) from error
    except Exception:  # what else is wrong, `ray.init` says
        return


def _first_line(error: BaseException) -> str:
    """A message of Ray in one line; its later lines are advice and traces."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    return next((line.rstrip(".:") for line in lines if line), type(error).__name__)[:300]


def _import_error(error: BaseException) -> str:
    found = re.search(r"No module named '[^']*'", str(error))
    return found[0] if found else "ModuleNotFoundError"
