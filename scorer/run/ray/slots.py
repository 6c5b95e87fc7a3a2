"""``--ray``: for which GPUs and processors of a cluster there is to be a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import DeviceError, UsageError
from ..pool import Place


@dataclass(frozen=True)
class Node:
    """A node of a Ray cluster that is alive. ``cpus``, ``gpus``: that Ray may give out, in use or not."""

    id: str
    host: str
    cpus: int
    gpus: int


@dataclass(frozen=True, kw_only=True)
class RaySlot(Place):
    """A place for one worker on a node. ``reserved``, ``gpus``: the processors and GPUs that its actor reserves."""

    node: str
    reserved: int
    gpus: int


@dataclass(frozen=True)
class Demand:
    """What each worker gets. ``gpus``: 1 or 0. ``cpus``: processors; ``None`` for all of its node, or one next to a
    GPU."""

    gpus: int
    cpus: int | None = None

    def count(self, node: Node) -> int:
        """How many workers a node has room for."""
        if self.gpus:
            return node.gpus if not self.cpus else min(node.gpus, node.cpus // self.cpus)
        return node.cpus // (self.cpus or max(node.cpus, 1))

    def __str__(self) -> str:
        cpus = f"{self.cpus} CPU core{'' if self.cpus == 1 else 's'}" if self.cpus else ""
        if self.gpus:
            return f"a GPU and {cpus}" if cpus else "a GPU"
        return cpus or "a CPU core"


def demand_of(device: str, cpus: int | None, nodes: Sequence[Node]) -> Demand:
    """What each worker is to get; ``auto`` is a GPU if a node has one, otherwise processors.

    Args:
        device: of ``--device``.
        cpus: of ``--ray-cpus``.

    Raises:
        UsageError: a device of one machine.
        DeviceError: no node has what a worker needs.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"--device {device} with --ray: Ray chooses the GPU of a worker; write auto, cpu or cuda")
    has_gpu = any(node.gpus for node in nodes)
    demand = Demand(int(device == "cuda" or (device == "auto" and has_gpu)), cpus)
    if not any(demand.count(node) for node in nodes):
        most = max((node.cpus for node in nodes), default=0)
        raise DeviceError(
            f"--ray: no node of the cluster has {demand} to give out (nodes: {len(nodes)}, most CPU cores of a node: "
            f"{most}, GPUs: {sum(node.gpus for node in nodes)}); start nodes, or change --device or --ray-cpus"
        )
    return demand


def slots_of(nodes: Sequence[Node], demand: Demand) -> list[RaySlot]:
    """The places for workers, by node. A name is the host's, with more where hosts or workers have the same."""
    hosts = Counter(node.host for node in nodes)
    found = []
    for node in nodes:
        count = demand.count(node)
        host = node.host if hosts[node.host] == 1 else f"{node.host}/{node.id[:8]}"
        cpus = demand.cpus or (min(1, node.cpus) if demand.gpus else node.cpus)
        for number in range(count):
            name = host if count == 1 else f"{host}#{number}"
            # A worker sees its own GPU alone, and may use all processors.
            device, share = ("cuda:0", 0) if demand.gpus else ("cpu", cpus)
            found.append(RaySlot(name, device, number, share, node=node.id, reserved=cpus, gpus=demand.gpus))
    return found
