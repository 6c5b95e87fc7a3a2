"""The command line: one thin file per command. Slow imports happen inside the commands."""

from __future__ import annotations

import sys

if sys.platform == "win32":  # before what does not exist there is imported
    print("scorer: Windows is not supported: use Linux, or Linux in WSL", file=sys.stderr)  # noqa: T201
    sys.exit(2)

from typing import Annotated, NoReturn

import typer

from ..system.signals import leave
from . import (
    audit,
    challenge,
    check,
    convert,
    doctor,
    evaluate,
    explain,
    export,
    gates,
    plan,
    rate,
    run,
    sample,
    show,
    status,
    templates,
)
from .console.output import set_quiet, tell
from .ending import App, run_app, set_verbose

app = App(
    name="scorer",
    help="Find out which generated texts say all and only the facts: NLI scoring of data-to-text output.",
)


def _version(asked: bool) -> None:
    if asked:
        from .. import __version__

        tell(f"d2t-scorer {__version__}")
        for line in doctor.runtime_lines():
            tell(line)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_version,
            is_eager=True,
            help="Show the version, and the version and providers of ONNX Runtime; exit.",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            callback=set_verbose,
            is_eager=True,
            help="Show the traceback of an unexpected error; may also follow the command.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            callback=set_quiet,
            help="Print results and errors only, no progress and no notes; may also follow the command.",
        ),
    ] = False,
) -> None:
    pass


app.command("run", cls=run.RunCommand)(run.run_command)
app.command("status")(status.status_command)
app.command("plan")(plan.plan_command)
app.add_typer(convert.app, name="convert")
app.add_typer(templates.app, name="templates")
app.command("check")(check.check_command)
app.command("explain")(explain.explain_command)
app.command("export")(export.export_command)
app.command("show")(show.show_command)
app.command("evaluate")(evaluate.evaluate_command)
app.command("sample")(sample.sample_command)
app.command("rate")(rate.rate_command)
app.command("challenge")(challenge.challenge_command)
app.command("audit")(audit.audit_command)
app.add_typer(gates.app, name="gates")
app.command("doctor")(doctor.doctor_command)


def main() -> NoReturn:
    """Entry point of the ``scorer`` command."""
    leave(run_app(app))
