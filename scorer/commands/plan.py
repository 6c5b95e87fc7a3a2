"""``scorer plan``: what a run would do; scores nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    inputs: Annotated[list[str], typer.Argument(metavar="IN", help="Parquet files, folders, globs or URIs.")],
    bundle: Annotated[str, typer.Option("--bundle", metavar="B", help="Bundle folder, or the word embedded.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="OUT", parser=local, help="Say what a run into this folder would skip."),
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
    """What a run would do: shards, rows, checks, unique pairs, backoff, lengths, time, disk. Scores nothing.

    Above 200,000 rows the counts are estimated from a sample, and marked so.
    """
    from ..run.estimate import forecast

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
        _print(found)


def _print(found: dict[str, Any]) -> None:
    from ..run.preview import named, told
    from ..system.display import all_visible
    from .show.console import make_console
    from .show.summary import print_backoff, print_source

    console, found = make_console(), all_visible(found)
    shards, rows, checks = found["shards"], found["rows"], found["checks"]
    about = "about " if found["estimated"] else ""
    if found["estimated"]:
        console.print(
            f"estimated from {rows['sampled']:,} of {rows['to_score']:,} rows, taken from the starts of shards"
        )
    console.print(
        f"shards: {shards['usable']}, {shards['skipped']} of them done before, {len(shards['failed'])} unusable"
    )
    for name, reason in shards["failed"].items():
        console.print(f"  {name}: {reason}")
    for line in told(shards["again"]):
        console.print(f"  {line}")
    if shards["outside"]:
        console.print(f"  removed with --prune, refused without: {named(shards['outside'])} (input not among IN)")
    for name, (before, after) in shards["shorter"].items():
        console.print(f"  shortened with --prune, refused without: {name} ({before:,} rows, now {after:,})")
    console.print(f"rows: {rows['all']:,}, {rows['to_score']:,} of them to score")
    if "reused" in rows:
        console.print(f"  {about}{rows['reused']:,} of these would be reused from earlier outputs")
    for source in found["reuse"]:
        print_source(console, source)
    for what in ("errors", "notes"):
        if found[what]:
            kinds = ", ".join(f"{kind} {about}{count:,}" for kind, count in sorted(found[what].items()))
            console.print(f"{what}: {kinds}")
    console.print(f"checks: {about}{checks['all']:,}, {about}{checks['unique']:,} unique pairs")
    print_backoff(console, found["facts"])
    console.print("tokens a pair:")
    most = max((bin_["pairs"] for bin_ in found["token_lengths"]), default=0) or 1
    for bin_ in found["token_lengths"]:
        console.print(f"  up to {bin_['up_to']:>4}: {bin_['pairs']:>12,}  {'█' * round(40 * bin_['pairs'] / most)}")
    console.print(f"longer than the model takes: {about}{found['too_long']:,} pairs")
    disk = found["disk"]
    console.print(f"disk: about {disk['needed'] / 1e6:,.0f} MB needed, {disk['free'] / 1e6:,.0f} MB free")
    console.print(
        f"time: about {_time(found['seconds'])} for the model ({found['precision']} on {found['device']['kind']})"
    )


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
