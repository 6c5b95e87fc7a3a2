"""The driver of ``--ray``: starts workers where a cluster has room, replaces those that die, passes on what they say.

What workers have in common is the output folder, so this process may be killed and started again, and two of them may
run at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import OutputError, ScorerError
from ...scoring.summary import RunSummary
from ...storage.open_joined import read_run
from ...system.signals import sigterm_raises
from .. import events
from ..options import Outcome, Reporter, RunOptions
from ..relay import EventLines, Relay
from ..worker_process import end_of
from .fleet import Fleet
from .messages import Cluster, Died, Ended, Message, Refused, Wrote
from .paths import Probe, make_probe, shared_paths
from .slots import Demand, Node, RaySlot, demand_of

_LOST_S = 300.0
"""How long a run waits for a node when all have left."""
_BUSY_S = 30.0
"""After which it is said that workers wait for processors or GPUs that others use."""
_END_S = 30.0
"""After the end of the run was told by a worker, how long the others may take to see it."""


def run_on_ray(
    address: str,
    options: RunOptions,
    demanded: tuple[str, int | None],
    files: list[Path],
    worker: tuple[str, Callable[[RaySlot], bytes]],
    reporter: Reporter,
) -> Outcome:
    """Run workers on a Ray cluster until the run ends.

    Args:
        address: of the cluster; ``auto`` for the one of this machine.
        options: with absolute paths, since workers have another working directory.
        demanded: ``--device`` and ``--ray-cpus``.
        files: what must have the same content on each node: the bundle's manifest, the template file.
        worker: module and request of a worker process; see :mod:`..worker_process`.

    Raises:
        ScorerError: there is no cluster, no node can run a worker, or no worker came to the end of the run.
        Terminated, KeyboardInterrupt: interrupted; the workers have ended.
    """
    from .cluster import Job, RayCluster, connect

    out = options.out
    with ExitStack() as stack:
        probe = stack.enter_context(make_probe(out))
        paths = shared_paths(options, files, probe)
        ray = stack.enter_context(connect(address))
        # After the connection, because Ray has a handler of its own.
        stack.enter_context(sigterm_raises())
        cluster = stack.enter_context(RayCluster(ray, Job(paths, *worker, probe.write)))
        demand = demand_of(*demanded, cluster.nodes())
        driver = Driver(cluster, Fleet(demand), demand, Relay(reporter), probe)
        ended = driver.drive()
    if ended is None:
        raise ScorerError(f"{out}: no worker came to the end of the run: {driver.why}; the same command resumes")
    summary = RunSummary.parse(read_run(out), str(out))
    if summary is None:
        raise OutputError(f"{out}: the workers ended, and there is no _run.json; run again")
    return Outcome(summary, ended.code, ended.reason)


@dataclass
class Driver:
    """One run over a cluster. ``probe``: what the first worker may remove. ``why``: how the last worker
    ended that did not come to the end of the run. ``now``: seconds on a clock that does not go back."""

    cluster: Cluster
    fleet: Fleet
    demand: Demand
    relay: Relay
    probe: Probe
    now: Callable[[], float] = time.monotonic
    why: str = ""
    _lines: dict[RaySlot, EventLines] = field(default_factory=dict)
    _said: dict[RaySlot, events.Ended] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _lost: float = 0.0
    _said_busy: bool = False
    _is_over: bool = False

    def drive(self) -> events.Ended | None:
        """Until the run ends; its end, as a worker told it, or ``None`` if no worker came to it."""
        began = self._lost = self.now()
        found = None
        while found is None:
            nodes = self.cluster.nodes()
            self._start(nodes)
            if self._is_hopeless(nodes):
                return None
            if self.now() - began > _BUSY_S:
                self._say_what_is_waited_for()
            found = self._listen()
        self._is_over = True
        until = self.now() + _END_S
        while self.now() <= until and len(self.cluster.waiting()) < len(self.fleet.running):
            self._listen()
        return found

    def _listen(self) -> events.Ended | None:
        found = None
        for message in self.cluster.listen(1.0):
            found = self._take(message) or found
        return found

    def _is_hopeless(self, nodes: list[Node]) -> bool:
        """Whether no worker runs, and none will."""
        if self.fleet.running:
            self._lost = self.now()
            return False
        if self.fleet.has_places(nodes):
            self._lost = self.now()
            return not self.fleet.may_start(nodes)
        if self.now() - self._lost <= _LOST_S:
            return False
        self.why = f"for {_LOST_S:.0f} s no node has had {self.demand} to give out"
        return True

    def _say_what_is_waited_for(self) -> None:
        waiting = self.cluster.waiting()
        if waiting and not self._said_busy:
            self._said_busy = True
            names = ", ".join(slot.name for slot in waiting[:3]) + (", ..." if len(waiting) > 3 else "")
            self.relay.reporter.say(
                f"workers wait for {self.demand} that others use: {len(waiting)} ({names}); `ray status` shows who, "
                "--ray-cpus reserves less"
            )

    def _start(self, nodes: list[Node]) -> None:
        slots = self.fleet.to_start(nodes, self.now())
        for slot in slots:
            self._lines[slot] = EventLines()
            self._said.pop(slot, None)
            self.cluster.start(slot)
        new = [node for node in nodes if node.id not in self._seen and self.demand.count(node)]
        if new:
            count = sum(self.demand.count(node) for node in new)
            what = f"{count} worker{'' if count == 1 else 's'} on {len(new)} node{'' if len(new) == 1 else 's'}"
            self.relay.reporter.say(
                f"ray: {what} joined" if self._seen else f"ray: {what}, each with {self.demand.given}"
            )
        self._seen.update(node.id for node in new)

    def _take(self, message: Message) -> events.Ended | None:
        """React to a message; the end of the run, if a worker has told it."""
        slot, say = message.slot, self.relay.reporter.say
        if isinstance(message, Wrote):
            self._pass_on(slot, message.content)
            return None
        self.relay.forget(slot.name)
        if isinstance(message, Refused):
            if not self.probe.exists():  # removed by the first worker meanwhile, so the check proves nothing
                self.fleet.again(slot)
            else:
                self._give_up(slot, message.why)
            return None
        if isinstance(message, Ended):
            said = self._said.get(slot)
            if said is not None and said.concluded:
                self.fleet.ended(slot)
                return said
            if said is not None:
                self._give_up(slot, said.reason)
                return None
        why = message.why if isinstance(message, Died) else f"its process ended with {end_of(message.code)}"
        self.why = f"{slot.name}: {why}"
        is_replaced = self.fleet.died(slot, self.now())
        if not self._is_over:
            say(f"{slot.name}: {why}; " + ("it is replaced if its node is there" if is_replaced else "it is given up"))
        return None

    def _give_up(self, slot: RaySlot, why: str) -> None:
        self.why = f"{slot.name}: {why}"
        self.fleet.ended(slot)
        self.relay.reporter.say(f"{slot.name}: {why}; the other workers go on")

    def _pass_on(self, slot: RaySlot, content: bytes) -> None:
        for event in self._lines[slot].read(content):
            if isinstance(event, events.Ended):
                self._said[slot] = event
            elif isinstance(event, events.Progress):
                self.fleet.scored(slot)
            self.relay.take(slot.name, event)
