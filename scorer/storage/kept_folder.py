"""A folder of the cache that several processes need: one of them fills it, and it appears complete or not at all.

It is filled under a temporary name next to it, and renamed. A lock keeps the processes of a machine from doing the same
work; where the file system has no locks, or the holder takes too long, two fill it, and the first rename counts.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..system.files import read_small
from ..system.process_marks import has_ended, own_mark
from .durable import make_folders, sync_folder, temporary_name

_MARK = ".mark"
"""The file in a temporary folder that names the process which fills it."""
_LARGEST_MARK = 4096
_WAIT_S = 600.0
_OLD_S = 86_400.0
"""Age of a temporary folder at which it is removed if its process cannot be seen."""


def keep_folder(
    folder: Path, is_complete: Callable[[], bool], fill: Callable[[Path], None], tell_waiting: Callable[[], None]
) -> None:
    """Make a folder complete, unless it is; an incomplete one is replaced.

    Args:
        folder: in the cache; folders above it are created.
        is_complete: whether the folder has what it needs.
        fill: writes and syncs the files in an empty folder.
        tell_waiting: called if another process is filling the folder.

    Raises:
        OSError: the cache cannot be written. What ``fill`` raises; then nothing of its files is left.
    """
    if is_complete():  # the cache may be one that cannot be written
        return
    make_folders(folder.parent)
    with _alone(folder.with_name(f".{folder.name}.lock"), tell_waiting):
        if is_complete():
            return
        _remove_leftovers(folder)
        temporary = _temporary(folder)
        try:
            temporary.mkdir()
            (temporary / _MARK).write_text(own_mark())
            fill(temporary)
            (temporary / _MARK).unlink()
            sync_folder(temporary)
            _rename(temporary, folder, is_complete)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _temporary(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}{temporary_name()}")


def _rename(temporary: Path, folder: Path, is_complete: Callable[[], bool]) -> None:
    """Give a filled folder its name; what stands there and is not complete makes room."""
    for last in (False, False, True):
        try:
            temporary.rename(folder)
            break
        except OSError:
            if is_complete():
                return
            if last:
                raise
            odd = _temporary(folder)
            with suppress(FileNotFoundError):
                folder.rename(odd)
            shutil.rmtree(odd, ignore_errors=True)
            with suppress(OSError):
                odd.unlink()
    sync_folder(folder.parent)


def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary folders of processes that were killed."""
    for found in folder.parent.glob(f".{folder.name}.d2t-*.tmp"):
        mark = ""
        with suppress(OSError, UnicodeDecodeError):
            mark = read_small(found / _MARK, _LARGEST_MARK).decode()
        with suppress(OSError):
            if has_ended(mark) or time.time() - found.stat().st_mtime > _OLD_S:
                shutil.rmtree(found, ignore_errors=True)


@contextmanager
def _alone(path: Path, tell_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock on a file, or go on without it where there are no locks or the wait is too long."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        told, deadline = False, time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    tell_waiting()
                told = True
                time.sleep(0.2)
            except OSError:
                break
        yield
    finally:
        os.close(lock)
