"""Listing folders, local and remote, behind one small interface; and globs over it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from ..errors import InputError, UsageError
from ..paths import user_path

Kind = Literal["file", "folder", "absent"]


class Listing(Protocol):
    """A store of files. Paths have ``/`` between their parts."""

    def kind(self, path: str) -> Kind: ...

    def entries(self, path: str) -> list[tuple[str, bool]]:
        """Names in a folder, sorted, each with whether it is a folder itself."""
        ...

    def uri(self, path: str) -> str: ...


@dataclass(frozen=True)
class Place:
    """A path in a store."""

    listing: Listing
    path: str

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def uri(self) -> str:
        return self.listing.uri(self.path)

    def kind(self) -> Kind:
        return self.listing.kind(self.path)

    def at(self, path: str) -> Place:
        return replace(self, path=path)

    def below(self, relative: str) -> Place:
        return self.at(f"{self.path.rstrip('/')}/{relative}")


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name is skipped."""
    return name.startswith(("_", "."))


def walk(place: Place, suffixes: Sequence[str], base: str = "") -> Iterator[str]:
    """Relative paths of the files below a folder that have one of the suffixes.

    Links are followed; a folder that is linked into itself is refused.

    Raises:
        InputError: a folder cannot be listed, or contains itself.
    """
    for name, is_folder in place.listing.entries(place.path):
        if is_hidden(name):
            continue
        if is_folder:
            yield from walk(place.below(name), suffixes, f"{base}{name}/")
        elif name.lower().endswith(tuple(suffixes)):
            yield base + name


def expand(place: Place, pattern: Sequence[str], suffixes: Sequence[str], base: str = "") -> Iterator[str]:
    """Relative paths of the files that a glob finds below a folder; ``**`` stands for any number of folders.

    A folder that the whole glob matches stands for the Parquet files in it, as it would had the shell expanded it.
    """
    if place.kind() != "folder":
        return
    wanted, rest = pattern[0], pattern[1:]
    if wanted == "**":
        if rest:
            yield from expand(place, rest, suffixes, base)
        else:
            yield from walk(place, suffixes, base)
            return
    for name, is_folder in place.listing.entries(place.path):
        if is_hidden(name):
            continue
        inner = f"{base}{name}/"
        if wanted == "**":
            if is_folder:
                yield from expand(place.below(name), pattern, suffixes, inner)
        elif not fnmatchcase(name, wanted):
            continue
        elif rest:
            if is_folder:
                yield from expand(place.below(name), rest, suffixes, inner)
        elif is_folder:
            yield from walk(place.below(name), suffixes, inner)
        else:
            yield base + name


class LocalListing:
    """The local file system; paths are absolute."""

    @classmethod
    def place(cls, path: str) -> Place:
        return Place(cls(), str(user_path(path).absolute()))

    @classmethod
    def from_uri(cls, uri: str) -> Place:
        parts = urlsplit(uri)
        if parts.netloc not in ("", "localhost"):
            raise UsageError(f"{uri}: a file:// URI names a file of this machine, so three slashes: file:///path")
        return cls.place(unquote(uri[len("file://") + len(parts.netloc) :]))

    def kind(self, path: str) -> Kind:
        try:
            mode = Path(path).stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "absent"
        except OSError as error:
            raise InputError(f"cannot look at {path}: {error.strerror}") from error
        return "folder" if stat.S_ISDIR(mode) else "file"

    def entries(self, path: str) -> list[tuple[str, bool]]:
        try:
            with os.scandir(path) as found:
                entries = sorted((entry.name, entry.is_dir()) for entry in found)
        except OSError as error:
            raise InputError(f"cannot list {path}: {error.strerror}") from error
        for name, is_folder in entries:
            inner = Path(path, name)
            if is_folder and inner.is_symlink() and Path(path).resolve().is_relative_to(inner.resolve()):
                raise InputError(f"{inner} is a link to a folder that contains it; remove it or name the files")
        return entries

    def uri(self, path: str) -> str:
        return path


class RemoteListing:
    """A store that pyarrow opens by URI; paths are those of the URI."""

    def __init__(self, uri: str) -> None:
        from pyarrow import fs

        self._parts = urlsplit(uri)
        if self._parts.password is not None:
            raise UsageError(
                f"the URI for {self._parts.hostname} holds a password, which would end up in plans and receipts; "
                "give credentials by the environment of the store's client"
            )
        self._fs: Any = fs
        try:
            self._store, self._root = fs.FileSystem.from_uri(self.uri(self._literal()))
        except Exception as error:  # pyarrow raises its own errors, ValueError, OSError, by store
            raise UsageError(f"{uri}: pyarrow cannot open it: {' '.join(str(error).split())}") from error

    @classmethod
    def place(cls, uri: str) -> Place:
        return Place(cls(uri), unquote(urlsplit(uri).path))

    def kind(self, path: str) -> Kind:
        found = self._ask(path, lambda inner: self._store.get_file_info(inner).type)
        if found == self._fs.FileType.Directory:
            return "folder"
        return "absent" if found == self._fs.FileType.NotFound else "file"

    def entries(self, path: str) -> list[tuple[str, bool]]:
        found = self._ask(path, lambda inner: self._store.get_file_info(self._fs.FileSelector(inner)))
        return sorted((info.base_name, info.type == self._fs.FileType.Directory) for info in found)

    def uri(self, path: str) -> str:
        return urlunsplit(self._parts._replace(path=quote(path)))

    def _literal(self) -> str:
        """The path of the URI up to its first part with a wildcard."""
        parts = unquote(self._parts.path).split("/")
        first = next((i for i, part in enumerate(parts) if "*" in part or "[" in part), len(parts))
        return "/".join(parts[:first])

    def _ask(self, path: str, question: Any) -> Any:
        """Ask the store about a path of the URI, which it knows by another (with the bucket in front, say)."""
        inner = self._root.rstrip("/") + path[len(self._literal()) :] if path != self._literal() else self._root
        try:
            return question(inner.rstrip("/"))
        except OSError as error:
            raise InputError(f"cannot look at {self.uri(path)}: {' '.join(str(error).split())}") from error
