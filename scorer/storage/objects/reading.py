"""Inputs in object stores: finding them, and opening one version of an object."""

from __future__ import annotations

import os
from collections.abc import Hashable
from functools import lru_cache
from typing import IO
from urllib.parse import quote

from ...errors import InputError, ScorerError, UsageError
from ..listing import Entry, Kind, Place
from ..store import Entry as Version
from .client import StoreError
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
    """A bucket as a tree of folders; see :class:`.Listing`. Paths begin with a slash."""

    def __init__(self, root: StoreUri) -> None:
        self._store = BucketStore(root, patient=False)

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
            name = path.strip("/")
            if name and self._store.look(name) is not None:
                return "file"
            return "folder" if self._store.children(name) else "absent"
        except StoreError as error:
            raise InputError(str(error)) from error

    def entries(self, path: str) -> list[Entry]:
        """See :meth:`.Listing.entries`.

        Raises:
            InputError: the store refuses.
        """
        try:
            return [Entry(name, is_folder) for name, is_folder in self._store.children(path.strip("/"))]
        except StoreError as error:
            raise InputError(str(error)) from error

    def identity(self, path: str) -> Hashable:
        """See :meth:`.Listing.identity`."""
        return path.strip("/")

    def uri(self, path: str) -> str:
        """See :meth:`.Listing.uri`."""
        return f"{self._store.place.root}/{quote(path.strip('/'))}"
