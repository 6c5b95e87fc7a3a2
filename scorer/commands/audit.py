"""``scorer audit``: report on an output, compare it with an earlier one, and apply gates; ``scorer gates init`` writes
them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..audit import AuditOptions
from ..errors import UsageError
from ..storage.location import Location
from ..system.arguments import option
from .console import WHOLE, print_result, say
from .ending import App
from .options import BY, JSON, FinishedArgument, local, location, written, written_parquet

if TYPE_CHECKING:
    from rich.console import Console

    from ..audit.document import Document

STYLES = {"pass": "green", "warn": "yellow", "fail": "bold red", "none": "bold"}


gates_app = App(help="Write the gates of an audit.")


def audit_command(
    out: FinishedArgument,
    options: AuditOptions,
    baseline: tuple[Location, ...] = option(
        "Output to compare with; exits 2 if its signature differs. Repeatable, for parts.", "OUT0", (), parser=location
    ),
    gates: tuple[Path, ...] = option(
        "Gates (TOML); exits 1 if one fails, 2 if one is invalid. Repeatable.", "FILE", (), parser=local, variable=True
    ),
    by: tuple[tuple[str, ...], ...] = BY,
    report: Path | None = option("Write the report to one HTML file.", "FILE", None, parser=written),
    as_json: bool = JSON,
    junit: Path | None = option("Write the gates as JUnit XML, for CI servers.", "FILE", None, parser=written),
    summary: Path | None = option(
        "Write a Markdown page of under 60 lines, for the step summary of a pipeline.", "FILE", None, parser=written
    ),
    metrics: Path | None = option(
        "Write Prometheus metrics for the textfile collector, atomically.", "FILE", None, parser=written
    ),
    history: Path | None = option(
        "Parquet file to append this run to; created if missing.", "FILE", None, parser=written_parquet
    ),
) -> None:
    """Report on a run, compare it with a baseline, apply gates.

    Exit codes: 0 all gates pass, warn or are silent; 1 a gate failed, or nothing was checked with --require-gates; 2
    usage or configuration, or an output that is unfinished, changes during the audit, or cannot be compared (another
    signature, or only one is partial).
    """
    from ..audit import audit
    from ..audit import report as rendering
    from ..storage.user_files import write_user_file

    document = audit(out, replace(options, baseline=baseline or None, gates=gates, by=by, history=history))
    for name, path, render in (
        ("--report", report, rendering.render),
        ("--junit", junit, rendering.junit),
        ("--summary", summary, rendering.markdown),
        ("--metrics", metrics, rendering.metrics),
    ):
        if path is not None:
            write_user_file(path, render(document).encode("utf-8", "replace"), name)
    print_result(document, as_json, print_document, least_width=WHOLE)
    failed = [gate for gate in document.gates if gate.status == "fail"]
    if document.status == "fail":
        problem = "nothing was checked, and --require-gates is set"
        say(f"scorer: {f'{len(failed)} of {len(document.gates)} gates failed' if failed else problem}", always=True)
        raise typer.Exit(1)


@gates_app.command("init")
def init_command(
    out: FinishedArgument,
    gates: Path = option("File for gates on values; must not exist.", "FILE", Path("gates.toml"), parser=written),
    changes: Path = option(
        "File for gates that need a baseline; must not exist.", "FILE", Path("changes.toml"), parser=written
    ),
    by: tuple[tuple[str, ...], ...] = BY,
) -> None:
    """Write gates files that suit an output.

    Limits follow from the rates of OUT and the sizes of its groups; a comment at each names the smallest increase that
    it finds. Change them to what is acceptable for your data. Gates that need a baseline are in a file of their own,
    because the first run has none.
    """
    from ..audit import AuditOptions, audit
    from ..audit.suggest import change_gates, value_gates
    from ..storage.user_files import write_user_file

    targets = ((gates, "--gates", value_gates), (changes, "--changes", change_gates))
    for path, name, _ in targets:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{name} {path} exists; remove it, or name another file")
    document = audit(out, AuditOptions(by=by, worst=0))
    for path, name, content in targets:
        write_user_file(path, content(document).encode("utf-8", "replace"), name)
        say(f"wrote {path}")


def print_document(console: Console, document: Document) -> None:
    """Print the summary, its first line in the colour of the verdict."""
    from ..audit.report import console_text, verdict

    title, body = console_text(document).split("\n", 1)
    console.print(title, style=STYLES[verdict(document)[0]])
    console.print(body, end="")
