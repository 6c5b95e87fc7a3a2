"""``scorer plan``: what a run would do, without scoring."""

from __future__ import annotations

from pathlib import Path

from ..storage.location import Location
from ..system.arguments import option
from .console import RunReporter, duration, print_json, print_line
from .options import ColumnOptions, InputsArgument, ModelOptions, SourceOptions, location


def plan_command(
    inputs: InputsArgument,
    model: ModelOptions,
    columns: ColumnOptions,
    source: SourceOptions,
    out: Location | None = option(
        "Also show what a run into this output would skip, rescore or refuse to replace.", "OUT", None, parser=location
    ),
    as_json: bool = option("Print the plan as JSON.", default=False, name="--json"),
) -> None:
    """Show what a run would do, without scoring.

    Report shards and rows, the facts of the first row as the model reads them, the share of facts without a template,
    errors and distinct pairs of a sample, and the time, from three seconds of the model; also on a faster device, where
    `plan` or `make bench` measured the bundle there.
    """
    from ..run.executors import RunOptions
    from ..run.planned import plan_run

    options = RunOptions(tuple(inputs), out or Path("unused"), **vars(source))
    show = (lambda line: None) if as_json else print_line
    plan = plan_run(options, model.settings(columns), show, RunReporter(), has_output=out is not None)
    if as_json:
        print_json(plan)
    elif plan.seconds is not None:
        rate = f"{plan.precision} on {plan.device}, {plan.pairs_per_s:,.0f} pairs/s"
        print_line(f"time: about {duration(plan.seconds)} for the model ({rate})")
        if plan.best_seconds is not None:
            print_line(f"  about {duration(plan.best_seconds)} on {plan.best_device}, where this bundle was measured")
