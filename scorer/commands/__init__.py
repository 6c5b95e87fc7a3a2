"""The command line: a file for each command, or for two of one kind. Slow imports happen inside the commands."""

from __future__ import annotations

import sys

if sys.platform == "win32":  # before what does not exist there is imported
    print("scorer: Windows is not supported: use Linux, or Linux in WSL", file=sys.stderr)  # noqa: T201 - no console yet
    sys.exit(2)

from collections.abc import MutableMapping
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from ..system.arguments import option
from .console import Lines, print_line
from .ending import App, leave, run_app
from .options import takes_fields

COMMANDS = {
    "run": ".run:run_command",
    "status": ".show:status_command",
    "plan": ".plan:plan_command",
    "convert": ".convert:app",
    "templates": ".templates:app",
    "check": ".check:check_command",
    "explain": ".check:explain_command",
    "export": ".export:export_command",
    "show": ".show:show_command",
    "evaluate": ".evaluate:evaluate_command",
    "sample": ".rate:sample_command",
    "rate": ".rate:rate_command",
    "compare": ".compare:compare_command",
    "cite": ".cite:cite_command",
    "challenge": ".challenge:challenge_command",
    "audit": ".audit:audit_command",
    "gates": ".audit:gates_app",
    "doctor": ".doctor:doctor_command",
}
"""Module, and function or group of commands in it, by the name of the command."""


class LazyGroup(TyperGroup):
    """The commands of ``scorer``, each imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS or cmd_name in self._known:
            return self._known.get(cmd_name)
        name, _, attribute = COMMANDS[cmd_name].partition(":")
        module = import_module(name, __name__)
        command = getattr(module, attribute)
        if isinstance(command, typer.Typer):
            command.info.name = cmd_name
            self._known[cmd_name] = typer.main.get_group(command)
        else:
            single = App(add_completion=False)  # which `scorer` has
            single.command(cmd_name, cls=getattr(module, f"{cmd_name.capitalize()}Command", None))(command)
            self._known[cmd_name] = typer.main.get_command(single)
        return self._known[cmd_name]

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """All commands by name: imports all of them."""
        return {name: self.get_command(None, name) for name in COMMANDS}

    @commands.setter
    def commands(self, _: Any) -> None:
        self._known: dict[str, Any] = {}


app = App(
    name="scorer",
    cls=LazyGroup,
    help="Find out which generated texts say all and only the facts: NLI scoring of data-to-text output.",
)


@app.callback(invoke_without_command=True)
@takes_fields
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", "-V", help="Show the version, and the version and providers of ONNX Runtime; exit."),
    ] = False,
    verbose: bool = option("Show the traceback of an unexpected error; may also follow the command.", default=False),
    quiet: bool = option(
        "Print results and errors only, no progress and no notes; may also follow the command.", default=False
    ),
) -> None:
    Lines.quiet, Lines.verbose = quiet, verbose
    if version:
        from .. import __version__
        from . import doctor

        print_line(f"d2t-scorer {__version__}")
        for line in doctor.runtime_lines():
            print_line(line)
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Missing command.")


def main() -> NoReturn:
    """Entry point of the ``scorer`` command."""
    leave(run_app(app))
