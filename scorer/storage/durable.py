"""Atomic, durable files: write a temporary file in the same folder, sync it, rename it, and sync the folder.

Temporary files have random names and are created with ``O_EXCL`` and ``O_NOFOLLOW``, so that no other user can place a
file or a link there first. In an output folder, the name contains the token of the folder's holder, so that a later run
can distinguish the files of a dead run from those that a live part is writing.

After an fsync error it is unknown which pages reached the disk, and a second fsync may report success without having
written them. So the file is deleted and the error reported; it is never synced again.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path

from ..errors import OutputError
from ..system.progress import sha256_of

CRASH_VARIABLE = "D2T_SCORER_CRASH_AT"
LARGEST_JSON = 1 << 30
"""Largest size in bytes of a JSON file that is read; the plan of a million shards has a third of it."""
# `.d2t-<token>-<random>.tmp`; without a holder both parts are random.
_TEMPORARY = re.compile(r"\.d2t-([0-9a-f]{16})-[0-9a-f]{16}\.tmp")
_HINTS = {
    errno.ENOSPC: "free some space and run again: it resumes",
    errno.EDQUOT: "free some of the quota and run again: it resumes",
    errno.EFBIG: "raise the limit on file sizes and run again: it resumes",
    errno.EACCES: "choose a folder that this user can write",
    errno.EPERM: "choose a folder that this user can write",
    errno.EROFS: "choose a folder on a file system that can be written",
    errno.ENAMETOOLONG: "give the input a shorter name",
    errno.ENOTDIR: "a file stands where a folder is needed; remove it or choose another folder",
    errno.EISDIR: "a folder stands where a file is needed; remove it or choose another folder",
    errno.ELOOP: "a symbolic link stands there; remove it",
}
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


@dataclass(frozen=True)
class Holder:
    """The holder of an output folder, as passed to the writers of its files.

    ``root``: the folder; nothing below it is written through a symbolic link. ``token``: 16 hexadecimal digits, part of
    the names of temporary files. ``check``: raises :class:`OutputError` if another run has taken over the folder;
    called immediately before each rename.
    """

    root: Path
    token: str
    check: Callable[[], None]


def temporary_name(token: str = "") -> str:
    """A new random name of fixed length for a temporary file; inputs cannot have such names.

    Args:
        token: of the holder of an output folder; without one, the file cannot be attributed to a holder.
    """
    return f".d2t-{token or secrets.token_hex(8)}-{secrets.token_hex(8)}.tmp"


def token_of(name: str) -> str | None:
    """The holder's token in the name of a temporary file; ``None`` for other names."""
    match = _TEMPORARY.fullmatch(name)
    return match[1] if match is not None else None


def open_temporary(path: Path, holder: Holder | None = None) -> tuple[Path, BufferedWriter]:
    """Create the temporary file for ``path``, and the missing folders above it.

    Raises:
        OutputError: a symbolic link is between the holder's folder and the file. OSError: it cannot be created.
    """
    if holder is not None:
        refuse_links(holder.root, path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    make_folders(path.parent)
    temporary = path.with_name(temporary_name(holder.token if holder is not None else ""))
    return temporary, os.fdopen(os.open(temporary, flags, 0o666), "wb")


def refuse_links(root: Path, path: Path) -> None:
    """Refuse to write to a path below a folder through a symbolic link; the folder itself may be one.

    Raises:
        OutputError: a folder on the way, or the file itself, is a link.
    """
    place = root
    for part in path.relative_to(root).parts:
        place = place / part
        if place.is_symlink():
            raise OutputError(
                f"{place} is a symbolic link, and a run writes nothing through links in its output folder; replace it "
                "by a real file or folder, or choose another --out"
            )


def crash_point(name: str) -> None:
    """End the process here, as kill -9 would, if the environment names this point; for tests of the protocol."""
    if os.environ.get(CRASH_VARIABLE) == name:
        os._exit(97)


@contextmanager
def output_errors(what: str, path: Path) -> Iterator[None]:
    """Convert an ``OSError`` raised inside to an :class:`OutputError` that says what failed, where, and why."""
    try:
        yield
    except OSError as error:
        hint = _HINTS.get(error.errno or 0)
        reason = error.strerror or str(error)
        raise OutputError(f"cannot {what} {path}: {reason}" + (f"; {hint}" if hint else "")) from error


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


def make_folders(folder: Path) -> None:
    """Create a folder and the missing folders above it, each one durably."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def publish(temporary: Path, path: Path, label: str, holder: Holder | None = None, *, replace: bool = True) -> bool:
    """Give a complete, synced temporary file its final name, durably; or remove it.

    Args:
        replace: give it the name of an earlier file. Otherwise of two processes on any machines one succeeds: the file
            gets its name by a link, which never replaces.

    Returns whether it has the name.

    Raises:
        OutputError: another run has taken over the output folder. OSError: the file cannot be renamed.
    """
    try:
        crash_point(f"{label}.synced")
        if holder is not None:
            holder.check()
        if replace or not _link(temporary, path):
            temporary.replace(path)
    except FileExistsError:
        return False
    finally:
        discard(temporary)
    crash_point(f"{label}.renamed")
    sync_folder(path.parent)
    crash_point(f"{label}.published")
    return True


def _link(path: Path, other: Path) -> bool:
    """Give a file another name; ``False`` on a file system that has no links."""
    try:
        os.link(path, other)
    except OSError as error:
        if error.errno in _NO_LINKS:
            return False
        raise
    return True


def atomic_bytes(
    path: Path,
    content: bytes,
    label: str = "file",
    holder: Holder | None = None,
    *,
    mode: int | None = None,
    replace: bool = True,
) -> bool:
    """Write a file atomically; missing folders above it are created.

    For files that the program owns; for files that a user names see :mod:`.user_files`.

    Args:
        holder: of the output folder that contains the file.
        mode: permissions of the file; those of a new file by default.
        replace: also where there is a file; see :func:`publish`.

    Returns whether it was written.

    Raises:
        OutputError: it cannot be written; an earlier file of that name is unchanged, and no temporary file is left.
    """
    with output_errors("write", path):
        temporary, file = open_temporary(path, holder)
        try:
            with file:
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            discard(temporary)
            raise
        return publish(temporary, path, label, holder, replace=replace)


def discard(path: Path) -> None:
    """Remove a file if it exists and can be removed."""
    with suppress(OSError):
        path.unlink()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as hex."""
    with path.open("rb") as file:
        return sha256_of(file)


def require_space(out: Path, needed: int, what: str) -> None:
    """Refuse to begin if the output cannot fit.

    Args:
        needed: least number of bytes that will be written. If this is too high, a run that fits is refused; if it is
            too low, the write itself fails, and leaves no partial file.
        what: what is to be written, for the message.

    Raises:
        OutputError: less space is free.
    """
    with output_errors("look at the free space of", out):
        free = shutil.disk_usage(out).free
    if free < needed:
        raise OutputError(
            f"{out} has {_size(free)} free, and {what} needs at least {_size(needed)}; free some space and run again: "
            "it resumes"
        )


def _size(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}"
        count //= 1024
    return f"{count:,.0f} GiB"
