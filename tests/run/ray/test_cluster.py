"""Workers on a cluster: for which GPUs and processors, with a real process below an actor, while the head is there."""

from __future__ import annotations

import socket
import sys
import time

import pytest

from scorer import __version__
from scorer.errors import DeviceError, UsageError
from scorer.run.ray.actor import RayWorker
from scorer.run.ray.head import Head, answers
from scorer.run.ray.slots import Demand, Node, demand_of, slots_of
from scorer.system.signals import ends_with_parent

HEAD = Node("aa" * 8, "head", 0, 0)
CPU = Node("bb" * 8, "big", 16, 0)
GPU = Node("cc" * 8, "fast", 8, 4)


def test_a_worker_gets_a_gpu_where_there_is_one_and_what_no_node_has_is_refused() -> None:
    assert demand_of("auto", None, [HEAD, CPU]) == Demand(0)
    assert demand_of("auto", None, [HEAD, CPU, GPU]) == Demand(1)
    assert demand_of("cpu", 4, [HEAD, CPU, GPU]) == Demand(0, 4)
    assert demand_of("cuda", 2, [GPU]) == Demand(1, 2)
    for device, cpus, nodes, says in (
        ("cuda", None, [HEAD, CPU], "has a GPU to give out .*most CPU cores of a node: 16, GPUs: 0"),
        ("cuda", 9, [GPU], "has a GPU and 9 CPU cores to give out"),
        ("auto", None, [], "nodes: 0"),
    ):
        with pytest.raises(DeviceError, match=says):
            demand_of(device, cpus, nodes)
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


def echo() -> None:
    """Write the request twice and end with it, as a worker process."""
    ends_with_parent(int(sys.argv[1]))
    code, wait_s = map(float, sys.stdin.buffer.readline().split())
    for _ in range(2):
        sys.stdout.write(f"{code:.0f}\n")
        sys.stdout.flush()
        time.sleep(wait_s)
    sys.exit(int(code))


def test_output_is_told_once_and_again_if_a_reply_was_lost() -> None:
    worker = RayWorker()
    assert worker.begin(__version__, module=__name__) == ""
    worker.send(b"3 0.3\n")
    heard = b""
    while True:
        content, code = worker.listen(60.0, len(heard))
        assert worker.listen(0.0, len(heard))[0].startswith(content), "nothing is forgotten before it is acknowledged"
        heard += content
        if code is not None:
            break
    assert (heard, code) == (b"3\n3\n", 3)
    assert worker.listen(0.0, len(heard)) == (b"", 3)


def test_a_stopped_worker_has_ended() -> None:
    worker = RayWorker()
    worker.stop()
    assert worker.begin(__version__, module=__name__) == ""
    worker.send(b"0 600\n")
    assert worker.listen(60.0, 0) == (b"0\n", None)
    worker.stop()
    assert worker.listen(60.0, 2) == (b"", -15)


def test_a_node_with_another_version_starts_nothing() -> None:
    assert f"d2t-scorer {__version__}, the driver has 9.9" in RayWorker().begin("9.9")


def test_a_head_that_comes_back_is_waited_for_and_one_that_is_gone_is_named() -> None:
    said, now = [""], [0.0]
    head = Head("10.0.0.1:6379", lambda address: said[0], lambda: now[0])
    assert head.is_there()
    said[0] = "Connection refused"
    for now[0] in (1.0, 10.0, 20.0):
        assert not head.is_there()
    said[0] = ""
    assert head.is_there()
    said[0] = "Connection refused"
    for now[0] in (21.0, 41.0):
        assert not head.is_there()
    now[0] = 42.0
    with pytest.raises(DeviceError, match=r"the head of the cluster, 10\.0\.0\.1:6379, is gone \(Connection refused\)"):
        head.is_there()


def test_an_address_answers_or_says_why() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert answers(address) == ""
    assert "refused" in answers(address)
    assert answers("auto") == ""
    assert answers("127.0.0.1:99999999999") != ""


if __name__ == "__main__":
    echo()
