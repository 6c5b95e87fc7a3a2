"""Open a shard's file inside the reader's child process, local or remote, and tell whether it changed meanwhile."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...system.closing import Closing
from ..objects.reading import open_input
from ..objects.uri import StoreUri

ENCRYPTED = "encrypted Parquet, for which this program takes no keys; write it unencrypted"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class RefusedError(Exception):
    """A shard that is refused before any of its data is decoded, or at a line that cannot be read."""


class OpenedFile(Closing):
    """A file, local or remote. ``file``: of pyarrow; ``size`` in bytes; ``mtime_ns``: ``None`` if the store has none;
    ``e_tag``: its version in an object store, which is the one that is read; empty elsewhere.

    Raises:
        RefusedError: it cannot be opened.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._local: int | None = None
        self.is_remote = _SCHEME.match(uri) is not None
        self.size: int
        self.mtime_ns: int | None
        self.e_tag = ""
        if self.is_remote:
            self._open_remote(uri)
        else:
            self._open_local(uri)

    def _open_local(self, path: str) -> None:
        try:
            # Non-blocking: opening a FIFO would wait for its writer.
            self._local = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            found = os.fstat(self._local)
        except OSError as error:
            raise RefusedError(f"cannot be opened: {error.strerror}") from error
        if not stat.S_ISREG(found.st_mode):
            raise RefusedError("is not a regular file")
        self.file: Any = pa.PythonFile(os.fdopen(self._local, "rb"), "r")
        self.size, self.mtime_ns = found.st_size, found.st_mtime_ns

    def _open_remote(self, uri: str) -> None:
        place = StoreUri.parse(uri)
        if place is None:
            raise RefusedError("is at a URI that is not one of an object store")
        try:
            file, version = open_input(place)
        except OSError as error:
            raise RefusedError(f"cannot be opened: {describe(error)}") from error
        self.file = pa.PythonFile(file, "r")
        self.size, self.mtime_ns, self.e_tag = version.size, None, version.version

    def read(self, position: int, length: int) -> bytes:
        """Bytes of the file; fewer at its end."""
        self.file.seek(position)
        return bytes(self.file.read(length))

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def changed(self) -> bool:
        """Whether a local file was written to since it was opened."""
        if self._local is None:
            return False
        found = os.fstat(self._local)
        return (found.st_size, found.st_mtime_ns) != (self.size, self.mtime_ns)

    def is_current(self) -> bool:
        """Whether opening the same name again would give the same content: true of an unchanged local file, and of one
        version of an object."""
        if self._local is None:
            return bool(self.e_tag)
        try:
            return os.path.samestat(Path(self.uri).stat(), os.fstat(self._local)) and not self.changed()
        except OSError:
            return False


def positions_of(names: list[str], columns: list[str] | None) -> list[int]:
    """Positions of the wanted columns, in the file's order; all of them for ``None``.

    Raises:
        RefusedError: a column is not there, or there twice.
    """
    if columns is None:
        return list(range(len(names)))
    missing = sorted(set(columns) - set(names))
    if missing:
        raise RefusedError(f"has no column {missing[0]!r}")
    positions = [i for i, name in enumerate(names) if name in set(columns)]
    twice = [names[i] for i in positions if names.count(names[i]) > 1]
    if twice:
        raise RefusedError(f"has more than one column {twice[0]!r}")
    return positions


def describe(error: BaseException) -> str:
    """An error's message on one line of bounded length."""
    text = " ".join(str(error).split()) or type(error).__name__
    if "decrypt" in text:  # Parquet's message for encrypted columns with a readable footer
        return ENCRYPTED
    return text if len(text) <= 300 else text[:297] + "..."
