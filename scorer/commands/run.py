"""``scorer run``: score Parquet shards and write them to a folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..scoring.settings import Settings
from .common import (
    FormatOption,
    InputsArgument,
    LimitOption,
    ReuseOption,
    SplitRowsOption,
    guarded,
    location,
    metric_scoring,
    note_of,
    say,
)
from .settings import takes_settings
from .sharded import (
    MAX_ERROR_RATE,
    DevicesOption,
    JoinOption,
    LeaseOption,
    MaxErrorRateOption,
    MixedDevicesOption,
    PartOption,
    PruneOption,
    RayCpusOption,
    RayOption,
    RunJsonOption,
    make_options,
    run_on_devices,
    run_on_ray,
    run_shards,
)

LEASE_S = 300.0


@guarded
@takes_settings()
def run_command(
    inputs: InputsArgument,
    out: Annotated[
        Any,  # a Path or a StoreUri: typer takes no unions
        typer.Option(
            "--out",
            metavar="OUT",
            parser=location,
            help="Folder or s3:// prefix for the scored shards; a rerun resumes. Exits 2 if it holds other files.",
        ),
    ],
    settings: Settings,
    limit: LimitOption = None,
    form: FormatOption = "auto",
    reuse: ReuseOption = None,
    prune: PruneOption = False,
    part: PartOption = None,
    join: JoinOption = False,
    devices: DevicesOption = None,
    ray: RayOption = None,
    ray_cpus: RayCpusOption = None,
    lease: LeaseOption = LEASE_S,
    mixed_devices: MixedDevicesOption = False,
    split_rows: SplitRowsOption = None,
    max_error_rate: MaxErrorRateOption = MAX_ERROR_RATE,
    as_json: RunJsonOption = False,
) -> None:
    """Score files of rows and write them to a folder.

    IN is Parquet, CSV, TSV or JSON Lines. OUT is Parquet and mirrors the relative paths of the inputs. The same command
    resumes a run that was killed or failed. Exit codes: 0 done, 2 usage, configuration or environment, 3 finished with
    failed shards or too many rows with errors, 130/143 interrupted.
    """
    from ..run.options import JoinOptions

    join = join or not isinstance(out, Path)  # a store has no locks, so that only workers can share it
    workers = join or devices is not None or ray is not None
    if devices is not None and ray is not None:
        raise UsageError("--devices is for one machine, --ray for a cluster; give one of the two")
    if ray_cpus is not None and ray is None:
        raise UsageError("--ray-cpus is for the workers of --ray; add --ray, or leave it out")
    if devices is not None and settings.device != "auto":
        raise UsageError("--devices names the devices of all workers; leave --device out")
    if not workers and (mixed_devices or lease != LEASE_S):
        option = "--mixed-devices" if mixed_devices else "--lease"
        raise UsageError(f"{option} is for workers; add --join, --devices or --ray, or leave it out")
    if note := note_of(settings):
        say(f"note: {note}")

    options = make_options(
        inputs,
        out,
        limit=limit,
        part=part,
        prune=prune,
        max_error_rate=max_error_rate,
        reuse=reuse,
        form=form,
        join=JoinOptions(lease, mixed_devices) if workers else None,
        split_rows=split_rows,
    )
    if devices is not None:
        run_on_devices(options, settings, devices, as_json=as_json)
    elif ray is not None:
        run_on_ray(options, settings, ray, ray_cpus, as_json=as_json)
    else:
        run_shards(options, metric_scoring(settings), as_json=as_json)
    if part is None:
        say(f"For a report: scorer audit {shlex.quote(str(out))} --report FILE")
