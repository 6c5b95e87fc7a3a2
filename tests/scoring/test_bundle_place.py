"""Bundles in an object store: fetched once, checked against ``bundle.json``, kept by its hash."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scorer import Scorer, Triple
from scorer.errors import BundleError, ScorerError, UsageError
from scorer.inference.bundle import Bundle
from scorer.scoring import bundle_fetch
from scorer.scoring.bundle_place import bundle_argument, local_bundle
from scorer.scoring.output_templates import find_templates
from scorer.scoring.signature import Signature
from scorer.storage.canonical import canonical
from scorer.storage.objects import store as stores
from scorer.system.cache_folder import bundle_cache
from tests.bundles import digest, edit_manifest, make_bundle

obstore = pytest.importorskip("obstore", reason="the extra `objects` is not installed")
KEY = "models/ti ny"
URI = "s3://bucket/models/ti%20ny"
TEMPLATES = {"eatType": "<subject> is a <object>."}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundle") / "tiny", templates=TEMPLATES)


class Requests(Counter[str]):
    """Requests by kind and name of the file."""

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        guard = threading.Lock()
        for name in ("get", "head", "list", "list_with_delimiter", "put", "delete"):
            original = getattr(obstore, name)

            def counted(
                bucket: Any, key: Any = None, *rest: Any, _name: str = name, _to: Any = original, **more: Any
            ) -> Any:
                with guard:
                    self[f"{_name} {str(key).rpartition('/')[2]}"] += 1
                return _to(bucket, key, *rest, **more)

            monkeypatch.setattr(obstore, name, counted)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A store that stands behind every URI, and an empty cache."""
    from obstore.store import MemoryStore

    bucket = MemoryStore()
    monkeypatch.setattr(stores, "connect", lambda uri, *, patient=True: bucket)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return bucket


