"""What tests of runs in an object store share; the server is a fixture of ``conftest.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scorer.storage.objects.copy import local_copy
from scorer.storage.objects.store import BucketStore
from scorer.storage.objects.uri import StoreUri
from tests.faults.harness import Trial, assert_same
from tests.storage.objects.weed import ACCESS, BUCKET, SECRET

_NUMBERS = iter(range(10_000))


def new_prefix(name: str) -> StoreUri:
    """A place in the bucket that no other test uses."""
    return StoreUri("s3", BUCKET, f"{name}{next(_NUMBERS)}")


class StoreTrial(Trial):
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
        with local_copy(self.out) as folder:
            assert_same(folder, self.whole)


def objects(out: StoreUri) -> dict[str, str]:
    """The versions of all objects of an output, by their path."""
    return {name: entry.version for name, entry in BucketStore(out).list().items()}


def upload(folder: Path, to: StoreUri) -> None:
    store = BucketStore(to)
    for path in folder.rglob("*.parquet"):
        assert store.put(path.relative_to(folder).as_posix(), path.read_bytes()) is not None
