"""Paths as users write them: ``~`` and ``~name`` are home folders, even if no shell has replaced them."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import UsageError


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
