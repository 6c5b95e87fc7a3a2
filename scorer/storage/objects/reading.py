"""Inputs in object stores: finding them, and opening one version of an object."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO, Self
from urllib.parse import quote

from ...errors import ScorerError
from ..listing import Entry, Kind, Place
from ..location import StoreUri
from ..store_old import Entry as Version
from .store import BucketStore


def open_input(uri: StoreUri) -> tuple[BinaryIO, Version]:
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


@dataclass(frozen=True)
class StorePlace(Place):
    """A key in a bucket, whose path begins with a slash; a folder is what objects lie below.

    Raises:
        StoreError: the store cannot be opened, or refuses a request; so do all methods.
    """

    store: BucketStore

    @classmethod
    def of(cls, uri: StoreUri) -> Self:
        return cls(f"/{uri.path}", BucketStore(StoreUri(uri.scheme, uri.bucket, ""), patient=False))

    @property
    def uri(self) -> str:
        return f"{self.store.place.root}/{quote(self._key)}"

    def kind(self) -> Kind:
        if self._key and self.store.look(self._key) is not None:
            return "file"
        return "folder" if self.store.children(self._key) else "absent"

    def entries(self) -> list[Entry]:
        return [Entry(name, is_folder) for name, is_folder in self.store.children(self._key)]

    def identity(self) -> Hashable:
        return self._key

    @property
    def _key(self) -> str:
        return self.path.strip("/")
