"""The folder that an export writes: checked first, filled under another name, and renamed at the end."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scorer.errors import OutputError, UsageError

NOT_IN_NAMES = r"[|@/\\\s]+"
"""Characters that would break the line of a signature."""


def check_name(name: str | None) -> None:
    """Refuse a name that would break the line of a signature.

    Raises:
        UsageError: it has such characters.
    """
    if name is not None and (not name or re.search(NOT_IN_NAMES, name)):
        raise UsageError(f"--name is {name!r}; it stands in signatures, so it may not hold blanks or | @ / \\")


def check_out(out: Path) -> None:
    """Refuse a folder that is in use.

    Raises:
        OutputError: it exists and is not empty.
    """
    if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
        raise OutputError(f"{out} exists and is not an empty folder; choose a new folder for the bundle")


@contextlib.contextmanager
def staging(out: Path) -> Iterator[Path]:
    """A temporary folder next to ``out``; it is removed at the end with what it still holds."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as e:
        raise OutputError(f"{out.parent} cannot be written ({e.strerror}); choose another folder") from e
    try:
        yield folder
    except OSError as e:  # most likely a full disk; the files that are read were checked before
        raise OutputError(
            f"writing the bundle for {out} failed ({e.strerror or e}); free space or choose another folder"
        ) from e
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def rename(folder: Path, out: Path) -> None:
    """Give a finished bundle its place.

    Raises:
        OutputError: it cannot be moved.
    """
    try:
        folder.chmod(0o755)  # temporary folders are private; a bundle is to be read
        if out.exists():
            out.rmdir()
        folder.rename(out)
    except OSError as e:
        raise OutputError(f"the bundle cannot be moved to {out} ({e.strerror}); choose another folder") from e
