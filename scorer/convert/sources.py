"""Files as given on the command line: ``FILE`` or ``NAME=FILE``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError, UsageError
from ..storage.local_paths import is_hidden, local_path
from .lines import display


class Source(NamedTuple):
    """A file and its name. ``named``: whether the user gave the name; otherwise it is that of the file."""

    name: str
    path: Path
    named: bool

    @property
    def file(self) -> str:
        """The file's name as written to rows; without folders, so that the result does not depend on the folder."""
        return display(self.path.name)


def parse_source(argument: str) -> Source:
    """Read ``FILE`` or ``NAME=FILE``; if a file of the whole name exists, that is meant.

    Raises:
        UsageError: it is empty, or a URI of a store.
    """
    if not argument.strip():
        raise UsageError("a file name is empty; check for an unset variable of the shell")
    name, sign, path = argument.partition("=")
    if sign and name.strip() and path and not _exists(Path(argument)):
        return Source(display(name.strip()), local_path(path, "the input"), True)
    place = local_path(argument, "the input")
    return Source(display(place.stem), place, False)


def parse_systems(arguments: Sequence[str]) -> list[Source]:
    """Sources that each name a system.

    Raises:
        UsageError: two of them have the same name.
    """
    sources = [parse_source(argument) for argument in arguments]
    paths: dict[str, Path] = {}
    for source in sources:
        if source.name in paths:
            raise UsageError(
                f"{display(paths[source.name])} and {display(source.path)} would both be the system {source.name!r}; "
                "name one of them: NAME=FILE"
            )
        paths[source.name] = source.path
    return sources


def expand_folders(sources: Sequence[Source], suffix: str) -> list[Source]:
    """Replace each folder among the sources by its files of this suffix, at any depth, in the order of their paths.

    Names that begin with ``_`` or ``.`` are skipped, as for Parquet inputs.

    Raises:
        InputError: a folder has no such file, or cannot be read.
    """
    files: list[Source] = []
    for source in sources:
        try:
            if not source.path.is_dir():
                files.append(source)
                continue
            found = sorted(
                path
                for path in source.path.rglob(f"*{suffix}")
                if path.is_file() and not any(map(is_hidden, path.relative_to(source.path).parts))
            )
        except OSError as error:
            raise InputError(f"cannot read {display(source.path)}: {error.strerror}") from error
        if not found:
            raise InputError(f"the folder {display(source.path)} has no {suffix} files")
        files += [Source(source.name if source.named else display(path.stem), path, source.named) for path in found]
    return files


def _exists(path: Path) -> bool:
    """Whether the file exists and is visible to this user."""
    try:
        return path.exists()
    except OSError:  # a name too long, a folder that cannot be entered; opening the file reports this
        return False
