"""``scorer plan``: what a run would do, without scoring."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..scoring.settings import Settings
from .common import InputsArgument, location, open_scorer, present, say, warn_of_documents
from .settings import takes_settings
from .sharded import takes_run_options

if TYPE_CHECKING:
    pass


@takes_settings()
@takes_run_options(only=("limit", "form", "delimiter", "reuse", "split_rows"))
def plan_command(
    inputs: InputsArgument,
    settings: Settings,
    *,
    out: Annotated[
        Any,  # a Path, a StoreUri or None: typer takes no unions
        typer.Option(
            "--out",
            metavar="OUT",
            parser=location,
            help="Also show what a run into this output would skip, score again or refuse to replace.",
        ),
    ] = None,
    asked: dict[str, Any],
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Show what a run would do, without scoring.

    Report shards, rows, checks, unique pairs, backoff, token lengths, time and disk space. Above 200,000 rows, counts
    are estimated from a sample.
    """
    from ..run.estimate import estimate_run
    from ..run.options import RunOptions
    from .console.plan import print_plan

    options = RunOptions(tuple(inputs), out or Path(), **asked)

    warn_of_documents(settings)
    with open_scorer(settings) as scorer:
        found = estimate_run(options, scorer, out, say)
    present(found, as_json, print_plan)
