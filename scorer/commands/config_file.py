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
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..inference.shipped import SHIPPED
from ..metric.column_names import ColumnNames
from ..scoring.settings import Settings
from ..system.files import read_small
from ..system.paths import user_path

NAME = "scorer.toml"
CONFIG = "D2T_CONFIG"
LARGEST_FILE = 64 << 10

SETTINGS = ("bundle", "templates", "protocol", "checks", "missing_template", "device", "precision",
            "device_memory", "overlong")  # fmt: skip
COLUMNS = ("text", "triples", "facts", "attributes", "subject", "mr", "document", "keep", "prefix")
VARIABLES = {
    **{name: f"D2T_{name.upper()}" for name in (*SETTINGS, "gates")},
    **{f"columns.{name}": f"D2T_{name.upper()}_COLUMN" for name in COLUMNS},
    **{f"columns.{name}": f"D2T_{name.upper()}" for name in ("keep", "prefix")},
}
"""The environment variable of each key of the file."""


def defaults(command: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The parser's ``default_map`` of a command or a group of commands, from values by environment variable."""
    if hasattr(command, "commands"):
        return {name: defaults(one, values) for name, one in command.commands.items()}
    variables = {one.name: one.envvar for one in command.params if isinstance(getattr(one, "envvar", None), str)}
    return {name: values[variable] for name, variable in variables.items() if variable in values}


def find_config() -> dict[str, Any]:
    """What the file that ``D2T_CONFIG`` names says, or ``scorer.toml`` in the working directory; empty without either.

    Returns:
        Values by environment variable, as the options take them; paths are absolute.

    Raises:
        UsageError: it cannot be read, is no TOML, or has an unknown key or a value of another type.
    """
    named = os.environ.get(CONFIG)
    path = Path(named or NAME)
    try:
        if not named and not path.is_file():
            return {}
        content = tomllib.loads(read_small(path, LARGEST_FILE).decode("utf-8"))
    except OSError as error:
        where = f"{CONFIG}={named}" if named else NAME
        raise UsageError(f"{where}: {error.strerror or error}; name a readable TOML file, or none") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {str(error)[:200]}") from error
    columns, gates = content.pop("columns", {}), content.pop("gates", [])
    gates = [gates] if isinstance(gates, str) else gates
    if unknown := content.keys() - {*SETTINGS}:
        keys = ", ".join((*SETTINGS, "columns", "gates"))
        raise UsageError(f"{path}: unknown key {min(unknown)[:60]!r}; the keys are {keys}")
    if not isinstance(columns, dict) or (unknown := columns.keys() - {*COLUMNS}):
        what = f"unknown key {min(unknown)[:60]!r} in [columns]" if unknown else "columns is no table"
        raise UsageError(f"{path}: {what}; [columns] has {', '.join(COLUMNS)}")
    if not isinstance(gates, list) or not all(isinstance(one, str) for one in gates):
        raise UsageError(f'{path}: gates is {str(gates)[:60]}; write a list of files: ["gates.toml"]')
    try:
        Settings(**{"bundle": "", **content}, columns=ColumnNames(**columns))
    except (TypeError, UsageError) as error:
        raise UsageError(f"{path}: {error}") from error
    for key in {"bundle", "templates"} & content.keys():
        content[key] = content[key] if content[key] in SHIPPED else _from(path, content[key])
    content |= {f"columns.{name}": ",".join(one) if name == "keep" else one for name, one in columns.items()}
    content |= {"gates": [_from(path, one) for one in gates]} if gates else {}
    return {VARIABLES[key]: value for key, value in content.items()}


def _from(path: Path, given: str) -> str:
    """A path of the file, which is relative to the file's folder."""
    return given if "://" in given else str(path.absolute().parent / user_path(given))
