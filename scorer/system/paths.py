"""Paths as people write them: ``~`` and ``~name`` are home folders, also where no shell has replaced them."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import UsageError


def user_path(given: str | Path) -> Path:
    """A path with ``~`` or ``~name`` in front replaced; what exists under that very name is taken as it is.

    Shells leave ``--out=~/x`` and ``~nobody/x`` as they are, and a folder named ``~`` is wanted by no one.

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
