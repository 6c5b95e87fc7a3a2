"""Inputs in object stores: finding them, and opening one version of an object."""

from __future__ import annotations

import os
from collections.abc import Hashable
from functools import lru_cache
from typing import IO
from urllib.parse import quote

from ...errors import ScorerError
from ..listing import Entry, Kind, Place
from ..store import Entry as Version
from .store import BucketStore
from .uri import StoreUri


def open_input(uri: StoreUri) -> tuple[IO[bytes], Version]:
    """The version of an object that is there, as a file.

    Raises:
        OSError: there is no object, or the store refuses.
    """
    settings = tuple(sorted((name, value) for name, value in os.environ.items() if name.isupper()))
    try:
        store = _opened(StoreUri(uri.scheme, uri.bucket, ""), settings)
        found = store.look(uri.path)
    except ScorerError as error:
        raise OSError(str(error)) from error
    if found is None:
        raise FileNotFoundError(f"{uri} is not there")
    return store.open(uri.path, found), found


@lru_cache(maxsize=4)
def _opened(bucket: StoreUri, settings: tuple[tuple[str, str], ...]) -> BucketStore:
    """A bucket, whose connections all shards share. ``settings``: the environment, which the client reads."""
    return BucketStore(bucket)


class StoreListing:
    """A bucket as a tree of folders; see :class:`.Listing`. Paths begin with a slash.

    Raises:
        StoreError: the store cannot be opened, or refuses a request; so do all methods.
    """

    def __init__(self, root: StoreUri) -> None:
        self._store = BucketStore(root, patient=False)

    @classmethod
    def place(cls, uri: StoreUri) -> Place:
        return Place(cls(StoreUri(uri.scheme, uri.bucket, "")), f"/{uri.path}")

    def kind(self, path: str) -> Kind:
        """What is at a path; a folder is what objects lie below."""
        name = path.strip("/")
        if name and self._store.look(name) is not None:
            return "file"
        return "folder" if self._store.children(name) else "absent"

    def entries(self, path: str) -> list[Entry]:
        return [Entry(name, is_folder) for name, is_folder in self._store.children(path.strip("/"))]

    def identity(self, path: str) -> Hashable:
        return path.strip("/")

    def uri(self, path: str) -> str:
        return f"{self._store.place.root}/{quote(path.strip('/'))}"
