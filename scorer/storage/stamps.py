"""Stamps of files, which show without reading a file whether it was replaced or written to."""

from __future__ import annotations

from pathlib import Path

Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp:
    """Values that change if a file is replaced or written to: size in bytes, modification time in ns, inode."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino


def stamp_of(path: Path) -> Stamp | None:
    """The :func:`stamp` of a file, ``None`` if it does not exist or cannot be accessed."""
    try:
        return stamp(path)
    except OSError:
        return None
