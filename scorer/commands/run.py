"""``scorer run``: score Parquet shards and write them to a folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..scoring.settings import Settings
from .common import (
    InputsArgument,
    LimitOption,
    ReuseOption,
    guarded,
    local,
    note_of,
    open_scorer,
    print_json,
    say,
)
from .settings import takes_settings

if TYPE_CHECKING:
    from ..scoring.plan import Budgets
    from ..scoring.scorer import Scorer


@guarded
@takes_settings()
def run_command(
    inputs: InputsArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="OUT",
            parser=local,
            help="Folder for the scored shards; a rerun resumes. Exits 2 if it holds other files.",
        ),
    ],
    settings: Settings,
    limit: LimitOption = None,
    reuse: ReuseOption = None,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Remove outputs without an input, and replace outputs by shorter ones; without it both exit 2.",
        ),
    ] = False,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="K/N",
            help="Score the K-th of N parts of the shards; other processes may score the others at the same time.",
        ),
    ] = None,
    max_error_rate: Annotated[
        float,
        typer.Option("--max-error-rate", min=0.0, max=1.0, help="Exit 3 if the share of rows with an error is larger."),
    ] = 0.001,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print _run.json on stdout, and the summary on stderr.")
    ] = False,
) -> None:
    """Score Parquet shards and write them to a folder.

    OUT mirrors the relative paths of the inputs. The same command resumes a run that was killed or failed. Exit codes:
    0 done, 2 usage, configuration or environment, 3 finished with failed shards or too many rows with errors, 130/143
    interrupted.
    """
    from ..run.options import RunOptions
    from ..run.runner import run
    from .show.progress import make_reporter
    from .show.summary import print_summary

    if note := note_of(settings):
        say(f"note: {note}")

    def make(budgets: Budgets) -> Scorer:
        return open_scorer(settings, threads=budgets.threads, token_budget=budgets.batch_tokens)

    options = RunOptions(
        inputs=tuple(inputs),
        out=out,
        columns=settings.columns,
        limit=limit,
        part=_part(part),
        max_error_rate=max_error_rate,
        settings=settings.to_plan(),
        reuse=tuple(reuse or ()),
        prune=prune,
    )
    with make_reporter() as reporter:
        outcome = run(options, make, reporter)
    if as_json:
        print_json(outcome.summary.to_json())
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
