"""``scorer audit``: report on an output, compare it with an earlier one, and apply gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from .console import print_json, say_always
from .options import ByOption, local, location, parse_by, written, written_parquet

if TYPE_CHECKING:
    from ..audit import AuditOptions
    from ..audit.document import Document
    from ..storage.location import Location


class ErrorRows(StrEnum):
    """How rows with an error count in the label rates."""

    not_ok = "not-ok"
    excluded = "excluded"


def audit_command(
    out: Annotated[
        list[Any],  # each a Path or a StoreUri: typer takes no unions
        typer.Argument(
            metavar="OUT",
            parser=location,
            help="Finished output of `scorer run`, or its parts; exits 2 if it is not finished or a part is missing.",
        ),
    ],
    baseline: Annotated[
        list[Any] | None,
        typer.Option(
            "--baseline",
            metavar="OUT0",
            parser=location,
            help="Finished output to compare with; exits 2 if its signature differs. Repeatable, for parts.",
        ),
    ] = None,
    gates: Annotated[
        list[Path] | None,
        typer.Option(
            "--gates",
            envvar="D2T_GATES",
            metavar="FILE",
            parser=local,
            help="Gates (TOML); exits 1 if one fails, 2 if one is invalid. Repeatable.",
        ),
    ] = None,
    by: ByOption = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", parser=written, help="Write the report to one HTML file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole audit as JSON.")] = False,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", parser=written, help="Write the gates as JUnit XML, for CI servers."),
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(
            "--summary",
            metavar="FILE",
            parser=written,
            help="Write a Markdown page of under 60 lines, for the step summary of a pipeline.",
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            "--metrics",
            metavar="FILE",
            parser=written,
            help="Write Prometheus metrics for the textfile collector, atomically.",
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history",
            metavar="FILE",
            parser=written_parquet,
            help="Parquet file to append this run to; created if missing.",
        ),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--compare",
            metavar="A B",
            help="Compare these two values of the first --by column, paired by input. Default: the two largest groups.",
        ),
    ] = None,
    errors: Annotated[
        ErrorRows,
        typer.Option("--errors", help="Count rows with an error as not_OK, or exclude them from the label rates."),
    ] = ErrorRows.not_ok,
    across_signatures: Annotated[
        bool, typer.Option("--across-signatures", help="Compare even if the baseline's signature differs.")
    ] = False,
    require_gates: Annotated[
        bool,
        typer.Option("--require-gates", help="Exit 1 if nothing was checked: no gates, or all of them silent."),
    ] = False,
    allow_partial: Annotated[
        bool,
        typer.Option(
            "--allow-partial",
            help="Accept a run without all shards or parts, and compare partial with complete runs.",
        ),
    ] = False,
    worst: Annotated[
        int, typer.Option("--worst", min=0, metavar="N", help="Number of example rows for each kind of error.")
    ] = 30,
) -> None:
    """Report on a run, compare it with a baseline, apply gates.

    Exit codes: 0 all gates pass, warn or are silent; 1 a gate failed, or nothing was checked with --require-gates; 2
    usage or configuration, or an output that is unfinished, changes during the audit, or cannot be compared (another
    signature, or only one is partial).
    """
    from ..audit import AuditOptions
    from ..audit import report as rendering
    from ..storage.user_files import write_user_file
    from .audit_console import print_document

    options = AuditOptions(
        gates=tuple(gates or ()),
        by=parse_by(by),
        errors=errors.value,
        compare=compare,
        across_signatures=across_signatures,
        worst=worst,
        history=history,
        require_gates=require_gates,
        allow_partial=allow_partial,
    )
    document = _audited(out, baseline or (), options)
    for option, path, render in (
        ("--report", report, rendering.render),
        ("--junit", junit, rendering.junit),
        ("--summary", summary, rendering.markdown),
        ("--metrics", metrics, rendering.metrics),
    ):
        if path is not None:
            write_user_file(path, render(document).encode("utf-8", "replace"), option)
    if as_json:
        print_json(document, allow_nan=False)
    else:
        print_document(document)
    failed = [gate for gate in document.gates if gate.status == "fail"]
    if failed:
        say_always(f"scorer: {len(failed)} of {len(document.gates)} gates failed")
    elif document.status == "fail":
        say_always("scorer: nothing was checked, and --require-gates is set")
    if document.status == "fail":
        raise typer.Exit(1)


def _audited(outs: Sequence[Location], baseline: Sequence[Location], options: AuditOptions) -> Document:
    """The audit; what is in an object store is copied for it, and named by its URI."""
    from ..audit import audit
    from ..storage.local_copy import local_outputs

    remote, remote_before = ([str(out) for out in given if not isinstance(out, Path)] for given in (outs, baseline))
    if {*remote} & {*remote_before}:
        raise UsageError(f"--baseline {remote[0]} is the output itself; pass the output of an earlier run")
    with local_outputs(outs) as folders, local_outputs(baseline) as earlier:
        document = audit(folders, replace(options, baseline=earlier or None))
    if remote:
        document.out = ", ".join(remote)
    if remote_before and document.baseline is not None:
        document.baseline.out = ", ".join(remote_before)
    return document
