"""What commands print: lines for people on stderr, results on stdout. Hidden characters never reach the terminal."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from ...system.display import json_visible, visible


def say(message: str) -> None:
    """Print one line for people on stderr; stdout is for data."""
    typer.echo(visible(message), err=True)


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
