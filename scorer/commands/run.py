"""``scorer run``: score Parquet shards and write them to a folder."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..scoring.settings import Settings
from .common import (
    DelimiterOption,
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
    MaxErrorRateOption,
    PartOption,
    PruneOption,
    RayCpusOption,
    RayOption,
    RescoreOption,
    RunJsonOption,
    make_options,
    run_on_devices,
    run_on_ray,
    run_shards,
)


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
    delimiter: DelimiterOption = None,
    reuse: ReuseOption = None,
    prune: PruneOption = False,
    rescore: RescoreOption = False,
    part: PartOption = None,
    devices: DevicesOption = None,
    ray: RayOption = None,
    ray_cpus: RayCpusOption = None,
    split_rows: SplitRowsOption = None,
    max_error_rate: MaxErrorRateOption = MAX_ERROR_RATE,
    as_json: RunJsonOption = False,
) -> None:
    """Score files of rows and write them to a folder.

    IN is Parquet, CSV, TSV or JSON Lines. OUT is Parquet and mirrors the relative paths of the inputs. The same command
    resumes a run that was killed or failed. Exit codes: 0 done, 2 usage, configuration or environment, 3 finished with
    failed shards or too many rows with errors, 130/143 interrupted.
    """
    workers = devices is not None or ray is not None
    if devices is not None and ray is not None:
        raise UsageError("--devices is for one machine, --ray for a cluster; give one of the two")
    if workers and part is not None:
        raise UsageError("--part is for processes that know nothing of each other; leave out --devices and --ray")
    if ray_cpus is not None and ray is None:
        raise UsageError("--ray-cpus is for the workers of --ray; add --ray, or leave it out")
    if devices is not None and settings.device != "auto":
        raise UsageError("--devices names the devices of all workers; leave --device out")
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
        delimiter=delimiter,
        split_rows=split_rows,
        rescore=rescore,
    )
    scoring = metric_scoring(settings)
    if devices is not None:
        run_on_devices(options, settings, scoring, devices, as_json=as_json)
    elif ray is not None:
        run_on_ray(options, settings, scoring, ray, ray_cpus, as_json=as_json)
    else:
        run_shards(options, scoring, as_json=as_json)
    if part is None:
        say(f"For a report: scorer audit {shlex.quote(str(out))} --report FILE")
