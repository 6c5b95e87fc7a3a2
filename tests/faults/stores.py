"""What tests of runs in an object store share; the server is a fixture of ``conftest.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scorer.storage.objects.copy import local_copy
from scorer.storage.objects.store import BucketStore
from scorer.storage.objects.uri import StoreUri
from tests.faults import harness
from tests.faults.harness import assert_same
from tests.storage.objects.weed import ACCESS, BUCKET, SECRET

_NUMBERS = iter(range(10_000))


def new_prefix(name: str) -> StoreUri:
    """A place in the bucket that no other test uses."""
    return StoreUri("s3", BUCKET, f"{name}{next(_NUMBERS)}")


def run(data: Any, out: StoreUri, bundle: Path | StoreUri, *more: Any, code: int = 0) -> str:
    """A run in this process; its standard error, which never has a credential."""
    said = harness.run(data, out, bundle, *more, code=code)  # type: ignore[arg-type]
    assert ACCESS not in said and SECRET not in said
    return said


def check(out: StoreUri, whole: Path) -> None:
    """The oracle, on a copy whose outputs have the digests that their receipts name."""
    with local_copy(out) as folder:
        assert_same(folder, whole)


def objects(out: StoreUri) -> dict[str, str]:
    """The versions of all objects of an output, by their path."""
    return {name: entry.version for name, entry in BucketStore(out).list().items()}


def below(out: StoreUri, name: str) -> str:
    return f"/{BUCKET}/{out.path}/{name}"


def upload(folder: Path, to: StoreUri) -> None:
    store = BucketStore(to)
    for path in folder.rglob("*.parquet"):
        assert store.put(path.relative_to(folder).as_posix(), path.read_bytes()) is not None
