"""``scorer run``: score Parquet shards and write them to a folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..scoring.settings import Settings
from .common import InputsArgument, note_of, say, warn_of_documents
from .ending import Command
from .settings import takes_settings
from .sharded import OutOption, RunJsonOption, run_shards, takes_run_options

_ADDRESS = re.compile(r"auto|ray://.*|\[[0-9A-Fa-f:]+\]:[0-9]{1,5}|[A-Za-z0-9._-]+:[0-9]{1,5}")


@takes_settings()
@takes_run_options()
def run_command(
    inputs: InputsArgument,
    out: OutOption,
    settings: Settings,
    asked: dict[str, Any],
    devices: Annotated[
        str | None,
        typer.Option(
            "--devices",
            metavar="LIST|all|cpu:N",
            help="Run a worker process per device, such as cuda:0,cuda:1, or N on the CPU.",
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="[HOST:PORT|auto]",
            help="Run a worker on each GPU or node of a Ray cluster. Default: this machine's, started if missing.",
        ),
    ] = None,
    ray_cpus: Annotated[
        int | None,
        typer.Option(
            "--ray-cpus",
            metavar="N",
            min=1,
            help="With --ray: CPU cores per worker. Default: all of a node, or one with a GPU.",
        ),
    ] = None,
    as_json: RunJsonOption = False,
) -> None:
    """Score files of rows and write them to a folder.

    IN is Parquet, CSV, TSV or JSON Lines; OUT is Parquet with the same relative paths. The same command resumes an
    interrupted or failed run. Exit codes: 0 done; 2 usage, configuration or environment; 3 failed shards, or too many
    rows with errors; 130 or 143 interrupted.
    """
    from ..run.options import RunOptions

    if devices is not None and ray is not None:
        raise UsageError("--devices is for one machine, --ray for a cluster; give one of the two")
    if ray_cpus is not None and ray is None:
        raise UsageError("--ray-cpus is for the workers of --ray; add --ray, or leave it out")
    if devices is not None and settings.device != "auto":
        raise UsageError("--devices names the devices of all workers; leave --device out")
    if note := note_of(settings):
        say(f"note: {note}")
    warn_of_documents(settings)
    options = RunOptions(tuple(inputs), out, **asked)
    run_shards(options, settings, devices=devices, ray=ray, ray_cpus=ray_cpus, as_json=as_json)
    if asked["part"] is None:
        say(f"For a report: scorer audit {shlex.quote(str(out))} --report FILE")


def with_address(arguments: Sequence[str]) -> list[str]:
    """The arguments, in which ``--ray`` always has a value: what follows it if that is an address, otherwise
    ``auto``."""
    found: list[str] = []
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    for place, argument in enumerate(given):
        if argument != "--ray" or place >= end:
            found.append(argument)
            continue
        following = given[place + 1] if place + 1 < end else ""
        found += ["--ray"] if _ADDRESS.fullmatch(following) else ["--ray", "auto"]
    return found


class RunCommand(Command):
    """A command whose ``--ray`` may come without its value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_address(args))
