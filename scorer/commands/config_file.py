"""Settings of a project: ``scorer.toml`` in the working directory, or the file that ``D2T_CONFIG`` names.

::

    bundle = "bundles/roberta-large-mnli"    # paths are relative to the file
    gates = ["gates.toml"]
    text_column = "output.text"

A key is the name of an option that has an environment variable, with underscores. Options override variables, and
variables override the file; the option parser does that, which takes the file as its ``default_map``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..inference import BUILTIN_BUNDLES
from ..system.files import read_small, user_path

NAME = "scorer.toml"
CONFIG = "D2T_CONFIG"
LARGEST_FILE = 64 << 10
PATHS = ("bundle", "templates", "gates")


def configured(command: Any) -> dict[str, Any]:
    """The ``default_map`` of a group of commands.

    Raises:
        UsageError: the file cannot be read, is not TOML, or has an unknown key or a value of another type.
    """
    named = os.environ.get(CONFIG)
    path = Path(named or NAME)
    try:
        if not named and not path.is_file():
            return {}
        import tomllib

        content = tomllib.loads(read_small(path, LARGEST_FILE).decode("utf-8"))
    except OSError as error:
        where = f"{CONFIG}={named}" if named else NAME
        raise UsageError(f"{where}: {error.strerror or error}; name a readable TOML file, or none") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {str(error)[:200]}") from error
    known = {option.name: option.multiple for option in _options(command)}
    for key, value in content.items():
        if key not in known:
            raise UsageError(f"{path}: unknown key {key[:60]!r}; the keys are {', '.join(sorted(known))}")
        values = value if known[key] and isinstance(value, list) else [value]
        if not all(isinstance(one, str) or type(one) is int for one in values):
            raise UsageError(f"{path}: {key} is {str(value)[:60]}; write a string, a number or a list of files")
        if key in PATHS:
            values = [one if one in BUILTIN_BUNDLES else _from(path, key, str(one)) for one in values]
        content[key] = values if known[key] else values[0]
    return _default_map(command, content)


def _default_map(command: Any, content: dict[str, Any]) -> dict[str, Any]:
    if hasattr(command, "commands"):
        return {name: _default_map(one, content) for name, one in command.commands.items()}
    return {option.name: content[option.name] for option in _options(command) if option.name in content}


def _options(command: Any) -> Iterator[Any]:
    """The options of a command, or of all commands of a group, that have an environment variable."""
    for inner in getattr(command, "commands", {}).values():
        yield from _options(inner)
    yield from (one for one in command.params if isinstance(getattr(one, "envvar", None), str))


def _from(path: Path, key: str, given: str) -> str:
    """A path of the file, which is relative to the file's folder."""
    try:
        return given if "://" in given else str(path.absolute().parent / user_path(given))
    except UsageError as error:
        raise UsageError(f"{path}: {key}: {error}") from error
