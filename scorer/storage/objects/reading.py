"""Inputs in object stores: finding them, and reading one version of an object in ranges."""

from __future__ import annotations

import io
import os
from collections.abc import Hashable
from functools import lru_cache
from urllib.parse import quote

from ...errors import InputError, ScorerError, UsageError
from ..listing import Entry, Kind, Place
from .store import ObjectStore, Stored, StoreError
from .uri import StoreUri

_AHEAD = 8 << 20
"""Bytes of a request at least; the rest is kept for the next read."""


@lru_cache(maxsize=4)
def _opened(bucket: StoreUri, settings: tuple[tuple[str, str], ...]) -> ObjectStore:
    """A bucket, whose connections all shards share. ``settings``: the environment, which the client reads."""
    return ObjectStore.open(bucket)


class StoreListing:
    """A bucket as a tree of folders; see :class:`.Listing`. Paths begin with a slash."""

    def __init__(self, root: StoreUri) -> None:
        self._root = root
        self._store = ObjectStore.open(root, patient=False)

    @classmethod
    def place(cls, uri: StoreUri) -> Place:
        """The place of a URI.

        Raises:
            UsageError: the store cannot be opened.
        """
        try:
            return Place(cls(StoreUri(uri.scheme, uri.bucket, "")), f"/{uri.path}")
        except StoreError as error:
            raise UsageError(str(error)) from error

    def kind(self, path: str) -> Kind:
        """What is at a path; a folder is what objects lie below.

        Raises:
            InputError: the store refuses.
        """
        try:
            key = path.strip("/")
            if key and self._store.head(key) is not None:
                return "file"
            return "folder" if any(self._store.entries(key)) else "absent"
        except StoreError as error:
            raise InputError(str(error)) from error

    def entries(self, path: str) -> list[Entry]:
        """See :meth:`.Listing.entries`.

        Raises:
            InputError: the store refuses.
        """
        try:
            objects, prefixes = self._store.entries(path.strip("/"))
        except StoreError as error:
            raise InputError(str(error)) from error
        found = [Entry(one.rpartition("/")[2], False) for one in objects]
        found += [Entry(one.rstrip("/").rpartition("/")[2], True) for one in prefixes]
        return sorted(entry for entry in found if entry.name)

    def identity(self, path: str) -> Hashable:
        """See :meth:`.Listing.identity`."""
        return path.strip("/")

    def uri(self, path: str) -> str:
        """See :meth:`.Listing.uri`."""
        return f"{self._root.root}/{quote(path.strip('/'))}"


class VersionedFile(io.RawIOBase):
    """One version of an object as a file: if the object is replaced while it is read, reading fails.

    ``stored``: the object as it was when it was opened.

    Args:
        stored: the version to read, if it is known; without it the store is asked for the one that is there.

    Raises:
        OSError: there is no object, or the store refuses.
    """

    def __init__(self, uri: StoreUri, stored: Stored | None = None) -> None:
        super().__init__()
        self._key = uri.path
        self._at = self._start = 0
        self._ahead = b""
        try:
            settings = tuple(sorted((name, value) for name, value in os.environ.items() if name.isupper()))
            self._store = _opened(StoreUri(uri.scheme, uri.bucket, ""), settings)
            found = stored or self._store.head(uri.path)
        except ScorerError as error:
            raise OSError(str(error)) from error
        if found is None:
            raise FileNotFoundError(f"{uri} is not there")
        self.stored: Stored = found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.stored.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Bytes from the present place on.

        Raises:
            OSError: the store refuses, or the object was replaced.
        """
        left = max(0, self.stored.size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        end = self._at + wanted
        if wanted and not (self._start <= self._at and end <= self._start + len(self._ahead)):
            last = min(self.stored.size, max(end, self._at + _AHEAD))
            try:
                self._ahead = self._store.read_range(self._key, self._at, last, self.stored.e_tag)
            except StoreError as error:
                raise OSError(str(error)) from error
            self._start = self._at
            if len(self._ahead) != last - self._at:
                raise OSError(f"the store sent {len(self._ahead)} bytes of {last - self._at}")
        offset = self._at - self._start
        self._at = end
        return self._ahead[offset : offset + wanted]

    def readall(self) -> bytes:
        return self.read(-1)
