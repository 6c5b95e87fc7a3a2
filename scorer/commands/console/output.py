"""What commands print: lines for people on stderr, results on stdout. Hidden characters never reach the terminal."""

from __future__ import annotations

import sys
from typing import Any

import typer

from ...errors import without_user_info
from ...system.display import json_visible, visible


class _Lines:
    """Whether lines for people are left out."""

    quiet = False


def set_quiet(asked: bool) -> None:
    """Apply ``--quiet``."""
    _Lines.quiet = asked


def is_quiet() -> bool:
    """Whether lines for people are left out."""
    return _Lines.quiet


def say(message: str) -> None:
    """Print one line for people on stderr, unless they are left out; stdout is for data."""
    if not _Lines.quiet:
        say_always(message)


def say_always(message: str) -> None:
    """Print one line on stderr that says how the command ended; ``--quiet`` does not leave it out."""
    typer.echo(visible(without_user_info(message)), err=True)


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
    """Print a value, which may be or hold structs and data classes, as indented JSON on stdout.

    Hidden characters are escaped, so that parsing restores them.

    Raises:
        ValueError: NaN or infinity without ``allow_nan``.
    """
    import json

    from msgspec import to_builtins

    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    ascii_only = encoding != "utf8"
    text = json.dumps(value, indent=1, ensure_ascii=ascii_only, allow_nan=allow_nan, default=to_builtins)
    typer.echo(json_visible(text))
