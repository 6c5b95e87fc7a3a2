"""Free space, looked at before it is needed: a disk that fills up during the night is better known in the evening."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..errors import OutputError
from .durable import output_errors


def require_space(out: Path, needed: int, what: str) -> None:
    """Refuse to begin what cannot fit.

    Args:
        needed: bytes that will be written at the very least. An estimate that is too high would refuse what fits;
            one that is too low is caught by the write itself, which leaves nothing half.
        what: what is to be written, for the message.

    Raises:
        OutputError: less is free.
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
