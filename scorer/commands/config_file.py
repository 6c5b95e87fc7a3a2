"""Settings of a project: ``scorer.toml`` in the working directory, and environment variables ``D2T_*``.

::

    bundle = "bundles/roberta-large-mnli"    # paths are relative to the file
    templates = "templates.json"
    gates = ["gates.toml"]

    [columns]
    text = "output.text"

An option is stronger than a variable, a variable is stronger than the file. Options that are switches, such as
``--exact``, are not in it: an option could not switch them off again. Which option has which variable is declared with
the option.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..errors import UsageError
from ..inference.shipped import SHIPPED
from ..metric.column_names import ColumnNames
from ..scoring.settings import Settings
from ..system.files import read_small
from ..system.paths import user_path

NAME = "scorer.toml"
PREFIX = "D2T_"
CONFIG = "D2T_CONFIG"
LARGEST_FILE = 64 << 10

SETTINGS = ("bundle", "templates", "protocol", "checks", "missing_template", "device", "precision",
            "device_memory", "overlong")  # fmt: skip
COLUMNS = {"text": "D2T_TEXT_COLUMN", "triples": "D2T_TRIPLES_COLUMN", "facts": "D2T_FACTS_COLUMN",
           "attributes": "D2T_ATTRIBUTES_COLUMN", "subject": "D2T_SUBJECT_COLUMN",
           "mr": "D2T_MR_COLUMN", "keep": "D2T_KEEP", "prefix": "D2T_PREFIX"}  # fmt: skip
VARIABLES = {
    **{name: f"{PREFIX}{name.upper()}" for name in SETTINGS},
    **{f"columns.{name}": variable for name, variable in COLUMNS.items()},
    "gates": "D2T_GATES",
}
"""The environment variable of each key of the file."""


class _Command(Protocol):
    """What is used of a command or a group of commands of the option parser."""

    params: list[Any]


@dataclass(frozen=True)
class ConfigFile:
    """A file of settings. ``values``: by variable, as the options take them; paths are absolute."""

    path: Path
    values: Mapping[str, Any] = field(default_factory=dict)

    def defaults(self, command: _Command) -> dict[str, Any]:
        """The values as defaults of a command's options, by parameter; of a group, by the name of each command."""
        inner: Mapping[str, _Command] | None = getattr(command, "commands", None)
        if inner is not None:
            return {name: self.defaults(one) for name, one in inner.items()}
        return {one.name: self.values[one.envvar] for one in command.params if _variable(one) in self.values}


def find_config() -> ConfigFile | None:
    """The file that ``D2T_CONFIG`` names, or ``scorer.toml`` in the working directory; ``None`` without either.

    Raises:
        UsageError: it cannot be read, is no TOML, or has an unknown key or a value of another type.
    """
    named = os.environ.get(CONFIG)
    path = Path(named or NAME)
    try:
        if not named and not path.is_file():
            return None
        content = tomllib.loads(read_small(path, LARGEST_FILE).decode("utf-8"))
    except OSError as error:
        where = f"{CONFIG}={named}" if named else NAME
        raise UsageError(f"{where}: {error.strerror or error}; name a readable TOML file, or none") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {str(error)[:200]}") from error
    return ConfigFile(path, _checked(content, path))


def _variable(parameter: Any) -> str | None:
    found = getattr(parameter, "envvar", None)
    return found if isinstance(found, str) else None


def _checked(content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The values of a file by variable."""
    known = (*SETTINGS, "columns", "gates")
    columns = content.get("columns", {})
    if unknown := [key for key in content if key not in known]:
        raise UsageError(f"{path}: unknown key {unknown[0][:60]!r}; the keys are {', '.join(known)}")
    if not isinstance(columns, dict) or (unknown := [key for key in columns if key not in COLUMNS]):
        what = f"unknown key {unknown[0][:60]!r} in [columns]" if isinstance(columns, dict) else "columns is no table"
        raise UsageError(f"{path}: {what}; [columns] has {', '.join(COLUMNS)}")
    settings = {key: content[key] for key in SETTINGS if key in content}
    names: dict[str, Any] = dict(columns)
    if isinstance(names.get("keep"), list):
        names["keep"] = tuple(names["keep"])
    try:
        Settings(**({"bundle": ""} | settings), columns=ColumnNames(**names))
    except (TypeError, UsageError) as error:
        raise UsageError(f"{path}: {error}") from error
    gates = content.get("gates", [])
    gates = [gates] if isinstance(gates, str) else gates
    if not isinstance(gates, list) or not all(isinstance(one, str) for one in gates):
        raise UsageError(f'{path}: gates is {str(gates)[:60]}; write a list of files: ["gates.toml"]')
    for key in ("bundle", "templates"):
        if key in settings and settings[key] not in SHIPPED:
            settings[key] = _from(path, settings[key])
    if "keep" in names:
        names["keep"] = ",".join(names["keep"])
    found = {VARIABLES[key]: value for key, value in settings.items()}
    found |= {COLUMNS[key]: value for key, value in names.items()}
    return found | ({VARIABLES["gates"]: [_from(path, one) for one in gates]} if gates else {})


def _from(path: Path, given: str) -> str:
    """A path of the file, which is relative to the file's folder."""
    return given if "://" in given else str(path.absolute().parent / user_path(given))
