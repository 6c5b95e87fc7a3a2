"""What only an output in a folder has: links to refuse, temporary files of dead runs, folders that became empty."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from ..errors import OutputError
from .durable import discard, output_errors, refuse_links, token_of
from .finished import FAILED, PLAN, RECEIPTS, RUN, SUCCESS
from .local_paths import local_path


def is_there(out: Path) -> bool:
    """Whether there is a folder for an output, which can be written; otherwise one can be created.

    Raises:
        UsageError: the path is a URI.
        OutputError: a file stands there, or nothing can be written.
    """
    local_path(out, "the output folder")
    with output_errors("look into", out):
        if not out.exists():
            if out.is_symlink():
                raise OutputError(f"{out} is a link that leads nowhere; remove it or choose another --out")
            above = next(path for path in out.absolute().parents if path.exists())
            if not above.is_dir():
                raise OutputError(f"{out} cannot be created: {above} is a file; choose another --out")
            if not os.access(above, os.W_OK | os.X_OK):
                raise OutputError(f"{out} cannot be created: {above} cannot be written; choose another --out")
            return False
        if not out.is_dir():
            raise OutputError(f"{out} is a file, and the output is a folder; choose another --out")
        if not os.access(out, os.W_OK | os.X_OK):
            raise OutputError(f"{out} cannot be written by this user; choose another --out or change its permissions")
    return True


def prune(out: Path, paths: Iterable[Path]) -> None:
    """Remove the folders of files that are gone where they became empty, upwards; one with anything in it stays."""
    for path in paths:
        folder = path.parent
        while folder != out and folder.is_relative_to(out):
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                break
            folder = folder.parent


def sweep(out: Path, live: Collection[str]) -> list[str]:
    """Remove the temporary files that dead runs left, and tell which, as paths below the folder.

    Args:
        live: tokens of other parts that run now, whose files are kept.
    """
    swept = []
    for root, folders, names in os.walk(out):
        folders.sort()
        for name in sorted(names):
            token = token_of(name)
            if token is not None and token not in live:
                path = Path(root, name)
                discard(path)
                swept.append(path.relative_to(out).as_posix())
    return swept


def refuse_links_at(out: Path, relatives: Collection[str]) -> None:
    """Make sure that no output, and no file about one, would be written through a symbolic link.

    Raises:
        OutputError: a link stands in the place of one of them, or of a folder on the way there.
    """
    if not _has_links(out):  # nearly always so, and it saves a look at each of the paths
        return
    for relative in relatives:
        for path in (out / relative, *(out / top / f"{relative}.json" for top in (RECEIPTS, FAILED))):
            refuse_links(out, path)
    for name in (PLAN, RUN, SUCCESS):
        refuse_links(out, out / name)


def _has_links(out: Path) -> bool:
    """Whether there is a symbolic link anywhere below the folder; one listing of each folder tells."""
    folders = [str(out)]
    while folders:
        with output_errors("look into", out), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    return True
                if entry.is_dir():
                    folders.append(entry.path)
    return False
