"""Whether an output folder is unchanged since the audit began to read it.

A run that scores a folder again removes each receipt before it replaces the output, and writes new totals at the end.
So all that was read is of one run when plan, totals and receipts have the same bytes before and after, and every
output is still the same file. No lock is held: an audit never blocks a run.
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
    """``marks``: by path below ``folder``, what identifies the file: a digest, or device, inode, size and time."""

    folder: Path
    marks: Mapping[str, str]

    def changed(self) -> list[str]:
        """The names of files that changed, are gone or are new; sorted, the folder's own files first."""
        now = take(self.folder).marks
        names = {name for name in {*self.marks, *now} if self.marks.get(name) != now.get(name)}
        return sorted(names, key=lambda name: (name not in (RUN, PLAN, SUCCESS), name))


def take(folder: Path) -> Snapshot:
    """Record the state of a folder.

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
    """Read folders inside; a change meanwhile is reported, whatever error it caused.

    Raises:
        OutputError: one of the folders changed; names the files.
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
                "two runs must not mix; wait until the run that writes there has ended, then audit again"
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