def upload(bucket: Any, bundle: Path) -> None:
    for path in bundle.iterdir():
        obstore.put(bucket, f"{KEY}/{path.name}", path.read_bytes())


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_it_is_fetched_once_and_every_start_asks_for_the_manifest_alone(
    bundle: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(memory, bundle)
    obstore.put(memory, f"{KEY}/notes.txt", b"not listed")
    monkeypatch.setattr(bundle_fetch, "_PART", 5000)
    requests, said = Requests(), list[str]()
    requests.watch(monkeypatch)
    folder = local_bundle(URI, said.append)
    assert folder == bundle_cache() / digest(bundle / "bundle.json")
    assert files(folder) == files(bundle)
    listed = files(bundle).keys() - {"bundle.json"}
    parts = {f"get {name}": -(-(bundle / name).stat().st_size // 5000) for name in listed}
    assert requests == {"get bundle.json": 1, **{f"head {name}": 1 for name in listed}, **parts}
    total = sum((bundle / name).stat().st_size for name in listed)
    assert said == [f"fetching the bundle {URI}: 4 files, {total / 1e6:,.1f} MB, to {folder.parent}"]
    requests.clear()
    assert local_bundle(URI) == folder
    assert requests == {"get bundle.json": 1}


def test_scores_are_those_of_the_folder(bundle: Path, memory: Any) -> None:
    upload(memory, bundle)
    triples = [Triple("The Mill", "eatType", "pub")]
    with Scorer(bundle, device="cpu") as local, Scorer(URI, device="cpu") as fetched:
        assert fetched.full_signature == local.full_signature
        assert fetched.score(triples, "The Mill is a pub.") == local.score(triples, "The Mill is a pub.")
        assert fetched.settings.to_plan()["bundle"] == URI
        found = find_templates(fetched.full_signature, fetched.settings.to_plan())
    assert found is not None and found[1] == bundle_cache() / digest(bundle / "bundle.json") / "templates.json"


def test_templates_of_a_copy_that_is_gone_are_not_found(memory: Any) -> None:
    parts = {"model": ["tiny", "0" * 64], "templates": "1" * 64}
    assert find_templates(Signature("", canonical(parts)), {"bundle": URI}) is None
    assert find_templates(Signature("model:tiny@000000000000|templates:111111111111"), {"bundle": URI}) is None


def test_a_bundle_that_is_replaced_is_another_folder(tmp_path: Path, bundle: Path, memory: Any) -> None:
    upload(memory, bundle)
    first = local_bundle(URI)
    other = make_bundle(tmp_path / "other", max_length=64)
    upload(memory, other)
    second = local_bundle(URI)
    assert second != first and Bundle.load(second).max_length == 64 and Bundle.load(first).max_length == 128
    assert {path.name for path in bundle_cache().iterdir() if not path.name.endswith(".lock")} == {
        first.name,
        second.name,
    }


def test_several_at_once_fetch_one_copy(bundle: Path, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(memory, bundle)
    requests, found = Requests(), list[Path]()
    requests.watch(monkeypatch)
    threads = [threading.Thread(target=lambda: found.append(local_bundle(URI))) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert len(found) == 4 and len(set(found)) == 1
    assert requests["get bundle.json"] == 4 and requests["get tokenizer.json"] == 1


def test_a_copy_without_a_file_is_fetched_again_and_a_changed_one_says_how(bundle: Path, memory: Any) -> None:
    upload(memory, bundle)
    folder = local_bundle(URI)
    (folder / "tokenizer.json").unlink()
    assert files(local_bundle(URI)) == files(bundle)
    model = folder / "model.fp32.onnx"
    model.write_bytes(model.read_bytes()[:-1] + b"x")
    with pytest.raises(BundleError, match=f"remove {folder}, and the next start fetches it again"):
        Bundle.load(local_bundle(URI)).variant("fp32")


Change = Callable[[Any, Path], object]


def put(name: str, content: Callable[[bytes], bytes]) -> Change:
    return lambda bucket, bundle: obstore.put(bucket, f"{KEY}/{name}", content((bundle / name).read_bytes()))


def manifest(**changes: Any) -> Change:
    def change(bucket: Any, bundle: Path) -> None:
        edit_manifest(bundle, **changes)
        obstore.put(bucket, f"{KEY}/bundle.json", (bundle / "bundle.json").read_bytes())

    return change


def sized(bucket: Any, bundle: Path) -> None:
    """The manifest records the size of the model, as `scorer export` writes it, and the model is cut."""
    variants = json.loads((bundle / "bundle.json").read_bytes())["variants"]
    variants["fp32"]["bytes"] = (bundle / "model.fp32.onnx").stat().st_size
    manifest(variants=variants)(bucket, bundle)
    put("model.fp32.onnx", lambda content: content[:-10])(bucket, bundle)


FAULTS: dict[str, tuple[Change, str]] = {
    "no bundle": (
        lambda bucket, bundle: obstore.delete(bucket, f"{KEY}/bundle.json"),
        r"no bundle at {uri}: bundle\.json is not there or too large; give the URI",
    ),
    "missing": (
        lambda bucket, bundle: obstore.delete(bucket, f"{KEY}/tokenizer.json"),
        r"{uri}/tokenizer\.json is not there, but bundle\.json lists it; upload the whole bundle folder again",
    ),
    "cut": (
        put("probes.parquet", lambda content: content[:100]),
        r"{uri}/probes\.parquet is not the file that was exported: 100 bytes with sha256 \w{{12}}….*says {probes}…; up",
    ),
    "cut, size recorded": (
        sized,
        r"{uri}/model\.fp32\.onnx has {short:,} bytes, but bundle\.json says {whole:,}; upload the whole",
    ),
    "changed": (
        put("model.fp32.onnx", lambda content: content[:-1] + b"x"),
        r"{uri}/model\.fp32\.onnx is not the file that was exported: {whole:,} bytes with sha256",
    ),
    "empty": (put("tokenizer.json", lambda content: b""), r"tokenizer\.json is not the file.*: 0 bytes with sha256"),
    "not JSON": (put("bundle.json", lambda content: content[:50]), r"{uri}/bundle\.json is not JSON"),
    "newer": (manifest(schema=99), r"{uri}/bundle\.json: schema 99, but this program reads"),
    "outside": (manifest(files={"../x": "0" * 64}), r"{uri}/bundle\.json: .*'\.\./x' is not the plain name of a file"),
    "itself": (manifest(files={"bundle.json": "0" * 64}), "is not the plain name"),
    "twice": (manifest(files={"model.fp32.onnx": "0" * 64}), "is listed twice"),
    "no files": (manifest(files=None), r"{uri}/bundle\.json: field missing or of the wrong form"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "says"), FAULTS.values(), ids=FAULTS)
def test_what_is_not_the_exported_bundle_is_refused_and_leaves_nothing(
    tmp_path: Path, bundle: Path, memory: Any, change: Change, says: str
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for name, content in files(bundle).items():
        (copy / name).write_bytes(content)
    upload(memory, copy)
    change(memory, copy)
    size = (bundle / "model.fp32.onnx").stat().st_size
    expected = says.format(uri=URI, short=size - 10, whole=size, probes=digest(bundle / "probes.parquet")[:12])
    with pytest.raises(BundleError, match=expected):
        local_bundle(URI)
    cache = bundle_cache()
    assert not cache.exists() or all(path.name.endswith(".lock") for path in cache.iterdir())


def test_a_file_that_is_too_large_is_not_read(bundle: Path, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from scorer.inference import manifest as manifests

    upload(memory, bundle)
    monkeypatch.setitem(manifests.LARGEST_FILES, "probes.parquet", 10)
    requests = Requests()
    requests.watch(monkeypatch)
    with pytest.raises(BundleError, match=r"probes\.parquet has [\d,]+ bytes, and such a file may have 10; `scorer"):
        local_bundle(URI)
    assert {name for name in requests if not name.startswith("head ")} == {"get bundle.json"}


def test_a_file_that_is_replaced_meanwhile_is_not_mixed(
    bundle: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(memory, bundle)
    monkeypatch.setattr(
        bundle_fetch, "require_space", lambda *arguments: obstore.put(memory, f"{KEY}/tokenizer.json", b"{}")
    )
    with pytest.raises(ScorerError, match=r"tokenizer\.json was replaced while it was read; run again"):
        local_bundle(URI)


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, bundle: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(memory, bundle)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(BundleError, match=rf"{URI} cannot be copied to .*Not a directory; set XDG_CACHE_HOME"):
        local_bundle(URI)


def test_errors_of_the_store_have_no_credentials(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-secret-1")

    def refuse(*arguments: Any, **more: Any) -> None:
        raise obstore.exceptions.PermissionDeniedError("refused for canary-secret-1\n\nDebug source: x")

    monkeypatch.setattr(obstore, "get", refuse)
    with pytest.raises(ScorerError) as caught:
        local_bundle(URI)
    assert "canary" not in str(caught.value) and f"cannot read s3://bucket/{KEY}/bundle.json" in str(caught.value)


def test_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert bundle_argument("embedded", "--bundle") == "embedded"
    assert bundle_argument("x/../b", "--bundle") == str(tmp_path.resolve() / "b")
    assert bundle_argument("S3://bucket//models/ti ny/", "--bundle") == URI
    assert bundle_argument(URI, "--bundle") == URI, "a plan that is read again means the same place"
    assert bundle_argument("abfss://c@account.dfs.core.windows.net/b", "--bundle").startswith("abfss://c@account")
    with pytest.raises(UsageError, match="--bundle: hdfs://x/b is a URI"):
        bundle_argument("hdfs://x/b", "--bundle")
    with pytest.raises(UsageError, match="contains credentials"):
        bundle_argument("s3://user:canary-secret@bucket/b", "--bundle")
    assert local_bundle(tmp_path) == tmp_path and local_bundle("embedded") == Bundle.load("embedded").path
