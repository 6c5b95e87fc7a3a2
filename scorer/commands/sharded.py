"""What all commands that run over shards share: their options, the progress, the summary and the exit code."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..system.input_formats import Format
from .common import print_json, say_always

if TYPE_CHECKING:
    from ..run.executors import Executor
    from ..run.options import Outcome, RunOptions
    from ..scoring.row_scorer import RowScoring
    from ..scoring.settings import Settings
    from ..storage.objects.uri import Location

PruneOption = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="Remove outputs without an input, and replace outputs by shorter ones; without it both exit 2.",
    ),
]
PartOption = Annotated[
    str | None,
    typer.Option(
        "--part",
        metavar="K/N",
        help="Score the K-th of N parts of the shards; other processes may score the others at the same time.",
    ),
]
MaxErrorRateOption = Annotated[
    float,
    typer.Option("--max-error-rate", min=0.0, max=1.0, help="Exit 3 if the share of rows with an error is larger."),
]
RunJsonOption = Annotated[bool, typer.Option("--json", help="Print _run.json on stdout, and the summary on stderr.")]
DevicesOption = Annotated[
    str | None,
    typer.Option(
        "--devices",
        metavar="LIST|all|cpu:N",
        help="Run a worker process for each device, such as cuda:0,cuda:1, or N that share the CPU.",
    ),
]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="[HOST:PORT|auto]",
        help="Run a worker on each GPU or node of a Ray cluster; exits 2 if there is none.",
    ),
]
RayCpusOption = Annotated[
    int | None,
    typer.Option(
        "--ray-cpus",
        metavar="N",
        min=1,
        help="With --ray: CPU cores of each worker. Default: all of a node, or one next to a GPU.",
    ),
]
RescoreOption = Annotated[
    bool,
    typer.Option(
        "--rescore",
        help="Replace labels that another bundle, other templates or options gave; without it that exits 2.",
    ),
]
MAX_ERROR_RATE = 0.001


def make_options(
    inputs: list[str],
    out: Location,
    *,
    limit: int | None,
    part: str | None,
    prune: bool,
    max_error_rate: float,
    reuse: list[Location] | None = None,
    form: Format = "auto",
    delimiter: str | None = None,
    split_rows: int | None = None,
    rescore: bool = False,
) -> RunOptions:
    """What a command was asked to do, from its options as the option parser gives them.

    Raises:
        UsageError: see :func:`parse_part`; or a delimiter for files that have none.
    """
    from ..run.options import RunOptions

    if delimiter is not None and form in ("parquet", "jsonl"):
        raise UsageError(f"--delimiter is for CSV and TSV, and --format is {form}; leave one of them out")

    return RunOptions(
        inputs=tuple(inputs),
        out=out,
        limit=limit,
        part=parse_part(part),
        max_error_rate=max_error_rate,
        reuse=tuple(reuse or ()),
        prune=prune,
        form=form,
        delimiter=delimiter,
        split_rows=split_rows,
        rescore=rescore,
    )


def run_on_devices(
    options: RunOptions, settings: Settings, scoring: RowScoring, devices: str, *, as_json: bool
) -> None:
    """Run a worker process for each device, and print the summary.

    Raises:
        UsageError, DeviceError: the devices cannot be used.
        typer.Exit: with 3, as :func:`run_shards`.
    """
    from ..inference.cuda import count_gpus
    from ..run.devices import parse_devices, usable_cpus
    from ..run.pool import Pool
    from ..run.processes import LocalCrew
    from .device_worker import MODULE, Job

    slots = parse_devices(devices, count_gpus(), usable_cpus())
    with Pool(LocalCrew(slots, MODULE), Job(options, settings)) as pool:
        run_shards(options, scoring, as_json=as_json, executor=pool)


def run_on_ray(
    options: RunOptions, settings: Settings, scoring: RowScoring, ray: str, cpus: int | None, *, as_json: bool
) -> None:
    """Run workers on a Ray cluster, and print the summary.

    Raises:
        ScorerError: the cluster cannot be used, or no worker is left.
        typer.Exit: with 3, as :func:`run_shards`.
    """
    from ..run.pool import Pool
    from ..run.ray.cluster import RayCrew, connect
    from .device_worker import MODULE, Job

    options = replace(
        options,
        inputs=tuple(one if "://" in one else str(Path(one).absolute()) for one in options.inputs),
        out=options.out.absolute() if isinstance(options.out, Path) else options.out,
        reuse=tuple(one.absolute() if isinstance(one, Path) else one for one in options.reuse),
    )
    with connect(ray) as module:
        crew = RayCrew(module, settings.device, cpus, MODULE)
        with Pool(crew, Job(options, settings.with_absolute_paths())) as pool:
            run_shards(options, scoring, as_json=as_json, executor=pool)


def run_shards(options: RunOptions, scoring: RowScoring, *, as_json: bool, executor: Executor | None = None) -> None:
    """Run over shards and print the summary.

    Args:
        executor: where shards are scored; in this process by default.

    Raises:
        typer.Exit: with 3, if shards failed or too many rows have errors.
    """
    from ..run.driver import run
    from .show.progress import make_reporter

    with make_reporter() as reporter:
        outcome = run(options, scoring, reporter, executor)
    _end(options, outcome, as_json=as_json)


def _end(options: RunOptions, outcome: Outcome, *, as_json: bool) -> None:
    from .show.summary import print_summary

    if as_json:
        print_json(outcome.summary.to_json())
    print_summary(outcome.summary, options.out, to_stderr=as_json)
    if outcome.exit_code:
        say_always(f"scorer: {outcome.reason}")
        raise typer.Exit(outcome.exit_code)


def parse_part(given: str | None) -> tuple[int, int] | None:
    """The value of ``--part`` as (k, n).

    Raises:
        UsageError: not of the form K/N, or K is not one of 1 to N.
    """
    if given is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", given.strip())
    k, n = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= k <= n:
        raise UsageError(f"--part {given}: write K/N, parts counted from 1, as in --part 1/3 for the first of three")
    return k, n
