"""What commands print: lines for people on stderr, results on stdout. Hidden characters never reach the terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from ...errors import UsageError
from ...system.display import json_visible, visible
from .streams import LossyFile, was_lost


class _Lines:
    """Where lines for people go, besides stderr or instead of it; set before a command begins."""

    quiet = False
    log: LossyFile | None = None


@contextmanager
def lines_for_people(quiet: bool, log: Path | None) -> Iterator[None]:
    """Within it, lines for people are left out (``quiet``) and also appended to a file, each with its time.

    Raises:
        UsageError, OutputError: the file cannot be opened.
    """
    _Lines.quiet, _Lines.log = quiet, _opened(log) if log else None
    try:
        yield
    finally:
        file, _Lines.log, _Lines.quiet = _Lines.log, None, False
        if file is not None:
            if lost := was_lost(file):
                say_always(f"scorer: --log-file {log}: {lost}; the log is incomplete")
            os.close(file.fileno())


def is_quiet() -> bool:
    """Whether lines for people are left out."""
    return _Lines.quiet


def say(message: str) -> None:
    """Print one line for people on stderr, unless they are left out; stdout is for data."""
    log(message)
    if not _Lines.quiet:
        typer.echo(visible(message), err=True)


def say_always(message: str) -> None:
    """Print one line on stderr that says how the command ended; ``--quiet`` does not leave it out."""
    log(message)
    typer.echo(visible(message), err=True)


def log(message: str) -> None:
    """Append one line to the log file, if there is one, and to nothing else."""
    if _Lines.log is not None:
        time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        _Lines.log.write(f"{time} {visible(message)}\n".encode("utf-8", "backslashreplace"))


def _opened(path: Path) -> LossyFile:
    from ...storage.user_files import open_to_append

    try:
        return LossyFile(open_to_append(path, "--log-file"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"--log-file {path}: {reason}; name a file in a folder that exists") from error


_said: set[str] = set()


def say_once(message: str) -> None:
    """Print a line on stderr, once per command, even if a file is read or a scorer is opened several times."""
    if message not in _said:
        _said.add(message)
        say(message)


def begin_command() -> None:
    """Forget the lines of earlier commands of this process; see :func:`say_once`."""
    _said.clear()


def tell(message: str) -> None:
    """Print one line of the result on stdout."""
    typer.echo(visible(message))


def print_json(value: Any, *, allow_nan: bool = True) -> None:
    """Print a value as indented JSON on stdout. Hidden characters are escaped, so that parsing restores them.

    Raises:
        ValueError: NaN or infinity without ``allow_nan``.
    """
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    text = json.dumps(value, indent=1, ensure_ascii=encoding != "utf8", allow_nan=allow_nan)
    typer.echo(json_visible(text))
