"""Whether an output folder is still what it was when the audit began to read it.

A run that scores a folder again takes each receipt away before it replaces the output, and writes new totals at the
end. So what was read is of one run when plan, totals and receipts have the same bytes before and after, and every
output is still the same file. No lock is held: an audit never makes a run wait.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import OutputError
from ..storage import Receipts
from ..storage.plan import PLAN, RUN, SUCCESS
from ..system.files import read_small

LARGEST = 1 << 30
"""Bytes of a plan or receipt."""
_MOST_NAMED = 3


@dataclass(frozen=True)
class Snapshot:
    """``marks``: by path below ``folder``, what tells that a file is the same: a digest, or its identity."""

    folder: Path
    marks: Mapping[str, str]

    def changed(self) -> list[str]:
        """What is other than it was: changed, gone or new; sorted, the folder's own files first."""
        now = take(self.folder).marks
        names = {name for name in {*self.marks, *now} if self.marks.get(name) != now.get(name)}
        return sorted(names, key=lambda name: (name not in (RUN, PLAN, SUCCESS), name))


def take(folder: Path) -> Snapshot:
    """Look at a folder now.

    Raises:
        OutputError: a plan or receipt is there and cannot be read.
    """
    marks = {}
    for name in (PLAN, RUN, SUCCESS):
        if (mark := _digest(folder / name)) is not None:
            marks[name] = mark
    for relative in Receipts(folder).all():
        name = f"_receipts/{relative}.json"
        if (mark := _digest(folder / name)) is not None:
            marks[name] = mark
        if (mark := _identity(folder / relative)) is not None:
            marks[relative] = mark
    return Snapshot(folder, marks)


@contextmanager
def unchanged(snapshots: Sequence[Snapshot]) -> Iterator[None]:
    """Read folders inside; a change meanwhile is the error, whatever it led to.

    Raises:
        OutputError: one of the folders is not as it was; says what changed.
    """
    try:
        yield
    except Exception as error:  # a file that changed can be damaged in any way
        _refuse_changes(snapshots, error)
        raise
    _refuse_changes(snapshots, None)


def _refuse_changes(snapshots: Sequence[Snapshot], cause: Exception | None) -> None:
    for snapshot in snapshots:
        if names := snapshot.changed():
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            raise OutputError(
                f"{snapshot.folder} changed while it was audited ({', '.join(names[:_MOST_NAMED])}{more}): figures of "
                "two runs must not mix; wait until the run that writes there has ended, and audit again"
            ) from cause


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(read_small(path, LARGEST)).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise OutputError(f"cannot read {path}: {e.strerror or e}") from e


def _identity(path: Path) -> str | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"
