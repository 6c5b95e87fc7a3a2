"""``scorer status``: how far a run is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .common import location, present


def status_command(
    out: Annotated[
        Any,  # a Path or a StoreUri: typer takes no unions
        typer.Argument(metavar="OUT", parser=location, help="Output of a run, local or in a store; exits 2 if none."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
) -> None:
    """Show how far a run is.

    Shards by state, the rate of the last ten minutes, the time left, the devices, and the processes that hold the
    output, with their workers and why workers died.
    """
    from ..run.status import status_of
    from .console.status import print_status

    present(status_of(out), as_json, print_status)
