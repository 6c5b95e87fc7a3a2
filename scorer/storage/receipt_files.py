"""Names of the files next to the outputs, and which names an output may have."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..errors import OutputError

RECEIPTS, FAILED = "_receipts", "_failed"


def check_relative(relative: str) -> None:
    """Refuse a path that would not lie below the output folder, or that is the name of one of its own files.

    Raises:
        OutputError: it is absolute, goes up, or has a part that begins with ``_`` or ``.``.
    """
    parts = relative.split("/")
    if relative.startswith("/") or "\0" in relative or any(not part or part[0] in "_." for part in parts):
        raise OutputError(f"{relative!r} is not a valid output path: it must be inside the output folder, "
                          "and no part of it may begin with '_' or '.'")  # fmt: skip


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
