"""A Ray cluster of several nodes on one machine, as a process of its own: ``python -m tests.faults.ray_nodes``.

It reads a command a line, and answers each with a line of JSON: ``add CPUS GPUS`` starts a node, ``kill ID`` sends
SIGKILL to its raylet, ``count`` counts the nodes that are alive, ``behead`` sends SIGKILL to the
server of the head through which all others meet. The first line that it writes has the address. It ends
with its standard input. It runs in the environment that has Ray, and imports nothing else.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import ray
from ray.cluster_utils import Cluster

_STORE_BYTES = 80 << 20
"""Of each node's object store, near the least that Ray takes; nothing is put into it."""


def tell(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def main() -> None:
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE_BYTES},
    )
    ray.init(address=cluster.address, log_to_driver=False)
    nodes: dict[str, Any] = {}
    tell(address=cluster.address)
    for line in sys.stdin:
        command, *values = line.split()
        if command == "add":
            cpus, gpus = map(int, values)
            node = cluster.add_node(num_cpus=cpus, num_gpus=gpus, object_store_memory=_STORE_BYTES)
            nodes[node.node_id] = node
            tell(node=node.node_id)
        elif command == "count":
            tell(count=sum(node["Alive"] for node in ray.nodes()))
        elif command == "behead":
            cluster.head_node.kill_gcs_server(check_alive=False)
            tell(killed="head")
        else:
            nodes[values[0]].kill_raylet(check_alive=False)
            tell(killed=values[0])
    cluster.shutdown()


if __name__ == "__main__":
    main()
