"""The two kinds of store for tests that hold for both: a folder, and a bucket in the memory of this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.storage.objects import store as stores
from scorer.storage.objects.uri import Location, StoreUri

BACKENDS = ("folder", "bucket")


def place(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    """A place for an output in one of them."""
    if kind == "folder":
        return folder / "out"
    memory = pytest.importorskip("obstore.store", reason="the extra `objects` is not installed").MemoryStore()
    monkeypatch.setattr(stores, "connect", lambda uri, **more: memory)
    return StoreUri("s3", "bucket", "runs/a b")
