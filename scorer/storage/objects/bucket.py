"""A prefix in an object store as a :class:`scorer.storage.store.Store`: every write is conditional."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, cast

from ..durable import crash_point, discard, output_errors
from ..store import ABSENT, ANY, Entry
from .reading import VersionedFile
from .store import ObjectStore, Stored, StoreError
from .uri import StoreUri

_PART = 8 << 20


class BucketStore:
    """See :class:`scorer.storage.store.Store`.

    Args:
        patient: repeat requests for minutes while the store does not answer, as a run does; otherwise for seconds.
    """

    is_remote = True

    def __init__(self, place: StoreUri, *, patient: bool = True) -> None:
        self.place = place
        self._store = ObjectStore.open(place, patient=patient)

    def list(self, prefix: str = "") -> dict[str, Entry]:
        skip = len(self.place.key("x")) - 1
        found = self._store.below(self.place.key(prefix) if prefix else self.place.path)
        return dict(sorted((one.key[skip:], _entry(one)) for one in found))

    def list_top(self) -> Sequence[str]:
        """Names of what is directly here, objects and prefixes."""
        objects, prefixes = self._store.entries(self.place.path)
        return sorted(one.rstrip("/").rpartition("/")[2] for one in (*objects, *prefixes))

    def look(self, name: str) -> Entry | None:
        found = self._store.head(self.place.key(name))
        return None if found is None else _entry(found)

    def read(self, name: str) -> tuple[bytes, str] | None:
        return self._store.read(self.place.key(name))

    def put(self, name: str, data: bytes, expect: str = ANY, *, label: str = "file") -> str | None:
        crash_point(f"{label}.synced")
        version = self._put(name, data, expect, "")
        if version is not None:
            crash_point(f"{label}.renamed")
            crash_point(f"{label}.published")
        return version

    def upload(self, name: str, path: Path, sha256: str, expect: str = ANY) -> str | None:
        """See :class:`scorer.storage.store.Store`. An object with the same SHA-256 is not replaced: another worker
        with the same plan wrote it."""
        with output_errors("read", path):
            content = path.read_bytes()
        version = self._put(name, content, expect, sha256)
        if version is None:
            there = self._store.look(self.place.key(name))
            if there is None or there.sha256 != sha256:
                return None
            version = there.e_tag
        discard(path)
        crash_point("output.renamed")
        crash_point("output.published")
        return version

    def _put(self, name: str, data: bytes, expect: str, digest: str) -> str | None:
        key = self.place.key(name)
        if expect == ANY:
            return self._store.publish(key, data, sha256=digest)
        if expect == ABSENT:
            return self._store.put_new(key, data, sha256=digest)
        return self._store.put_over(key, data, expect, sha256=digest)

    def delete(self, names: Iterable[str]) -> None:
        self._store.delete(map(self.place.key, names))

    def sha256(self, name: str) -> str | None:
        there = self.look(name)
        if there is None:
            return None
        content = sha256()
        for start in range(0, there.size, _PART):
            end = min(there.size, start + _PART)
            content.update(self._store.read_range(self.place.key(name), start, end, there.version))
        return content.hexdigest()

    def open(self, name: str, entry: Entry) -> IO[bytes]:
        uri = self.place.below(name)
        return cast("IO[bytes]", VersionedFile(uri, Stored(uri.path, entry.size, entry.version, entry.modified)))

    def uri(self, name: str) -> str:
        return str(self.place.below(name))

    def require_conditions(self) -> None:
        """Make sure that the store refuses writes whose condition does not hold, by writing a small object.

        Raises:
            StoreError: it writes them all the same, or cannot be reached or written to.
        """
        key = self.place.key(f"_probe-{secrets.token_hex(8)}")
        first = second = again = stale = None
        try:
            first = self._store.put_new(key, b"first")
            again = self._store.put_new(key, b"again")
            second = self._store.put_over(key, b"second", first) if first is not None else None
            stale = self._store.put_over(key, b"stale", first) if first is not None else None
        finally:
            with suppress(StoreError):
                self._store.delete([key])
        if first is None or second is None or again is not None or stale is not None:
            raise StoreError(
                f"{self.place.root}: the store does not support conditional writes (If-None-Match and If-Match), "
                "without which two runs could overwrite each other's outputs; use a store that has them "
                "(docs/stores.md), or a local --out"
            )


def _entry(one: Stored) -> Entry:
    return Entry(one.size, one.e_tag, one.modified)
