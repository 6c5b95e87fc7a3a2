"""Every setting with its value and where that comes from, when no option is given."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Held:
    """A setting. ``value``: as its option takes it, ``None`` where nothing sets it. ``source``: ``default``, the path
    of the file, or the variable."""

    key: str
    value: str | None
    source: str


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
