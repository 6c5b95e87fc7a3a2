"""``scorer plan``: what a run would do, without scoring. What is known is printed at once; nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..scoring.settings import Settings
from .common import InputsArgument, location, print_json, say, tell
from .settings import takes_settings
from .sharded import takes_run_options


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

    Report shards and rows, the facts of the first row as the model reads them, the share of facts without a template,
    errors and distinct pairs of a sample, and the time, from three seconds of the model.
    """
    from ..run.options import RunOptions
    from ..run.planned import plan_run

    options = RunOptions(tuple(inputs), out or Path("unused"), **asked)
    plan = plan_run(options, settings, (lambda line: None) if as_json else tell, say, has_output=out is not None)
    if as_json:
        print_json(plan)
    elif plan.seconds is not None:
        from .console.figures import duration

        rate = f"{plan.precision} on {plan.device}, {plan.pairs_per_s:,.0f} pairs/s"
        tell(f"time: about {duration(plan.seconds)} for the model ({rate})")
