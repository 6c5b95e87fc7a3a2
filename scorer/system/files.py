"""Files that a user names: their paths, and small ones read without blocking, if they are regular files.

Reading a FIFO could wait without limit, a device such as ``/dev/zero`` would fill the memory, and opening a device may
already have an effect. So a file is checked before it is opened, and again through its descriptor.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from ..errors import UsageError

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def user_path(given: str | Path) -> Path:
    """A path with a leading ``~`` or ``~name`` replaced, unless a file or folder of that literal name exists.

    Shells do not replace ``--out=~/x``, and a new folder named ``~`` is hardly ever intended.

    Raises:
        UsageError: there is no such user, or no home folder.
    """
    path = Path(given)
    first = path.parts[0] if path.parts else ""
    if not first.startswith("~") or os.path.lexists(first):
        return path
    try:
        return path.expanduser()
    except RuntimeError as e:
        who = f"no user {first[1:]!r}" if first != "~" else "no home folder known"
        raise UsageError(f"{str(path)!r}: there is {who} on this machine; write the path from / on") from e


def read_small(path: Path, largest: int) -> bytes:
    """The content of a regular file of at most ``largest`` bytes. Symbolic links are followed.

    Raises:
        OSError: it cannot be opened or read, is not a regular file, or is larger; ``strerror`` says which of these in
            one phrase. An impossible name (a NUL byte, half of a surrogate pair) is an ``OSError`` too.
    """
    try:
        _check(path, path.stat(), largest)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except ValueError as e:
        raise OSError(errno.EINVAL, f"not a possible file name ({e})", str(path)) from e
    with os.fdopen(descriptor, "rb") as file:
        _check(path, os.fstat(descriptor), largest)  # the name may refer to another file by now
        content = file.read(largest + 1)
    if len(content) > largest:  # it grew, or is in /proc, where sizes are reported as 0
        raise _too_large(path, largest)
    return content


def _check(path: Path, found: os.stat_result, largest: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(found.st_mode)), "something else")
        code = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
        raise OSError(code, f"not a regular file but {kind}", str(path))
    if found.st_size > largest:
        raise _too_large(path, largest)


def _too_large(path: Path, largest: int) -> OSError:
    return OSError(errno.EFBIG, f"more than the {largest:,} bytes that such a file may have", str(path))
