from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from scorer.storage.location import StoreUri
from scorer.storage.output_folder import OutputFolder
from scorer.storage.receipts import Receipt
from scorer.storage.store import open_store
from scorer.system.files import file_sha256
from tests.bundles import make_bundle
from tests.faults import harness
from tests.faults.ray_cluster import Nodes, cluster
from tests.storage.backends import files
from tests.storage.objects.proxy import Proxy, proxying
from tests.storage.objects.weed import ACCESS, BUCKET, SECRET, Server, serving

_NUMBERS = iter(range(10_000))


def new_prefix(name: str) -> StoreUri:
    """A place in the bucket that no other test uses."""
    return StoreUri("s3", BUCKET, f"{name}{next(_NUMBERS)}")


class StoreTrial(harness.Trial):
    """A run into a place of its own in the bucket."""

    def __post_init__(self) -> None:
        self.out: Any = new_prefix("out")

    def run(self, *more: Any, code: int = 0) -> str:
        """Its standard error, which never has a credential."""
        said = super().run(*more, code=code)
        assert ACCESS not in said and SECRET not in said
        return said

    def check(self) -> None:
        """The oracle, on a copy whose outputs have the digests that their receipts name."""
        copy = download(self.out, Path(mkdtemp(dir=self.base)))
        for relative, receipt in OutputFolder(copy).receipts().items():
            assert isinstance(receipt, Receipt) and receipt.output.sha256 == file_sha256(copy / relative)
        harness.assert_same(copy, self.whole)


def download(out: StoreUri, folder: Path) -> Path:
    """Copy the objects of an output into a folder, which is returned."""
    for name, content in files(out).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def objects(out: StoreUri) -> dict[str, str]:
    """The versions of all objects of an output, by their path."""
    return {name: info.version for name, info in open_store(out).list().items()}


def upload(folder: Path, to: StoreUri) -> None:
    store = open_store(to)
    for path in folder.rglob("*.parquet"):
        assert store.write(path.relative_to(folder).as_posix(), path.read_bytes()) is not None


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("faults") / "tiny")


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> tuple[Path, Path]:
    """A folder of inputs, and the outputs of a run that nothing happened to."""
    base = tmp_path_factory.mktemp("reference")
    data = harness.make_data(base / "in")
    harness.run(data, base / "whole", bundle)
    return data, base / "whole"


@pytest.fixture
def long_trial(long: tuple[Path, Path], tmp_path: Path, bundle: Path) -> harness.Trial:
    return harness.Trial(*long, bundle, tmp_path)


@pytest.fixture
def trial(reference: tuple[Path, Path], tmp_path: Path, bundle: Path) -> harness.Trial:
    return harness.Trial(*reference, bundle, tmp_path)


@pytest.fixture
def stored(reference: tuple[Path, Path], tmp_path: Path, bundle: Path) -> StoreTrial:
    return StoreTrial(*reference, bundle, tmp_path)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("weed")) as found:
        yield found


@pytest.fixture
def proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy in front of the server, which the environment names."""
    with proxying(server.port) as found:
        for name, value in server.environment(found.port).items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    with cluster() as found:
        yield found


@pytest.fixture(scope="session")
def long(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> tuple[Path, Path]:
    """Inputs that take some seconds, and the outputs of a run that nothing happened to."""
    base = tmp_path_factory.mktemp("ray")
    data = harness.make_data(base / "in", shards=32, n=2400)
    harness.run(data, base / "whole", bundle)
    return data, base / "whole"
