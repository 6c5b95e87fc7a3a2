"""``scorer run``: score Parquet shards and write them to a folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OutputError, ScorerError, UsageError
from ..scoring.settings import Settings
from .common import (
    FormatOption,
    InputsArgument,
    LimitOption,
    ReuseOption,
    SplitRowsOption,
    guarded,
    local,
    location,
    metric_scoring,
    note_of,
    say,
    say_always,
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
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            parser=local,
            help="Also write the audit report of this run to one HTML file; not with --part or --join.",
        ),
    ] = None,
    openlineage: Annotated[
        Path | None,
        typer.Option(
            "--openlineage",
            metavar="FILE",
            parser=local,
            help="Write the events of this run for OpenLineage, as JSON Lines; not with --part or --join.",
        ),
    ] = None,
    as_json: RunJsonOption = False,
) -> None:
    """Score files of rows and write them to a folder.

    IN is Parquet, CSV, TSV or JSON Lines. OUT is Parquet and mirrors the relative paths of the inputs. The same command
    resumes a run that was killed or failed. Exit codes: 0 done, 2 usage, configuration or environment, 3 finished with
    failed shards or too many rows with errors, 130/143 interrupted.
    """
    from ..run.options import JoinOptions
    from ..storage.user_files import check_user_file, write_user_file

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
    for option, given in (("--report", report), ("--openlineage", openlineage)):
        if given is None:
            continue
        check_user_file(given, option)
        if part is not None or join:
            raise UsageError(
                f"{option} with --part, --join or an OUT in a store would show a part of the run; use `scorer audit` "
                "when all are done"
            )
    started = datetime.now(UTC).isoformat(timespec="microseconds")
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
    code = 0
    try:
        if devices is not None:
            run_on_devices(options, settings, devices, as_json=as_json)
        elif ray is not None:
            run_on_ray(options, settings, ray, ray_cpus, as_json=as_json)
        else:
            run_shards(options, metric_scoring(settings), as_json=as_json)
    except typer.Exit as ended:  # with 3: what was scored is there, and the report says what was not
        code = ended.exit_code
    end = code
    for option, file, content in (
        ("--report", report, lambda: _report(out)),
        ("--openlineage", openlineage, lambda: _events(inputs, out, started, failed=code != 0)),
    ):
        try:
            if file is not None:
                write_user_file(file, content(), option)
        except ScorerError as error:
            say_always(f"scorer: {option} was not written: {error}")
            end = end or error.exit_code  # a run that failed keeps its own exit code
    if end:
        raise typer.Exit(end)


def _report(out: Path) -> bytes:
    from ..audit import AuditOptions, audit
    from ..audit.report import render

    return render(audit(out, AuditOptions(allow_partial=True))).encode("utf-8")


def _events(inputs: list[str], out: Path, started: str, *, failed: bool) -> bytes:
    from ..run.openlineage import openlineage
    from ..scoring.summary import RunSummary

    summary = RunSummary.load(out)
    if summary is None:
        raise OutputError(f"{out}: _run.json is gone since the run ended; run again")
    return openlineage(inputs, out, summary, started, failed=failed)
