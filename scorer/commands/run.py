"""``scorer run``: score files of rows into a folder."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from ..errors import UsageError, count_of
from ..metric import OTHER_LANGUAGE
from ..system.arguments import option
from ..system.terminal import all_visible, visible
from .console import Lines, kinds, make_console, make_reporter, print_json, say, share, table
from .ending import Command
from .options import ColumnOptions, InputsArgument, Location, ModelOptions, SourceOptions, location, say_bundle_notes

if TYPE_CHECKING:
    from rich.console import Console

    from ..run.driver import Outcome
    from ..run.executors import Job
    from ..scoring.summary import RunSummary

_ADDRESS = re.compile(r"auto|ray://.*|\[[0-9A-Fa-f:]+\]:[0-9]{1,5}|[A-Za-z0-9._-]+:[0-9]{1,5}")


def parse_part(argument: str) -> tuple[int, int]:
    """The value of ``--part`` as (k, n)."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", argument.strip())
    k, n = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= k <= n:
        raise UsageError(f"--part {argument}: write K/N, parts counted from 1, as in --part 1/3 for the first of three")
    return k, n


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Permissions and limits of a run: fields of :class:`..run.executors.RunOptions` that a plan does not need."""

    GROUP: ClassVar = "Output"
    rescore: bool = option(
        "Allow replacing labels from another bundle, other templates or options, and outputs by shorter ones; "
        "otherwise exits 2.",
        default=False,
    )
    allow_stale: bool = option("Keep outputs whose input is gone, and go on; otherwise exits 2.", default=False)
    part: tuple[int, int] | None = option(
        "Score the K-th of N parts of the shards into an OUT of its own.",
        "K/N",
        None,
        parser=parse_part,
        group="Many machines",
    )
    max_error_rate: float = option(
        "Exit 3 if the share of rows with an error exceeds this.", default=0.001, min=0.0, max=1.0
    )


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """The processes that score."""

    GROUP: ClassVar = "Many machines"
    devices: str | None = option(
        "Run a worker process per device, such as cuda:0,cuda:1, or N on the CPU.", "LIST|all|cpu:N", None
    )
    ray: str | None = option(
        "Run a worker on each GPU or node of a Ray cluster, by default this machine's.", "[HOST:PORT|auto]", None
    )
    ray_cpus: int | None = option(
        "With --ray: CPU cores per worker. Default: all of a node, or one with a GPU.", "N", None, min=1
    )


class RunCommand(Command):
    """A command with ``--ray``, which may come without its value: if no address follows, its value is ``auto``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        arguments: list[str] = []
        end = args.index("--") if "--" in args else len(args)
        for position, argument in enumerate(args):
            arguments.append(argument)
            following = args[position + 1] if position + 1 < end else ""
            if argument == "--ray" and position < end and not _ADDRESS.fullmatch(following):
                arguments.append("auto")
        return super().parse_args(ctx, arguments)


def run_command(
    inputs: InputsArgument,
    *,
    out: Location = option(
        "Folder or s3:// prefix; a rerun resumes. Exits 2 if it contains other files.", "OUT", parser=location
    ),
    model: ModelOptions,
    columns: ColumnOptions,
    source: SourceOptions,
    output: OutputOptions,
    workers: WorkerOptions,
    as_json: bool = option("Print _run.json on stdout, and the summary on stderr.", default=False, name="--json"),
) -> None:
    """Score files of rows and write them to a folder.

    IN is Parquet, CSV, TSV or JSON Lines; OUT is Parquet with the same relative paths. The same command resumes an
    interrupted or failed run. Exit codes: 0 done; 2 usage, configuration or environment; 3 failed shards, or too many
    rows with errors; 130 or 143 interrupted.
    """
    from ..run.executors import Job, RunOptions

    if workers.devices is not None and workers.ray is not None:
        raise UsageError("--devices is for one machine, --ray for a cluster; give one of the two")
    if workers.ray_cpus is not None and workers.ray is None:
        raise UsageError("--ray-cpus is for the workers of --ray; add --ray, or leave it out")
    settings = model.settings(columns)
    if workers.devices is not None and settings.device != "auto":
        raise UsageError("--devices names the devices of all workers; leave --device out")
    say_bundle_notes(settings)
    outcome = _run(Job(settings, RunOptions(tuple(inputs), out, **vars(source), **vars(output))), workers)
    if as_json:
        print_json(outcome.summary)
    if not (as_json and Lines.quiet):
        print_summary(make_console(stderr=as_json), outcome.summary, str(out))
    if outcome.exit_code:
        say(f"scorer: {outcome.reason}", always=True)
        raise typer.Exit(outcome.exit_code)
    if output.part is None:
        say(f"For a report: scorer audit {shlex.quote(str(out))} --report FILE")


