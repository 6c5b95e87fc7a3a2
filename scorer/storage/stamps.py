"""By what a file that was replaced or written to is noticed without reading it."""

from __future__ import annotations

from pathlib import Path

Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp:
    """What changes when a file is replaced or written to: size, modification time in ns, inode."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino


def stamp_of(path: Path) -> Stamp | None:
    """The :func:`stamp` of a file, ``None`` where there is none that can be looked at."""
    try:
        return stamp(path)
    except OSError:
        return None
