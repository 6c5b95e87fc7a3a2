"""``scorer audit``: tonight's output, compared with yesterday's, put to gates, and shown."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .common import guarded, print_json, say


class ErrorRows(StrEnum):
    """How rows with an error count in the rates of labels."""

    not_ok = "not-ok"
    excluded = "excluded"


@guarded
def audit_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Finished output folder of `scorer run`.")],
    baseline: Annotated[
        Path | None, typer.Option("--baseline", metavar="OUT0", help="Finished output of an earlier night.")
    ] = None,
    gates: Annotated[
        list[Path] | None,
        typer.Option("--gates", metavar="FILE", help="Gates in TOML; a gate that fails is exit 1. Repeatable."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMNS",
            help="Figures for each group too; several columns by comma make one group of each combination. Repeatable. "
            "Default: system, if there is such a column.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the report, one HTML file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole audit as JSON.")] = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the gates as JUnit XML, for build servers.")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option("--history", metavar="FILE", help="Parquet file to which this night is added, for the trend."),
    ] = None,
    errors: Annotated[
        ErrorRows, typer.Option("--errors", help="Rows with an error count as not_OK, or are left out of these rates.")
    ] = ErrorRows.not_ok,
    across_signatures: Annotated[
        bool, typer.Option("--across-signatures", help="Compare although the baseline was scored otherwise.")
    ] = False,
    worst: Annotated[
        int, typer.Option("--worst", min=0, metavar="N", help="Rows in the sample, of each kind of fault.")
    ] = 30,
) -> None:
    """What a night's scores say, what changed since the baseline, and whether the gates hold.

    Exit codes: 0 all gates pass or warn, 1 a gate failed, 2 usage or configuration, also when OUT or the baseline is no
    finished output, or the two were not scored alike.
    """
    from ..audit import AuditOptions, audit
    from ..audit.junit import junit as as_junit
    from ..audit.rendering import print_document
    from ..storage.durable import atomic_bytes

    options = AuditOptions(
        baseline=baseline,
        gates=tuple(gates or ()),
        by=tuple(tuple(dict.fromkeys(c.strip() for c in one.split(",") if c.strip())) for one in by or ()),
        errors=errors.value,
        across_signatures=across_signatures,
        worst=worst,
        history=history,
    )
    document = audit(out, options)
    if report is not None:
        from ..audit.report import render

        atomic_bytes(report, render(document).encode("utf-8"), "report")
    if junit is not None:
        atomic_bytes(junit, as_junit(document).encode("utf-8"), "junit")
    if as_json:
        print_json(document, allow_nan=False)
    else:
        print_document(document)
    failed = [gate for gate in document["gates"] if gate["status"] == "fail"]
    if failed:
        say(f"scorer: {len(failed)} of {len(document['gates'])} gates failed")
        raise typer.Exit(1)