def _run(job: Job, workers: WorkerOptions) -> Outcome:
    from ..run.devices import parse_devices
    from ..run.driver import run
    from ..run.executors import WorkerSlot
    from ..run.processes import Processes

    if workers.ray is not None:
        from ..run.ray_cluster import connect
        from ..run.ray_executor import Ray

        with make_reporter() as reporter, connect(workers.ray) as module:
            return run(Ray(job, module, workers.ray_cpus, reporter), reporter)
    slots = [WorkerSlot("", job.settings.device)]
    if workers.devices is not None:
        slots = parse_devices(workers.devices)
    with make_reporter() as reporter:
        return run(Processes(job, slots, reporter), reporter)


def print_summary(console: Console, summary: RunSummary, out: str) -> None:
    """Print the labels, the errors and notes, the time, failed shards, and the output folder ``out``."""
    summary, out = all_visible(summary), visible(out)
    rows, facts, shards = summary.rows, summary.facts, summary.shards
    labelled = rows.scored + rows.reused
    labels = table("FINE", "ROUGH", "rows", "share", left=2)
    for name, count in summary.labels.items():
        labels.add_row(
            name, "OK" if name == "OK" else "not_OK", f"{count:,}", share(count / labelled if labelled else None)
        )
    console.print(labels)
    reused = f", {rows.reused:,} reused" if rows.reused else ""
    console.print(f"rows: {rows.all:,} in, {rows.scored:,} scored{reused}")
    for source in summary.reuse:
        console.print(f"reuse {source.description}")
    for title, counts in (("errors", rows.errors), ("notes", rows.notes)):
        if counts:
            console.print(f"{title}: {kinds(dict(sorted(counts.items())))}")
    if in_other_language := rows.notes.get(OTHER_LANGUAGE):
        texts = count_of(in_other_language, "text")
        console.print(f"  {texts} probably in a language that the model does not read: such labels say little")
    if facts.all:
        console.print(f"facts: {facts.all:,}, {share(facts.backoff / facts.all)} of them by backoff (no template)")
    if missing := {name: uses.backoff for name, uses in facts.by_predicate.items() if uses.backoff}:
        most_frequent = dict(sorted(missing.items(), key=lambda item: (-item[1], item[0]))[:5])
        further = f", and {count_of(len(missing) - 5, 'more predicate')}" if len(missing) > 5 else ""
        console.print(f"  most often: {kinds(most_frequent)}{further}; `scorer templates try` proposes templates")
    if summary.exact:
        recomputed = summary.checks.recomputed
        console.print(f"exact: pairs too close to decide, computed again in fp32: {recomputed:,}")
    rate = f", {summary.speed.rows_per_s:,.0f} rows/s" if summary.computed_now else ""
    console.print(f"time: {summary.seconds.get('total', 0.0):.1f} s{rate} on {summary.device.kind}")
    console.print(f"shards: {shards.done} done ({shards.skipped} in earlier runs), {shards.failed} failed")
    if shards.failed:
        console.print(f"failed shards and their errors: {out}/_failed/")
    console.print(f"output: {out}")
