"""``scorer run``: score Parquet shards and write them to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..scoring.settings import Settings
from .common import FormatOption, InputsArgument, LimitOption, ReuseOption, guarded, local, note_of, open_scorer, say
from .settings import takes_settings
from .sharded import (
    MAX_ERROR_RATE,
    JoinOption,
    LeaseOption,
    MaxErrorRateOption,
    MixedDevicesOption,
    PartOption,
    PruneOption,
    RunJsonOption,
    parse_part,
    run_shards,
)

if TYPE_CHECKING:
    from ..scoring.plan import Budgets
    from ..scoring.scorer import Scorer

LEASE_S = 300.0


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
    form: FormatOption = "auto",
    reuse: ReuseOption = None,
    prune: PruneOption = False,
    part: PartOption = None,
    join: JoinOption = False,
    lease: LeaseOption = LEASE_S,
    mixed_devices: MixedDevicesOption = False,
    max_error_rate: MaxErrorRateOption = MAX_ERROR_RATE,
    as_json: RunJsonOption = False,
) -> None:
    """Score files of rows and write them to a folder.

    IN is Parquet, CSV, TSV or JSON Lines. OUT is Parquet and mirrors the relative paths of the inputs. The same command
    resumes a run that was killed or failed. Exit codes: 0 done, 2 usage, configuration or environment, 3 finished with
    failed shards or too many rows with errors, 130/143 interrupted.
    """
    from ..run.options import JoinOptions, RunOptions
    from ..scoring.metric_rows import MetricScoring

    if not join and (mixed_devices or lease != LEASE_S):
        option = "--mixed-devices" if mixed_devices else "--lease"
        raise UsageError(f"{option} is for workers; add --join, or leave it out")
    if note := note_of(settings):
        say(f"note: {note}")

    def opener(budgets: Budgets) -> Scorer:
        return open_scorer(settings, budgets)

    options = RunOptions(
        inputs=tuple(inputs),
        out=out,
        limit=limit,
        part=parse_part(part),
        max_error_rate=max_error_rate,
        reuse=tuple(reuse or ()),
        prune=prune,
        form=form,
        join=JoinOptions(lease, mixed_devices) if join else None,
    )
    run_shards(options, MetricScoring(settings, opener), as_json=as_json)
