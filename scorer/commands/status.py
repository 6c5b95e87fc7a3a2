"""``scorer status``: how far a run is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .common import location, present, tell


def status_command(
    out: Annotated[
        list[Any],  # each a Path or a StoreUri: typer takes no unions
        typer.Argument(
            metavar="OUT", parser=location, help="Output of a run, or its parts, local or in a store; exits 2 if none."
        ),
    ],
    stale: Annotated[
        bool, typer.Option("--stale", help="Print only the files of outputs without an input, one a line, for rm.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
) -> None:
    """Show how far a run is.

    Shards by state, the rate of the last ten minutes, the time left, the devices, outputs whose input is gone, and the
    process that holds the output.
    """
    from ..run.status import stale_files, status_of
    from .console.status import print_status

    if stale:
        for name in stale_files(out):
            tell(name)
        return
    present(status_of(out), as_json, print_status)
