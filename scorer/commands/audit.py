"""``scorer audit``: tonight's output, compared with yesterday's, put to gates, and shown."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .common import guarded, local, print_json, say


class ErrorRows(StrEnum):
    """How rows with an error count in the rates of labels."""

    not_ok = "not-ok"
    excluded = "excluded"


@guarded
def audit_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", parser=local, help="Finished output folder of `scorer run`.")],
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="OUT0", parser=local, help="Finished output of an earlier night."),
    ] = None,
    gates: Annotated[
        list[Path] | None,
        typer.Option(
            "--gates", metavar="FILE", parser=local, help="Gates in TOML; a gate that fails is exit 1. Repeatable."
        ),
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
        Path | None, typer.Option("--report", metavar="FILE", parser=local, help="Write the report, one HTML file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole audit as JSON.")] = False,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", parser=local, help="Write the gates as JUnit XML, for build servers."),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history", metavar="FILE", parser=local, help="Parquet file to which this night is added, for the trend."
        ),
    ] = None,
    errors: Annotated[
        ErrorRows, typer.Option("--errors", help="Rows with an error count as not_OK, or are left out of these rates.")
    ] = ErrorRows.not_ok,
    across_signatures: Annotated[
        bool, typer.Option("--across-signatures", help="Compare although the baseline was scored otherwise.")
    ] = False,
    require_gates: Annotated[
        bool,
        typer.Option("--require-gates", help="Exit 1 when nothing was checked: no gate given, or all of them silent."),
    ] = False,
    allow_partial: Annotated[
        bool,
        typer.Option(
            "--allow-partial",
            help="Audit a run that ended without scoring all shards, and compare a partial run with a complete one.",
        ),
    ] = False,
    worst: Annotated[
        int, typer.Option("--worst", min=0, metavar="N", help="Rows in the sample, of each kind of fault.")
    ] = 30,
) -> None:
    """What a night's scores say, what changed since the baseline, and whether the gates hold.

    Exit codes: 0 all gates pass, warn or are silent, 1 a gate failed (or nothing was checked, with --require-gates), 2
    usage or configuration, also when OUT or the baseline is no finished output or changes meanwhile, when the two were
    not scored alike, or when one is partial and the other complete.
    """
    from ..audit import AuditOptions, audit
    from ..audit.junit import junit as as_junit
    from ..storage.user_files import check_user_file, write_user_file
    from .show.audit import print_document

    options = AuditOptions(
        baseline=baseline,
        gates=tuple(gates or ()),
        by=tuple(tuple(dict.fromkeys(c.strip() for c in one.split(",") if c.strip())) for one in by or ()),
        errors=errors.value,
        across_signatures=across_signatures,
        worst=worst,
        history=history,
        require_gates=require_gates,
        allow_partial=allow_partial,
    )
    for given, option in ((report, "--report"), (junit, "--junit")):
        if given is not None:
            check_user_file(given, option)
    document = audit(out, options)
    if report is not None:
        from ..audit.report import render

        write_user_file(report, render(document).encode("utf-8"), "--report")
    if junit is not None:
        write_user_file(junit, as_junit(document).encode("utf-8"), "--junit")
    if as_json:
        print_json(document, allow_nan=False)
    else:
        print_document(document)
    failed = [gate for gate in document["gates"] if gate["status"] == "fail"]
    if failed:
        say(f"scorer: {len(failed)} of {len(document['gates'])} gates failed")
    elif document["status"] == "fail":
        say("scorer: nothing was checked, and --require-gates was given")
    if document["status"] == "fail":
        raise typer.Exit(1)
