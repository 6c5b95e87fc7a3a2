"""For which GPUs and processors of a cluster ``--ray`` wants workers."""

from __future__ import annotations

import pytest

from scorer.errors import DeviceError, UsageError
from scorer.run.ray.slots import Demand, Node, demand_of, slots_of

HEAD = Node("aa" * 8, "head", 0, 0)
CPU = Node("bb" * 8, "big", 16, 0)
GPU = Node("cc" * 8, "fast", 8, 4)


@pytest.mark.parametrize(
    ("device", "cpus", "nodes", "demand"),
    [
        ("auto", None, [HEAD, CPU], Demand(0)),
        ("auto", None, [HEAD, CPU, GPU], Demand(1)),
        ("cpu", 4, [HEAD, CPU, GPU], Demand(0, 4)),
        ("cuda", 2, [GPU], Demand(1, 2)),
    ],
)
def test_a_worker_gets_a_gpu_where_there_is_one(
    device: str, cpus: int | None, nodes: list[Node], demand: Demand
) -> None:
    assert demand_of(device, cpus, nodes) == demand


@pytest.mark.parametrize(
    ("device", "cpus", "nodes", "says"),
    [
        ("cuda", None, [HEAD, CPU], "has a GPU to give out .*most CPU cores of a node: 16, GPUs: 0"),
        ("cuda", 9, [GPU], "has a GPU and 9 CPU cores to give out"),
        ("auto", None, [], "nodes: 0"),
    ],
)
def test_what_no_node_has_is_refused(device: str, cpus: int | None, nodes: list[Node], says: str) -> None:
    with pytest.raises(DeviceError, match=says):
        demand_of(device, cpus, nodes)


def test_ray_chooses_the_gpu() -> None:
    with pytest.raises(UsageError, match="write auto, cpu or cuda"):
        demand_of("cuda:1", None, [GPU])


def test_a_node_has_a_worker_for_each_gpu_or_share_of_processors() -> None:
    def found(demand: Demand) -> list[tuple[str, int, int, str]]:
        return [(slot.name, slot.reserved, slot.gpus, slot.device) for slot in slots_of([HEAD, CPU, GPU], demand)]

    assert found(Demand(1)) == [(f"fast#{number}", 1, 1, "cuda:0") for number in range(4)]
    assert found(Demand(1, 4)) == [("fast#0", 4, 1, "cuda:0"), ("fast#1", 4, 1, "cuda:0")]
    assert found(Demand(0)) == [("big", 16, 0, "cpu"), ("fast", 8, 0, "cpu")]
    assert found(Demand(0, 6)) == [("big#0", 6, 0, "cpu"), ("big#1", 6, 0, "cpu"), ("fast", 6, 0, "cpu")]


def test_nodes_with_one_host_name_are_told_apart() -> None:
    nodes = [Node("1234567890", "same", 1, 0), Node("abcdefghij", "same", 1, 0)]
    assert [slot.name for slot in slots_of(nodes, Demand(0))] == ["same/12345678", "same/abcdefgh"]
