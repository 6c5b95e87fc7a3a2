"""The settings that hold, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...system.display import all_visible
from .console import make_console
from .figures import MISSING, table

if TYPE_CHECKING:
    from ..held import Held


def print_settings(settings: Sequence[Held]) -> None:
    """Print a line for each setting: its key, value and source."""
    made = table("setting", "value", "from", left=3)
    for one in all_visible(list(settings)):
        made.add_row(one.key, one.value or MISSING, one.source)
    make_console().print(made)
