"""Workers on a cluster: for which GPUs and processors, and while the head is there; the actor without Ray; the bundle
and the templates on a node, with a list in the place of Ray's object store."""

from __future__ import annotations

import shutil
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scorer import __version__
from scorer.errors import DeviceError, ScorerError, UsageError
from scorer.inference.bundle import Bundle
from scorer.run.executors import Inspect, Open, Score, ShardResult
from scorer.run.ray_cluster import (
    Demand,
    Node,
    Nodes,
    demand_of,
    files_of,
    listening_error,
    parts_of,
    place_files,
    slots_of,
    with_files_of,
)
from scorer.run.ray_executor import Ray, RayActor
from scorer.scoring.settings import Settings
from scorer.storage.shards import InputFile, read_shards
from scorer.system.codec import decode, encode
from tests.bundles import make_bundle
from tests.storage.tables import rows_table, write

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


def test_a_node_with_another_version_has_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=None))
    state, reason = RayActor().prepare("9.9")
    assert state == "refused" and f"d2t-scorer {__version__}, the driver has 9.9" in reason


@pytest.mark.parametrize(
    ("unseen", "is_there", "is_refused"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_a_worker_is_refused_where_the_driver_alone_sees_the_input(
    tmp_path: Path, unseen: bool, is_there: bool, is_refused: bool
) -> None:
    file = InputFile(uri=write(tmp_path / "a.parquet", rows_table(5)), relative="a.parquet")
    (shard,) = read_shards(file)[1]
    if not is_there:
        (tmp_path / "a.parquet").unlink()
    result = ShardResult(relative="a.parquet", error="a.parquet: cannot be opened", kind="unreadable", unseen=unseen)
    refusal = Ray.refusal(SimpleNamespace(), Score(shard=shard), result)  # type: ignore[arg-type]  # no cluster
    assert ("does not see the inputs as the driver does" in refusal) == is_refused


def test_the_actor_answers_as_a_worker_process(tmp_path: Path) -> None:
    """A file that is no Parquet file, then a bundle that is not there."""
    (tmp_path / "a.parquet").write_text("no")
    settings = Settings(tmp_path / "nothing")
    actor = RayActor()
    actor.ask(encode(Inspect(files=[InputFile(str(tmp_path / "a.parquet"), "a.parquet")], settings=settings)))
    actor.ask(encode(Open(settings=settings)))
    replies: list[Any] = [decode(content, Any, "a reply") for content in actor.run(0, 0)]
    _, footer, error = [reply for reply in replies if reply["type"] != "Progress" or reply is replies[0]]
    assert "not a Parquet file" in footer["error"] and error["error"] == "BundleError"


class Cluster:
    """A cluster with one node."""

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(gcs_address="10.0.0.1:6379")

    def nodes(self) -> list[dict[str, Any]]:
        return [{"NodeID": "n", "Alive": True, "NodeManagerHostname": "h", "Resources": {"CPU": 2.0}}]


def test_a_head_that_comes_back_is_waited_for_and_one_that_is_gone_is_named() -> None:
    said, now = [""], [0.0]
    nodes = Nodes(Cluster(), lambda address: said[0], lambda: now[0])
    expected = [Node("n", "h", 2, 0)]
    assert nodes.alive() == expected
    said[0] = "Connection refused"
    for now[0] in (1.0, 10.0, 20.0):
        assert nodes.alive() == expected, "those that were alive"
    said[0] = ""
    now[0] = 21.5
    assert nodes.alive() == expected
    said[0] = "Connection refused"
    for now[0] in (23.0, 43.0):
        nodes.alive()
    now[0] = 44.5
    with pytest.raises(DeviceError, match=r"the head of the cluster, 10\.0\.0\.1:6379, is gone \(Connection refused\)"):
        nodes.alive()


def test_an_address_answers_or_says_why() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert listening_error(address) == ""
    assert "refused" in listening_error(address)
    assert listening_error("auto") == ""
    assert listening_error("127.0.0.1:99999999999") != ""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    templates = tmp_path / "templates.json"
    templates.write_text('{"eatType": "<subject> is a <object>."}')
    return Settings(make_bundle(tmp_path / "bundle"), templates=templates)


def test_a_node_that_lacks_the_files_gets_them_once(settings: Settings, tmp_path: Path) -> None:
    files, store, asked = files_of(settings), list[bytes](), list[int]()
    assert place_files(files, None, store.__getitem__) == "", "the driver's own node uses them where they are"
    parts = parts_of(files, lambda content: (store.append(content), len(store) - 1)[1])

    def get(reference: int) -> bytes:
        asked.append(reference)
        return store[reference]

    shutil.move(tmp_path / "bundle", tmp_path / "elsewhere")
    assert place_files(files, None, get) is None
    folder = place_files(files, parts, get)
    assert folder and len(asked) == len(store)
    found = with_files_of(settings, folder)
    assert Bundle.load(found.bundle).sha256 == Bundle.load(tmp_path / "elsewhere").sha256
    assert Path(str(found.templates)).read_bytes() == (tmp_path / "templates.json").read_bytes()
    assert place_files(files, None, get) == place_files(files, parts, get) == folder and len(asked) == len(store)
    Path(folder, "bundle", "tokenizer.json").write_text("{}")
    assert place_files(files, None, get) is None and place_files(files, parts, get) == folder
    assert len(asked) == len(store) + 1, "the damaged one alone is sent again"


def test_what_is_damaged_on_its_way_or_at_its_source_is_refused(settings: Settings, tmp_path: Path) -> None:
    files = files_of(settings)
    parts = parts_of(files, lambda content: content)
    (tmp_path / "bundle" / "tokenizer.json").write_text("{}")
    for sent, get in ((parts, lambda content: content[:-1]), (parts_of(files, bytes), bytes)):
        with pytest.raises(ScorerError, match="changed or arrived damaged"):
            place_files(files, sent, get)
    assert not list((tmp_path / "cache").rglob("*.tmp"))
