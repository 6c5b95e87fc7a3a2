"""``scorer config``: the settings that commands start from, and where each comes from."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from typing import Annotated

import typer

from .common import guarded, print_json, say


@dataclass(frozen=True)
class Held:
    """A setting. ``value``: as its option takes it, ``None`` where nothing sets it. ``source``: ``default``, the path
    of the file, or the variable."""

    key: str
    value: str | None
    source: str


@guarded
def config_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the settings as JSON.")] = False,
) -> None:
    """Show the settings from scorer.toml and the environment.

    Options are stronger than the variables D2T_*, which are stronger than scorer.toml in the working directory
    (D2T_CONFIG names another file). Exits 2 if that file has an unknown key or an invalid value.
    """
    from .config_file import unknown_variables
    from .show.config import print_settings

    found = held()
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        print_settings(found)
    for name in unknown_variables():
        say(f"note: {name} is set and names no setting")


def held() -> list[Held]:
    """What holds for every setting when no option is given.

    Raises:
        UsageError: the file cannot be used.
    """
    from ..metric.column_names import ColumnNames
    from ..scoring.settings import Settings
    from .config_file import VARIABLES, find_config

    config = find_config()
    defaults = {one.name: getattr(Settings, one.name, None) for one in fields(Settings)}
    defaults |= {f"columns.{one.name}": getattr(ColumnNames, one.name) for one in fields(ColumnNames)}
    found = []
    for key, variable in VARIABLES.items():
        if os.environ.get(variable):
            found.append(Held(key, os.environ[variable], variable))
        elif config is not None and variable in config.values:
            found.append(Held(key, _shown(config.values[variable]), str(config.path)))
        else:
            found.append(Held(key, _shown(defaults.get(key)), "default"))
    return found


def _shown(value: object) -> str | None:
    if value is None or value == "":
        return None
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
