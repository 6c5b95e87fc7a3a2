"""A folder behind six methods, and durable files on local disks. Names are paths below the store's location, with
slashes; a version is a short text that changes whenever a file is replaced."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Final, NamedTuple, TypeAlias

from ..errors import OutputError
from .location import Location

if TYPE_CHECKING:
    from .object_store import ObjectStore

Store: TypeAlias = "LocalStore | ObjectStore"
ABSENT: Final = ""
"""Expected version for a write that replaces nothing."""
TEMPORARY = re.compile(r"(?:.*/)?\.d2t-[0-9a-f]{16}\.tmp", re.DOTALL)
"""Paths with a name of :func:`temporary_name`."""
CRASH_VARIABLE = "D2T_SCORER_CRASH_AT"
_NO_SPACE = "free some space or quota and run again: it resumes"
_IN_THE_WAY = "a file, folder or link stands there; remove it or choose another folder"
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _NO_SPACE),
    errno.EFBIG: "raise the limit on file sizes and run again: it resumes",
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a folder that this user can write"),
    errno.ENAMETOOLONG: "give the input a shorter name",
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP), _IN_THE_WAY),
}


class FileInfo(NamedTuple):
    """A file in a store."""

    size: int
    """Size in bytes."""
    version: str
    """Version, which changes whenever the file is replaced."""
    modified: float
    """Time of the last change in seconds since 1970, on the clock of the store."""


def open_store(location: Location, *, patient: bool = True) -> Store:
    """Open the store of a location. ``patient``: retry requests to an object store for minutes instead of seconds.

    Raises:
        OutputError: the store cannot be used. MissingDependencyError: ``obstore`` is not installed.
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
                    return {prefix: _info(os.lstat(top))}
            for folder, _, names in os.walk(top, onerror=errors.append):
                for name in names:
                    path = os.path.join(folder, name)  # noqa: PTH118
                    with suppress(FileNotFoundError):
                        files[path[skip:]] = _info(os.lstat(path))
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
                return _rename(temporary, path, "output")
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
        if version is not None and _info(os.fstat(file.fileno())).version != version:
            file.close()
            raise OutputError(f"{self.location / name} was replaced while it was read; run again when it is complete")
        return file


def temporary_name() -> str:
    """A random name: no other user can place a file or a link there, and inputs cannot have such names."""
    return f".d2t-{secrets.token_hex(8)}.tmp"


def create_file(path: Path) -> BinaryIO:
    """Create a file that does not exist, and missing folders above it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        make_folders(path.parent)
        with suppress(FileNotFoundError):  # another thread removed the folder because it was empty
            return os.fdopen(os.open(path, flags, 0o666), "wb")


def atomic_write(path: Path, content: bytes, *, mode: int | None = None, label: str = "file") -> FileInfo:
    """Write a local file under a temporary name in its folder, sync it, and rename it.

    After an error of fsync it is unknown which pages reached the disk, and a second fsync may report success without
    having written them, so none is tried.

    Args:
        path: path of the file.
        content: its new content.
        mode: permissions of the file; those of a new file by default.
        label: name of the file for crash points.

    Raises:
        OutputError: it cannot be written; an earlier file is unchanged, and no temporary file is left.
    """
    with output_errors("write", path):
        temporary = path.with_name(temporary_name())
        file = create_file(temporary)
        try:
            with file:
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            return _rename(temporary, path, label)
        finally:
            discard(temporary)


def _rename(temporary: Path, path: Path, label: str) -> FileInfo:
    """Give a synced file its final name, durably."""
    info = _info(temporary.lstat())
    crash_point(label, "synced")
    temporary.replace(path)
    crash_point(label, "renamed")
    sync_folder(path.parent)
    crash_point(label, "published")
    return info


def refuse_links(root: Path, path: Path) -> None:
    """Refuse (:class:`.OutputError`) to write to a path below a folder through a symbolic link; the folder itself may
    be one."""
    above = root
    for part in path.relative_to(root).parts:
        above = above / part
        if above.is_symlink():
            raise OutputError(
                f"{above} is a symbolic link, and a run writes nothing through links in its output folder; replace it "
                "by a real file or folder, or choose another --out"
            )


def make_folders(folder: Path) -> list[Path]:
    """Create a folder and the missing folders above it durably; returns the created ones, topmost first."""
    missing: list[Path] = []
    while not folder.exists():
        missing.insert(0, folder)
        folder = folder.parent
    for path in missing:
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)
    return missing


def sync_folder(folder: Path) -> None:
    """Make the file names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network and FUSE file systems cannot sync a folder; then only the rename itself can be relied on.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def discard(path: Path) -> None:
    """Remove a file if it exists and can be removed."""
    with suppress(OSError):
        path.unlink()


@contextmanager
def output_errors(action: str, path: Path) -> Iterator[None]:
    """Convert an ``OSError`` raised inside to an :class:`OutputError`. ``action``: a verb, as ``write``."""
    try:
        yield
    except OSError as error:
        hint = _HINTS.get(error.errno or 0)
        reason = error.strerror or str(error)
        raise OutputError(f"cannot {action} {path}: {reason}" + (f"; {hint}" if hint else "")) from error


def require_space(folder: Path, needed: int, what: str) -> None:
    """Refuse (:class:`.OutputError`) to begin if an output cannot fit. ``needed``: lower bound in bytes."""
    with output_errors("read the free space of", folder):
        free = shutil.disk_usage(folder).free
    if free < needed:
        raise OutputError(
            f"{folder} has {free >> 10:,} KiB free, and {what} needs at least {needed >> 10:,} KiB; {_NO_SPACE}"
        )


def crash_point(name: str, moment: str) -> None:
    """End the process here, as kill -9 would, if the environment names this point (``plan.synced`` is that of
    ``_plan.json``, ``receipt.synced`` of ``_receipts/a.parquet.json``); for tests of the protocol."""
    if point := os.environ.get(CRASH_VARIABLE):
        label = name.partition("/")[0].strip("_").removesuffix(".json").removesuffix("s").lower()
        if point == f"{label}.{moment}":
            os._exit(97)


def _info(status: os.stat_result) -> FileInfo:
    return FileInfo(status.st_size, f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}", status.st_mtime)
