"""Durable files on local disks: written under temporary names, synced, renamed; their errors in one line."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from ..errors import OutputError

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


def info_of(status: os.stat_result) -> FileInfo:
    """A local file, from its status."""
    return FileInfo(status.st_size, f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}", status.st_mtime)


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
            return rename_durably(temporary, path, label)
        finally:
            discard(temporary)


def rename_durably(temporary: Path, path: Path, label: str) -> FileInfo:
    """Give a synced file its final name, durably."""
    info = info_of(temporary.lstat())
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


def require_space(folder: Path, needed: int, purpose: str) -> None:
    """Refuse (:class:`.OutputError`) to begin if an output cannot fit. ``needed``: lower bound in bytes."""
    with output_errors("read the free space of", folder):
        free = shutil.disk_usage(folder).free
    if free < needed:
        raise OutputError(
            f"{folder} has {free >> 10:,} KiB free, and {purpose} needs at least {needed >> 10:,} KiB; {_NO_SPACE}"
        )


def crash_point(name: str, moment: str) -> None:
    """End the process here, as kill -9 would, if the environment names this point (``plan.synced`` is that of
    ``_plan.json``, ``receipt.synced`` of ``_receipts/a.parquet.json``); for tests of the protocol."""
    if point := os.environ.get(CRASH_VARIABLE):
        label = name.partition("/")[0].strip("_").removesuffix(".json").removesuffix("s").lower()
        if point == f"{label}.{moment}":
            os._exit(97)
