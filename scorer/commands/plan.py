"""``scorer plan``: what a run would do, without scoring."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import (
    DeviceOption,
    ExactOption,
    KeepOption,
    MrColumnOption,
    OptionalOption,
    Overlong,
    OverlongOption,
    Precision,
    PrecisionOption,
    Protocol,
    ProtocolOption,
    ReuseOption,
    SentencesOption,
    Sides,
    SidesOption,
    TemplatesOption,
    TextColumnOption,
    TriplesColumnOption,
    column_names,
    guarded,
    local,
    open_scorer,
    print_json,
    scorer_settings,
)


@guarded
def plan_command(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="IN", help="Parquet files, folders, globs or URIs; exits 2 if there are none."),
    ],
    bundle: Annotated[
        str, typer.Option("--bundle", metavar="B", help="Bundle folder, or `embedded`; exits 2 if it is invalid.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="OUT",
            parser=local,
            help="Also report what a run into this folder would skip, score again or refuse to replace.",
        ),
    ] = None,
    templates: TemplatesOption = None,
    protocol: ProtocolOption = Protocol.paper,
    checks: SidesOption = Sides.both,
    optional: OptionalOption = None,
    device: DeviceOption = "auto",
    precision: PrecisionOption = Precision.auto,
    overlong: OverlongOption = Overlong.error,
    sentences: SentencesOption = False,
    exact: ExactOption = False,
    text_column: TextColumnOption = "text",
    triples_column: TriplesColumnOption = "triples",
    mr_column: MrColumnOption = None,
    keep: KeepOption = None,
    reuse: ReuseOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Show what a run would do, without scoring.

    Report shards, rows, checks, unique pairs, backoff, token lengths, time and disk space. Above 200,000 rows the
    counts are estimated from a sample, and marked as estimates.
    """
    from ..run.estimate import forecast
    from .show.plan import print_plan

    settings = scorer_settings(
        bundle, templates, protocol, checks, optional, device, precision, overlong, sentences=sentences, exact=exact
    )
    names = column_names(text_column, triples_column, mr_column, keep, sentences=sentences)
    scorer = open_scorer(settings, columns=names)
    found = forecast(inputs, scorer, names, out, reuse or ())
    scorer.close()
    if as_json:
        print_json(found)
    else:
        print_plan(found)
