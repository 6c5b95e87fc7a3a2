"""Files as the command line names them: ``FILE`` or ``NAME=FILE``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError, UsageError
from ..paths import user_path
from .lines import display


class Source(NamedTuple):
    """A file and the name it goes by. ``named``: the user gave the name, it is not the file's."""

    name: str
    path: Path
    named: bool

    @property
    def file(self) -> str:
        """The file's name as rows record it; without folders, so that a conversion is the same wherever it is run."""
        return display(self.path.name)


def parse_source(argument: str) -> Source:
    """Read ``FILE`` or ``NAME=FILE``; the whole is a file's name if there is such a file.

    Raises:
        UsageError: it is empty, or begins with a home folder that is not known.
    """
    if not argument.strip():
        raise UsageError("a file name is empty; is a variable of the shell not set?")
    name, sign, path = argument.partition("=")
    if sign and name.strip() and path and not _exists(Path(argument)):
        return Source(display(name.strip()), user_path(path), True)
    return Source(display(Path(argument).stem), user_path(argument), False)


def parse_systems(arguments: Sequence[str]) -> list[Source]:
    """Sources that name a system each.

    Raises:
        UsageError: two of them have one name.
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
    """Sources with each folder replaced by the files of this suffix in it, at any depth, in the order of their paths.

    Raises:
        InputError: a folder has none, or cannot be read.
    """
    files: list[Source] = []
    for source in sources:
        try:
            if not source.path.is_dir():
                files.append(source)
                continue
            found = sorted(path for path in source.path.rglob(f"*{suffix}") if path.is_file())
        except OSError as error:
            raise InputError(f"cannot read {display(source.path)}: {error.strerror}") from error
        if not found:
            raise InputError(f"the folder {display(source.path)} has no {suffix} files")
        files += [Source(source.name if source.named else display(path.stem), path, source.named) for path in found]
    return files


def _exists(path: Path) -> bool:
    """Whether there is such a file, as far as this user can tell."""
    try:
        return path.exists()
    except OSError:  # a name too long, a folder that cannot be entered; opening it will say so
        return False
