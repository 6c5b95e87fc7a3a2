"""Files that are there whole or not at all: written next to their place, synced, renamed, and the folder synced.

Temporary files have random names and are made with ``O_EXCL`` and ``O_NOFOLLOW``: nobody can prepare a file or a link
where one will be. In an output folder the name carries the token of whoever holds the folder, so that a later run can
tell what a dead run left from what a live part is writing.

After an fsync error nobody knows which pages reached the disk, and a second fsync may report success without having
written them. So the file is thrown away and the error reported; it is never synced again.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path
from typing import Any

from ..errors import OutputError

CRASH_VARIABLE = "D2T_SCORER_CRASH_AT"
LARGEST_JSON = 1 << 30
"""Bytes of a JSON file that are read; the plan of a million shards has a third of that."""
# `.d2t-<token>-<random>.tmp`; without a holder two random halves. One half alone was the form of earlier versions.
_TEMPORARY = re.compile(r"\.d2t-([0-9a-f]{16})(-[0-9a-f]{16})?\.tmp")
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


@dataclass(frozen=True)
class Holder:
    """Whoever holds an output folder, as its writers know it.

    ``root``: the folder; below it no symbolic link is written through. ``token``: 16 hexadecimal digits, part of the
    names of temporary files. ``check``: raises :class:`OutputError` once the folder is another's; asked right before
    each rename.
    """

    root: Path
    token: str
    check: Callable[[], None]


def temporary_name(token: str = "") -> str:
    """A new random name of a temporary file, of fixed length; inputs cannot have such names.

    Args:
        token: of the holder of an output folder; without one the file belongs to nobody that could be looked up.
    """
    return f".d2t-{token or secrets.token_hex(8)}-{secrets.token_hex(8)}.tmp"


def is_temporary(name: str) -> bool:
    """Whether a file name is one that :func:`temporary_name` gives, or gave in earlier versions."""
    return _TEMPORARY.fullmatch(name) is not None


def token_of(name: str) -> str | None:
    """The holder's token in the name of a temporary file; ``None`` for other names and those of earlier versions."""
    match = _TEMPORARY.fullmatch(name)
    return match[1] if match is not None and match[2] is not None else None


def open_temporary(path: Path, holder: Holder | None = None) -> tuple[Path, BufferedWriter]:
    """Make the file in which the bytes of ``path`` are gathered, and the folders above it that are missing.

    Raises:
        OutputError: a symbolic link stands between the holder's folder and the file. OSError: it cannot be made.
    """
    if holder is not None:
        refuse_links(holder.root, path)
    make_folders(path.parent)
    temporary = path.with_name(temporary_name(holder.token if holder is not None else ""))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
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
                f"{place} is a symbolic link, and nothing in an output folder is written through one; replace it by a "
                "real file or folder, or choose another --out"
            )


def crash_point(name: str) -> None:
    """End the process here, as kill -9 would, when the environment names this point; for tests of the protocol."""
    if os.environ.get(CRASH_VARIABLE) == name:
        os._exit(97)


@contextmanager
def output_errors(what: str, path: Path) -> Iterator[None]:
    """Turn an ``OSError`` inside into an :class:`OutputError` that says what could not be done, where, and why."""
    try:
        yield
    except OSError as error:
        hint = _HINTS.get(error.errno or 0)
        reason = error.strerror or str(error)
        raise OutputError(f"cannot {what} {path}: {reason}" + (f"; {hint}" if hint else "")) from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network and FUSE file systems cannot sync a folder; the rename itself is then all there is.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it that are missing, each one durable."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def publish(temporary: Path, path: Path, label: str, holder: Holder | None = None) -> None:
    """Give a complete, synced temporary file its name, durably.

    Raises:
        OutputError: the output folder is another's by now. OSError: the file cannot be renamed.
    """
    crash_point(f"{label}.synced")
    if holder is not None:
        holder.check()
    temporary.replace(path)
    crash_point(f"{label}.renamed")
    sync_folder(path.parent)
    crash_point(f"{label}.published")


def atomic_bytes(
    path: Path, content: bytes, label: str = "file", holder: Holder | None = None, mode: int | None = None
) -> None:
    """Replace a file by another content, whole or not at all; missing folders above it are made.

    For files that the program owns; for those that a user names see :mod:`.user_files`.

    Args:
        holder: of the output folder that the file lies in.
        mode: permissions of the file; those of a new file by default.

    Raises:
        OutputError: it cannot be written; an earlier file of that name is then still there, and no temporary one.
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
            publish(temporary, path, label, holder)
        except BaseException:
            discard(temporary)
            raise


def atomic_json(path: Path, content: Any, label: str = "json", holder: Holder | None = None) -> None:
    """Replace a file by an object as JSON: sorted keys, one space of indent, a newline at the end, ASCII.

    Not-a-number and infinity, which JSON does not have, become null.
    """
    text = json.dumps(_finite(content), sort_keys=True, indent=1, allow_nan=False)
    atomic_bytes(path, (text + "\n").encode("ascii"), label, holder)


def read_json(path: Path) -> Any:
    """The object in a JSON file, or ``None`` when there is no file, it holds no JSON, or is no regular file.

    Raises:
        OutputError: the file is there and cannot be read.
    """
    try:
        # Not blocking: to open a FIFO would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_JSON:
                return None
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read()
        finally:
            os.close(descriptor)
        return json.loads(content)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except (ValueError, RecursionError):
        return None
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror}") from error


def discard(path: Path) -> None:
    """Remove a file if it is there and can be removed."""
    with suppress(OSError):
        path.unlink()


def _finite(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    return content
