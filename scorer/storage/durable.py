"""Files that are there whole or not at all: written beside their place, synced, renamed, and the folder synced.

After an fsync error nobody knows which pages reached the disk, and a second fsync may report success without having
written them. So the file is thrown away and the error reported; it is never synced again.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ..errors import OutputError

CRASH_VARIABLE = "D2T_SCORER_CRASH_AT"
_TEMPORARY = re.compile(r"\.d2t-[0-9a-f]{16}\.tmp")
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
}


def temporary_path(path: Path) -> Path:
    """Where the bytes of ``path`` are gathered: the same folder, a name of fixed length that inputs cannot have.

    The name is always the same for the same file, so that a killed run leaves at most one; the lease on the output
    folder keeps two runs from sharing it.
    """
    return path.with_name(f".d2t-{blake2b(os.fsencode(path.name), digest_size=8).hexdigest()}.tmp")


def is_temporary(name: str) -> bool:
    """Whether a file name is one that :func:`temporary_path` gives."""
    return _TEMPORARY.fullmatch(name) is not None


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


def publish(temporary: Path, path: Path, label: str) -> None:
    """Give a complete, synced temporary file its name, durably."""
    crash_point(f"{label}.synced")
    temporary.replace(path)
    crash_point(f"{label}.renamed")
    sync_folder(path.parent)
    crash_point(f"{label}.published")


def atomic_bytes(path: Path, content: bytes, label: str = "file") -> None:
    """Replace a file by another content, whole or not at all; missing folders above it are made.

    Raises:
        OutputError: it cannot be written; an earlier file of that name is then still there, and no temporary one.
    """
    temporary = temporary_path(path)
    with output_errors("write", path):
        make_folders(path.parent)
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            publish(temporary, path, label)
        except OSError:
            discard(temporary)
            raise


def atomic_json(path: Path, content: Any, label: str = "json") -> None:
    """Replace a file by an object as JSON: sorted keys, one space of indent, a newline at the end, ASCII.

    Not-a-number and infinity, which JSON does not have, become null.
    """
    text = json.dumps(_finite(content), sort_keys=True, indent=1, allow_nan=False)
    atomic_bytes(path, (text + "\n").encode("ascii"), label)


def read_json(path: Path) -> Any:
    """The object in a JSON file, or ``None`` when there is no file or it holds no JSON.

    Raises:
        OutputError: the file is there and cannot be read.
    """
    try:
        return json.loads(path.read_bytes())
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
