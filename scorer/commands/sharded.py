"""What all commands that run over shards share: their options, the progress, the summary and the exit code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ..system.input_formats import Format
from .common import location, metric_scoring, print_json, say_always
from .settings import KEYWORD, in_place_of

if TYPE_CHECKING:
    from ..run.executors import Executor
    from ..run.options import Outcome, RunOptions
    from ..scoring.row_scorer import RowScoring
    from ..scoring.settings import Settings

OutOption = Annotated[
    Any,  # a Path or a StoreUri: typer takes no unions
    typer.Option(
        "--out",
        metavar="OUT",
        parser=location,
        help="Folder or s3:// prefix of the output; a rerun resumes. Exits 2 if it contains other files.",
    ),
]
RunJsonOption = Annotated[bool, typer.Option("--json", help="Print _run.json on stdout, and the summary on stderr.")]
MAX_ERROR_RATE = 0.001


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "limit": (
        Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Score only the first N rows.")],
        None,
    ),
    "form": (
        Annotated[
            Format,
            typer.Option("--format", help="Format of IN. auto: by suffix; in a folder, Parquet first."),
        ],
        "auto",
    ),
    "delimiter": (
        Annotated[
            str | None,
            typer.Option(
                "--delimiter",
                metavar="C",
                help="Field separator of CSV and TSV files: a character, or the word tab. Default: detected from "
                "the header.",
            ),
        ],
        None,
    ),
    "reuse": (
        Annotated[
            list[Any] | None,  # of Path or StoreUri
            typer.Option(
                "--reuse",
                metavar="OUT0",
                parser=location,
                help="Earlier output. Rows with the same row_key keep its labels if the signatures are equal. "
                "Repeatable.",
            ),
        ],
        None,
    ),
    "prune": (
        Annotated[
            bool,
            typer.Option(
                "--prune",
                help="Allow removing outputs without an input and replacing outputs by shorter ones; otherwise "
                "exits 2.",
            ),
        ],
        False,
    ),
    "rescore": (
        Annotated[
            bool,
            typer.Option(
                "--rescore",
                help="Allow replacing labels from another bundle, other templates or options; otherwise exits 2.",
            ),
        ],
        False,
    ),
    "part": (
        Annotated[
            str | None,
            typer.Option(
                "--part",
                metavar="K/N",
                help="Score the K-th of N parts of the shards; other processes may score the others concurrently.",
            ),
        ],
        None,
    ),
    "split_rows": (
        Annotated[
            int | None,
            typer.Option(
                "--split-rows",
                min=1,
                metavar="N",
                help="Split larger Parquet files into pieces of N rows, along row groups; each file becomes a folder.",
            ),
        ],
        None,
    ),
    "max_error_rate": (
        Annotated[
            float,
            typer.Option(
                "--max-error-rate", min=0.0, max=1.0, help="Exit 3 if the share of rows with an error exceeds this."
            ),
        ],
        MAX_ERROR_RATE,
    ),
}
"""By field of :class:`..run.options.RunOptions`: its option and the default."""


def takes_run_options(*, only: Sequence[str] = tuple(_OPTIONS), without: Sequence[str] = ()) -> Any:
    """Decorate a command that has a parameter ``asked``: it takes the options of a run in its place.

    So no two commands differ in the options of a run over shards. The command is called with their values, as keywords
    of :class:`..run.options.RunOptions`.

    Args:
        only: the options that the command takes, by field.
        without: those of them that it does not take.
    """
    parameters = [
        inspect.Parameter(name, KEYWORD, default=_OPTIONS[name][1], annotation=_OPTIONS[name][0])
        for name in only
        if name not in without
    ]
    return in_place_of("asked", parameters, _as_fields)


def _as_fields(given: dict[str, Any]) -> dict[str, Any]:
    if (delimiter := given.get("delimiter")) is not None:
        if given["form"] in ("parquet", "jsonl"):
            raise UsageError(f"--delimiter is for CSV and TSV, and --format is {given['form']}; leave one of them out")
        given["delimiter"] = found = "\t" if delimiter.lower() in ("tab", "\\t") else delimiter
        if len(found) != 1 or found in '"\r\n\0':
            raise UsageError(f"--delimiter {found!r}: give one character, as in --delimiter ';', or the word tab")
    if "reuse" in given:
        given["reuse"] = tuple(given["reuse"] or ())
    if "part" in given:
        given["part"] = parse_part(given["part"])
    return given


@dataclass(frozen=True)
class Job:
    """A run with a model."""

    options: RunOptions
    settings: Settings

    def __str__(self) -> str:
        """What a worker opens, for messages."""
        return f"the bundle {self.settings.bundle}"

    def scoring(self, device: str, folder: str) -> RowScoring:
        """See :class:`..run.messages.Job`."""
        from ..run.ray.shipment import with_files_of

        settings = replace(self.settings, device=device)
        return replace(self, settings=with_files_of(settings, Path(folder)) if folder else settings).scoring_here()

    def scoring_here(self) -> RowScoring:
        """How this process scores rows."""
        return metric_scoring(self.settings)


def run_here(job: Job, *, as_json: bool) -> None:
    """Run in this process, and print the summary; the bound of ``--exact`` is measured in a process of its own.

    Raises:
        typer.Exit: with 3, as :func:`run_shards`.
    """
    from ..run.executors import Inline
    from ..run.pool import Place, Pool
    from ..run.processes import LocalCrew

    first, options, scoring = None, job.options, job.scoring_here()
    if job.settings.exact:
        alone = replace(job, options=replace(options, reuse=()))
        first = Pool(LocalCrew([Place("first use", job.settings.device)]), alone)
    run_shards(options, scoring, as_json=as_json, executor=Inline(scoring, options.max_error_rate, first))


def run_on_devices(job: Job, devices: str, *, as_json: bool) -> None:
    """Run a worker process for each device, and print the summary.

    Raises:
        UsageError, DeviceError: the devices cannot be used.
        typer.Exit: with 3, as :func:`run_shards`.
    """
    from ..inference.device import count_gpus
    from ..run.pool import Pool
    from ..run.processes import LocalCrew, parse_devices, usable_cpus

    places = parse_devices(devices, count_gpus(), len(usable_cpus()))
    run_shards(job.options, job.scoring_here(), as_json=as_json, executor=Pool(LocalCrew(places), job))


def run_on_ray(job: Job, ray: str, cpus: int | None, *, as_json: bool) -> None:
    """Run workers on a Ray cluster, and print the summary.

    Raises:
        ScorerError: the cluster cannot be used, or no worker is left.
        typer.Exit: with 3, as :func:`run_shards`.
    """
    from ..run.pool import Pool
    from ..run.ray.cluster import RayCrew, connect
    from ..run.ray.shipment import files_of

    options, scoring = job.options, job.scoring_here()
    options = replace(
        options,
        inputs=tuple(one if "://" in one else str(Path(one).absolute()) for one in options.inputs),
        out=options.out.absolute() if isinstance(options.out, Path) else options.out,
        reuse=tuple(one.absolute() if isinstance(one, Path) else one for one in options.reuse),
    )
    job = replace(job, options=options, settings=job.settings.with_absolute_paths())
    with connect(ray) as module:
        crew = RayCrew(module, job.settings.device, cpus, files_of(job.settings))
        run_shards(options, scoring, as_json=as_json, executor=Pool(crew, job))


def run_shards(options: RunOptions, scoring: RowScoring, *, as_json: bool, executor: Executor | None = None) -> None:
    """Run over shards and print the summary.

    Args:
        executor: where shards are scored; in this process by default.

    Raises:
        typer.Exit: with 3, if shards failed or too many rows have errors.
    """
    from ..run.driver import run
    from .console.progress import make_reporter

    with make_reporter() as reporter:
        outcome = run(options, scoring, reporter, executor)
    _end(options, outcome, as_json=as_json)


def _end(options: RunOptions, outcome: Outcome, *, as_json: bool) -> None:
    from .console.summary import print_summary

    if as_json:
        print_json(outcome.summary)
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
