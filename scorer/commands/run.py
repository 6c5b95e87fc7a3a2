"""``scorer run``: score Parquet shards into a folder."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from .common import (
    EMBEDDED_NOTE,
    DeviceOption,
    ExactOption,
    KeepOption,
    Missing,
    MissingOption,
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
    say,
    scorer_settings,
)

if TYPE_CHECKING:
    from ..scoring.scorer import Scorer


@guarded
def run_command(
    inputs: Annotated[list[str], typer.Argument(metavar="IN", help="Parquet files, folders, globs or URIs.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="OUT", parser=local, help="Folder for the scored shards; a rerun resumes.")
    ],
    bundle: Annotated[str, typer.Option("--bundle", metavar="B", help="Bundle folder, or the word embedded.")],
    templates: TemplatesOption = None,
    protocol: ProtocolOption = Protocol.paper,
    checks: SidesOption = Sides.both,
    optional: OptionalOption = None,
    missing_template: MissingOption = Missing.backoff,
    device: DeviceOption = "auto",
    precision: PrecisionOption = Precision.auto,
    overlong: OverlongOption = Overlong.error,
    sentences: SentencesOption = False,
    exact: ExactOption = False,
    text_column: TextColumnOption = "text",
    triples_column: TriplesColumnOption = "triples",
    mr_column: MrColumnOption = None,
    keep: KeepOption = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="P", help="Put before each output column's name.")] = "",
    details: Annotated[bool, typer.Option("--details", help="Add C, N and E of every check.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Score the first N rows only.")
    ] = None,
    reuse: ReuseOption = None,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Remove outputs whose input is gone; allow outputs to be replaced by fewer rows."),
    ] = False,
    part: Annotated[
        str | None,
        typer.Option("--part", metavar="K/N", help="Score the K-th of N parts; others may be scored at the same time."),
    ] = None,
    max_error_rate: Annotated[
        float, typer.Option("--max-error-rate", min=0.0, max=1.0, help="Exit 3 above this share of error rows.")
    ] = 0.001,
    as_json: Annotated[bool, typer.Option("--json", help="Print _run.json on stdout.")] = False,
) -> None:
    """Score Parquet shards into the folder OUT, mirroring relative paths.

    A killed or failed run is resumed by the same command. Exit codes: 0 done, 2 usage or configuration, 3 finished,
    but shards failed or too many rows have errors, 130/143 interrupted.
    """
    from ..run.options import RunOptions
    from ..run.runner import run
    from .show.progress import make_reporter
    from .show.summary import print_summary

    if bundle == "embedded":
        say(f"note: {EMBEDDED_NOTE}")
    columns = column_names(text_column, triples_column, mr_column, keep, prefix, details, sentences)
    settings = scorer_settings(
        bundle, templates, protocol, checks, optional, device, precision, overlong, missing_template, sentences, exact
    )
    shape = dataclasses.asdict(columns)

    def make(budgets: dict[str, Any]) -> Scorer:
        return open_scorer(
            settings, columns=columns, threads=budgets.get("threads"), token_budget=budgets.get("batch_tokens")
        )

    options = RunOptions(
        inputs=tuple(inputs),
        out=out,
        columns=columns,
        limit=limit,
        part=_part(part),
        max_error_rate=max_error_rate,
        settings={**settings, "columns": shape},
        reuse=tuple(reuse or ()),
        prune=prune,
    )
    with make_reporter() as reporter:
        outcome = run(options, make, reporter)
    if as_json:
        print_json(outcome.summary)
    print_summary(outcome.summary, out, to_stderr=as_json)
    if outcome.exit_code:
        say(f"scorer: {outcome.reason}")
        raise typer.Exit(outcome.exit_code)


def _part(given: str | None) -> tuple[int, int] | None:
    if given is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", given.strip())
    k, n = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= k <= n:
        raise UsageError(f"--part {given}: write K/N, parts counted from 1, as in --part 1/3 for the first of three")
    return k, n
