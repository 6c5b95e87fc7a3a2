"""A folder behind six methods. Names are paths below the store's location, with slashes; a version is a
short text that changes whenever a file is replaced."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, TypeAlias

from ..errors import OutputError
from .local_files import (
    ABSENT,
    FileInfo,
    atomic_write,
    discard,
    info_of,
    output_errors,
    refuse_links,
    rename_durably,
    sync_folder,
)
from .location import Location

if TYPE_CHECKING:
    from .object_store import ObjectStore

Store: TypeAlias = "LocalStore | ObjectStore"


def open_store(location: Location, *, patient: bool = True) -> Store:
    """Open the store of a location. ``patient``: retry requests to an object store for minutes instead of seconds.

    Raises:
        OutputError: the store cannot be used.
        MissingDependencyError: ``obstore`` is not installed.
    """
    if isinstance(location, Path):
        return LocalStore(location)
    from .object_store import ObjectStore

    return ObjectStore(location, patient=patient)


@dataclass(frozen=True)
class LocalStore:
    """The files of a folder; :class:`.ObjectStore` has the same methods. All raise :class:`.OutputError` if the store
    cannot be used."""

    location: Path
    """The folder."""
    is_remote: ClassVar[bool] = False
    """Whether each call is a request to another machine."""

    def uri(self, name: str) -> str:
        """Absolute path or URI of a file."""
        return str((self.location / name).absolute())

    def list(self, prefix: str = "") -> dict[str, FileInfo]:
        """Files by name, sorted: the file called ``prefix``, or all files below it; all files by default."""
        top, files = os.path.join(self.location, prefix), {}  # noqa: PTH118  (a Path for each file takes long)
        skip = len(os.path.join(self.location, ""))  # noqa: PTH118
        errors: list[OSError] = []
        with output_errors("list", Path(top)):
            if prefix and not os.path.isdir(top):  # noqa: PTH112
                with suppress(FileNotFoundError, NotADirectoryError):
                    return {prefix: info_of(os.lstat(top))}
            for folder, _, names in os.walk(top, onerror=errors.append):
                for name in names:
                    path = os.path.join(folder, name)  # noqa: PTH118
                    with suppress(FileNotFoundError):
                        files[path[skip:]] = info_of(os.lstat(path))
            for error in errors:
                if not isinstance(error, FileNotFoundError | NotADirectoryError):
                    raise error
        return dict(sorted(files.items()))

    def read(self, name: str) -> bytes | None:
        """Content of a small file; ``None`` if there is no regular file of that name."""
        path = self.location / name
        try:
            # Non-blocking: opening a FIFO would wait for its writer.
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENXIO):
                return None
            raise OutputError(f"cannot read {path}: {error.strerror}") from error

    def write(self, name: str, content: bytes, *, expect: str | None = None) -> str | None:
        """Write a small file atomically and durably. In a folder, the comparison and the write are two steps.

        Args:
            name: name of the file.
            content: its new content.
            expect: version that it must have (:data:`ABSENT`: no file); any version by default.

        Returns:
            Its new version; ``None`` where it has another version than the expected one.
        """
        refuse_links(self.location, self.location / name)
        if expect is not None:
            current = self.list(name).get(name)
            if expect != (ABSENT if current is None else current.version):
                return None
        return atomic_write(self.location / name, content, label=name).version

    def publish(self, temporary: Path, name: str) -> FileInfo:
        """Give a complete, synced local file its name in the store; it is in the folder of that name already."""
        path = self.location / name
        try:
            refuse_links(self.location, path)
            with output_errors("write", path):
                return rename_durably(temporary, path, "output")
        finally:
            discard(temporary)

    def delete(self, names: Iterable[str]) -> None:
        """Delete files, and the folders that become empty; missing ones are skipped."""
        for name in names:
            path = self.location / name
            refuse_links(self.location, path)
            with output_errors("remove", path):
                try:
                    path.unlink()
                    sync_folder(path.parent)  # which another thread may have removed, as it became empty
                except (FileNotFoundError, NotADirectoryError):
                    continue
            with suppress(OSError):  # it is not empty
                for folder in path.relative_to(self.location).parents[:-1]:
                    (self.location / folder).rmdir()

    def open(self, name: str, version: str | None = None) -> BinaryIO:
        """Open a file for reading; ``OSError`` if that fails, :class:`.OutputError` if another version is there."""
        file = (self.location / name).open("rb")
        if version is not None and info_of(os.fstat(file.fileno())).version != version:
            file.close()
            raise OutputError(f"{self.location / name} was replaced while it was read; run again when it is complete")
        return file
