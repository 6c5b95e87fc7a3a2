"""What all commands that run over shards share: their options, the progress, the summary and the exit code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ..system.input_formats import Format
from .common import location, print_json, say_always
from .settings import KEYWORD, in_place_of

if TYPE_CHECKING:
    from ..run.options import Outcome, RunOptions
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
    "rescore": (
        Annotated[
            bool,
            typer.Option(
                "--rescore",
                help="Allow replacing labels from another bundle, other templates or options, and outputs by shorter "
                "ones; otherwise exits 2.",
            ),
        ],
        False,
    ),
    "allow_stale": (
        Annotated[
            bool,
            typer.Option("--allow-stale", help="Keep outputs whose input is gone, and go on; otherwise exits 2."),
        ],
        False,
    ),
    "part": (
        Annotated[
            str | None,
            typer.Option(
                "--part",
                metavar="K/N",
                help="Score the K-th of N parts of the shards into an OUT of its own.",
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
                help="Split Parquet files into parts of at most N rows, along row groups; each file becomes a folder.",
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


def run_shards(
    options: RunOptions,
    settings: Settings,
    *,
    devices: str | None = None,
    ray: str | None = None,
    ray_cpus: int | None = None,
    as_json: bool,
) -> None:
    """Run over shards in worker processes and print the summary.

    Args:
        devices: of ``--devices``; one worker by default.
        ray, ray_cpus: of ``--ray``: workers on a cluster.

    Raises:
        ScorerError: the devices, the inputs or the output cannot be used.
        typer.Exit: with 3, if shards failed or too many rows have errors.
    """
    from ..run.driver import run
    from ..run.executors import Job
    from ..run.processes import Place, Processes, parse_devices, usable_cpus
    from .console.progress import make_reporter

    job, places = Job(settings, options), [Place("", settings.device)]
    if ray is not None:
        from ..run.ray import Ray
        from ..run.ray_cluster import connect

        with make_reporter() as reporter, connect(ray) as module:
            outcome = run(Ray(job, module, ray_cpus, reporter), reporter)
        _end(options, outcome, as_json=as_json)
        return
    if devices is not None:
        from ..inference.device import count_gpus

        places = parse_devices(devices, count_gpus(), usable_cpus())
    with make_reporter() as reporter:
        outcome = run(Processes(job, places, reporter), reporter)
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
