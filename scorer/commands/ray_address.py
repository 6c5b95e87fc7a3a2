"""What ``scorer run`` does with its arguments before the option parser: ``--ray [ADDRESS]`` may come without its value,
and ``--dry-run`` is another command here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from ..errors import UsageError

_OPTION = "--ray"
_DRY_RUN = "--dry-run"
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


def refuse_dry_run(arguments: Sequence[str]) -> None:
    """Say what does the work of ``--dry-run``.

    Raises:
        UsageError: it is among the options.
    """
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    if _DRY_RUN in arguments[:end]:
        raise UsageError(
            f"{_DRY_RUN} is a command here: `scorer plan` with the same IN and options shows what this run would do, "
            "and scores nothing"
        )


class RunCommand(TyperCommand):
    """A command with such options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        refuse_dry_run(args)
        return super().parse_args(ctx, with_address(args))
