"""What gates can find, on a terminal: one line for each gate and group."""

from __future__ import annotations

from rich.text import Text

from ...audit.power import NIGHTS
from ...audit.reach import Checked, seldom
from ...system.display import all_visible
from .console import make_console
from .figures import share

_STYLES = {True: "green", False: "bold red"}


def print_reach(found: Checked) -> None:
    """Print what every gate can do, under the name of the gate. Names from data are made visible."""
    console = make_console()
    for gate in found.gates:
        line = str(all_visible(gate.where))
        if gate.by_chance is not None and gate.by_chance_30 is not None:
            groups = f"any of its {len(gate.groups)} groups" if len(gate.groups) > 1 else "it"
            line += f": without a change {groups} fails in {_chances(gate.by_chance, gate.by_chance_30)}"
        console.print(Text(line))
        for one in gate.groups:
            word = "can fire" if one.can_fire else "cannot fire"
            console.print(Text.assemble("  ", (f"{word:11}", _STYLES[one.can_fire]), f"  {all_visible(one.message)}"))
    if found.by_chance:
        kept = "all rows new" if found.kept is None else f"{share(found.kept)} of the rows kept"
        known = all(one.not_estimated is None for gate in found.gates for one in gate.groups)
        which = "All gates" if known else "All gates with an estimate"
        console.print(
            Text(f"{which}, {kept}: without a change any fails in {_chances(found.by_chance, found.by_chance_30)}")
        )


def _chances(run: float, runs: float) -> str:
    return f"{seldom(run)} of runs, and at least once in {NIGHTS} runs with a chance of {seldom(runs)}"
