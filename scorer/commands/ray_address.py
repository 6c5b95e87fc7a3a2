"""``--ray [ADDRESS]`` of ``scorer run`` may come without its value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .ending import Command

_OPTION = "--ray"
_AUTO = "auto"
_ADDRESS = re.compile(r"auto|ray://.*|\[[0-9A-Fa-f:]+\]:[0-9]{1,5}|[A-Za-z0-9._-]+:[0-9]{1,5}")


def with_address(arguments: Sequence[str]) -> list[str]:
    """The arguments, in which ``--ray`` always has a value: what follows it if that is an address, otherwise
    ``auto``."""
    found: list[str] = []
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    for place, argument in enumerate(given):
        if argument != _OPTION or place >= end:
            found.append(argument)
            continue
        following = given[place + 1] if place + 1 < end else ""
        found += [_OPTION] if _ADDRESS.fullmatch(following) else [_OPTION, _AUTO]
    return found


class RunCommand(Command):
    """A command with such an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_address(args))
