"""The two kinds of store for tests that hold for both: a folder, and a bucket in the memory of this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorer.storage import object_store
from scorer.storage.location import Location, StoreUri
from scorer.storage.store import open_store


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A bucket that stands behind every URI."""
    bucket = pytest.importorskip("obstore.store", reason="the extra `objects` is not installed").MemoryStore()
    monkeypatch.setattr(object_store, "connect", lambda uri, **more: bucket)
    return bucket


@pytest.fixture(params=["folder", "bucket"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """A place for an output in each of them."""
    if request.param == "folder":
        return tmp_path / "out"
    request.getfixturevalue("memory")
    return StoreUri("s3", "bucket", "runs/a b")


def files(out: Location) -> dict[str, bytes]:
    """All that has a name in an output, but locks."""
    store = open_store(out)
    found = {name: store.read(name) for name in store.list() if not name.startswith("_lock")}
    return {name: content for name, content in found.items() if content is not None}


def data_files(out: Location) -> dict[str, bytes]:
    """The outputs of shards."""
    return {name: content for name, content in files(out).items() if not name.startswith("_")}


def put(out: Location, name: str, content: bytes) -> None:
    """Write a file or an object as another program would."""
    assert open_store(out).write(name, content) is not None


def remove(out: Location, *names: str) -> None:
    """Remove files or objects as another program would."""
    open_store(out).delete(names)
