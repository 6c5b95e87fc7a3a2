"""What gates can find, on a terminal: one line for each gate and group."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ...audit.reach import Reach
from ...system.display import all_visible
from .console import make_console

_STYLES = {True: "green", False: "bold red"}


def print_reach(found: Sequence[Reach]) -> None:
    """Print what every gate can do, under the name of the gate. Names from data are made visible."""
    console = make_console()
    where = None
    for one in found:
        if one.where != where:
            where = one.where
            console.print(Text(str(all_visible(where))))
        word = "can fire" if one.can_fire else "cannot fire"
        console.print(Text.assemble("  ", (f"{word:11}", _STYLES[one.can_fire]), f"  {all_visible(one.message)}"))
