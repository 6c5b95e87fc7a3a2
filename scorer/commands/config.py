"""``scorer config``: the settings that commands start from, and where each comes from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from .common import guarded, print_json, say
from .held import held


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
