"""Files and folders that a user names: a parser for each use, and one check of all files that a command writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ScorerError, UsageError

if TYPE_CHECKING:
    from ..storage.location import StoreUri

READ = ("IN", "IN...", "[NAME=]FILE", "FILE", "B", "BUNDLE", "CHECKPOINT")
"""How the help names a text that is a path to read."""


def local(given: str) -> Path:
    """Parse an option or argument that is a path: plain or ``file://``.

    It parses the text, because a ``Path`` made from a URI would be an ordinary relative path.

    Raises:
        typer.BadParameter: any other URI.
    """
    from ..storage.local_paths import local_path

    try:
        return local_path(given)
    except ScorerError as error:
        raise typer.BadParameter(str(error)) from error


def location(given: str) -> Path | StoreUri:
    """Parse an argument that is an output: a local path, or a URI of an object store.

    Raises:
        typer.BadParameter: a URI of another kind.
    """
    from ..storage.location import StoreUri, parse_location
    from ..storage.object_store import client

    try:
        found = parse_location(given)
        if isinstance(found, StoreUri):
            client()
        return found
    except ScorerError as error:
        raise typer.BadParameter(str(error)) from error


def written(given: str) -> Path:
    """Parse an option that is a file to write, in any format but Parquet; see :func:`check_written`.

    Raises:
        typer.BadParameter: a URI of a store.
    """
    return local(given)


def written_parquet(given: str) -> Path:
    """Parse an option that is a Parquet file to write; see :func:`check_written`.

    Raises:
        typer.BadParameter: a URI of a store.
    """
    return local(given)


def check_written(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> None:
    """Refuse a file to write that is an input of the command, a run's own, named twice, or otherwise not to be written.

    Args:
        parameters: of the command, as its function declares them: they tell what is read and what is written.
        given: their values.

    Raises:
        UsageError, OutputError: see :func:`..storage.user_files.check_user_file`.
    """
    files: dict[str, tuple[Path, bool]] = {}
    inputs: list[str] = []
    for name, parameter in parameters.items():
        info, value = declared(parameter), given.get(name)
        if info is None or value is None:
            continue
        if info.parser in (written, written_parquet):
            files[option_of(info)] = value, info.parser is written_parquet
        elif is_read(info):
            inputs += map(str, value if isinstance(value, list | tuple) else [value])
    if not files:
        return
    from ..storage.user_files import check_user_file

    known: dict[str, str] = {}
    for what, (path, is_parquet) in files.items():
        check_user_file(path, what, inputs=inputs, form=given.get("form") or "auto", is_parquet=is_parquet)
        other = known.setdefault(os.path.realpath(path), what)
        if other != what and (path.is_file() or not path.exists()):
            raise UsageError(f"{other} and {what} are both {path}; name two files")


def declared(parameter: Parameter) -> Any:
    """The option or argument that a parameter of a command is; ``None`` for one that is neither."""
    found = getattr(parameter.annotation, "__metadata__", ())
    return next((one for one in found if hasattr(one, "param_decls")), None)


def option_of(info: Any) -> str:
    """How an option is written; empty for an argument."""
    # typer takes the first name for a default until it reads the whole signature.
    names = (info.default, *(info.param_decls or ()))
    return next((one for one in names if isinstance(one, str) and one.startswith("--")), "")


def is_read(info: Any) -> bool:
    """Whether the option or argument names something that the command reads."""
    return info.parser in (local, location) or (info.parser is None and info.metavar in READ)
