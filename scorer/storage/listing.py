"""Listing folders, local and remote, behind one small interface; and globs over it."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple, Self

from ..errors import InputError
from .local_paths import expand_home

Kind = Literal["file", "folder", "absent"]
ANY_DEPTH = "**"
DELTA_LOG = "_delta_log"


class Entry(NamedTuple):
    """A name in a folder. ``is_linked``: it is a symbolic link, to a folder or a file."""

    name: str
    is_folder: bool
    is_linked: bool = False


@dataclass(frozen=True)
class Place(ABC):
    """A path in a store of files; its parts are separated by ``/``."""

    path: str

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    def at(self, path: str) -> Self:
        return replace(self, path=path)

    def below(self, relative: str) -> Self:
        return self.at(f"{self.path.rstrip('/')}/{relative}")

    @property
    @abstractmethod
    def uri(self) -> str: ...

    @abstractmethod
    def kind(self) -> Kind: ...

    @abstractmethod
    def entries(self) -> list[Entry]:
        """The entries of a folder, sorted by name."""

    @abstractmethod
    def identity(self) -> Hashable:
        """A value that is equal for two paths of the same folder."""


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name is skipped."""
    return name.startswith(("_", "."))


def expand(place: Place, pattern: Sequence[str], suffixes: Sequence[str]) -> Iterator[str]:
    """Relative paths of the files that a glob finds below a folder; ``**`` stands for any number of folders.

    A folder that the whole glob matches stands for the Parquet files in it, as if the shell had expanded the glob.
    Links to folders are followed last. Each folder is searched once for each part of the glob: a folder with several
    links to it appears under the first of its paths.

    Raises:
        InputError: a folder cannot be listed, contains a link to itself, or is a Delta table.
    """
    if place.kind() != "folder":
        return
    parts = _collapsed(pattern)
    plain = [_Visit(place, "", 0, set())]
    linked: deque[_Visit] = deque()
    seen = set()
    while plain or linked:
        visit = plain.pop() if plain else linked.popleft()
        key = visit.place.identity()
        if visit.is_linked and key in visit.above:
            raise InputError(f"{visit.place.path} is a link to a folder that contains it; remove it or name the files")
        if (key, visit.part) in seen:
            continue
        seen.add((key, visit.part))
        here = {key, *visit.above}
        deeper: list[_Visit] = []
        for entry in visit.place.entries():
            if is_hidden(entry.name):
                if entry.name == DELTA_LOG and entry.is_folder:
                    raise InputError(
                        f"{visit.place.path} is a Delta table, whose folder also holds files of other versions; name "
                        "the files of one version: DeltaTable(path).file_uris() of the package deltalake lists them"
                    )
                continue
            for part, is_found in _matches(parts, visit.part, entry, tuple(suffixes)):
                if is_found:
                    yield visit.base + entry.name
                    continue
                place, base = visit.place.below(entry.name), f"{visit.base}{entry.name}/"
                (linked if entry.is_linked else deeper).append(_Visit(place, base, part, here, entry.is_linked))
        plain += reversed(deeper)


class _Visit(NamedTuple):
    """A folder to search, from a part of the glob on. ``base``: its path below the root, with a trailing slash;
    ``above``: the folders on the path to it."""

    place: Place
    base: str
    part: int
    above: set[Hashable]
    is_linked: bool = False


def _collapsed(pattern: Sequence[str]) -> list[str]:
    """The glob with each run of ``**`` replaced by a single one, which means the same."""
    return [part for i, part in enumerate(pattern) if part != ANY_DEPTH or i == 0 or pattern[i - 1] != ANY_DEPTH]


def _matches(parts: Sequence[str], at: int, entry: Entry, suffixes: tuple[str, ...]) -> Iterator[tuple[int, bool]]:
    """How an entry matches the glob from one of its parts on: (part to continue with, whether it is a match)."""
    last = len(parts) - 1
    wanted = parts[at] if at <= last else ANY_DEPTH  # past the end: everything below a folder that matched
    if wanted != ANY_DEPTH:
        if fnmatchcase(entry.name, wanted):
            if entry.is_folder:
                yield at + 1, False
            elif at == last:
                yield at, True
    elif at >= last:
        if entry.is_folder:
            yield at, False
        elif entry.name.lower().endswith(suffixes):
            yield at, True
    else:
        if entry.is_folder:
            yield at, False
        yield from _matches(parts, at + 1, entry, suffixes)  # `**` also matches no folder


class LocalPlace(Place):
    """An absolute path of this machine."""

    @classmethod
    def of(cls, path: str) -> Self:
        return cls(str(expand_home(Path(path), "the input").absolute()))

    @property
    def uri(self) -> str:
        return self.path

    def kind(self) -> Kind:
        try:
            mode = Path(self.path).stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "absent"
        except OSError as error:
            raise InputError(f"cannot look at {self.path}: {error.strerror}") from error
        return "folder" if stat.S_ISDIR(mode) else "file"

    def entries(self) -> list[Entry]:
        try:
            with os.scandir(self.path) as found:
                return sorted(Entry(entry.name, entry.is_dir(), entry.is_symlink()) for entry in found)
        except OSError as error:
            raise InputError(f"cannot list {self.path}: {error.strerror}") from error

    def identity(self) -> Hashable:
        try:
            found = Path(self.path).stat()
        except OSError as error:
            raise InputError(f"cannot look at {self.path}: {error.strerror}") from error
        return found.st_dev, found.st_ino
