"""Check free disk space before a run begins, instead of failing when the disk is full."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..errors import OutputError
from .durable import output_errors


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
