"""Commands that end with one line on stderr and a documented exit code, for every kind of error: 1 means that a
threshold of the user was not met, and Python and the option parser use it for all errors."""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand

from ..errors import ScorerError
from ..system.starting import end_worker
from ..system.terminal import install, visible, was_lost
from ..system.waiting import Terminated, signals_raise
from .console import Lines, say
from .options import CONFIG_FILE, CONFIG_VARIABLE, check_written, configured, takes_fields
from .sections import help_sections

# Some versions of typer have their own copy of click, others import it; the public errors lead to either.
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]
_QUOTED = re.compile(r"[\s'\":;,]+|\.(?=\s|$)")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)[^;]*>=([0-9.]+)")
GONE = {
    "baseline": "use python -m benchmarks.paper.rivals NAME IN --out F.parquet, in the source repository",
    "rank": "give each text a row, score with `scorer run`, and choose the best with arg_max (docs/query.md)",
    "gates check": "`scorer gates init` writes gates with what each finds; `scorer audit` says which are silent",
    "quintd": "use python -m benchmarks.paper.spans convert quintd, in the source repository",
    "d2t-eval": "use python -m benchmarks.paper.spans convert d2t-eval, in the source repository",
    "--prune": "use --rescore to replace outputs, --allow-stale to keep outputs whose input is gone",
    "--check-numbers": "leave it out: the model reads the numbers of facts and texts",
}
"""Commands, options and values of development versions, with their replacements. The table is read only when the parser
refuses the arguments, so that it never hides an existing option."""
_FEW_COMMANDS = 3
AGAIN = "; run again with --verbose to see the traceback"


class Command(TyperCommand):
    """A command that ends with one line on stderr and a documented exit code.

    It takes ``--quiet`` and ``--verbose`` too, which are documented once, as options of ``scorer`` itself, and says
    which of its options have their values from the configuration file.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        Lines.quiet |= "--quiet" in args[:end]
        Lines.verbose |= "--verbose" in args[:end]
        remaining = [argument for argument in args[:end] if argument not in ("--quiet", "--verbose")]
        return super().parse_args(ctx, remaining + args[end:])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a plain section of the help for each group of options."""
        for title, parameters in help_sections(self, ctx):
            if records := [record for parameter in parameters if (record := parameter.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(records)

    def invoke(self, ctx: Any) -> Any:
        Lines.printed.clear()
        sources = {parameter.opts[0]: ctx.get_parameter_source(parameter.name) for parameter in ctx.command.params}
        from_file = [name for name, source in sources.items() if source and source.name == "DEFAULT_MAP"]
        try:
            if from_file:
                say(f"note: from {os.environ.get(CONFIG_VARIABLE) or CONFIG_FILE}: {', '.join(from_file)}")
            assert self.callback is not None
            with signals_raise():
                check_written(self.callback, ctx.params)
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort, _ParserError):
            raise
        except (Exception, KeyboardInterrupt, Terminated) as error:
            raise typer.Exit(_code_of(error)) from error


class _App(typer.Typer):
    def command(self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **settings: Any) -> Any:
        register = super().command(name, cls=cls or Command, **settings)
        return lambda command: register(takes_fields(command))


App = partial(
    _App,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""Make a group of such commands."""


def run_app(app: typer.Typer, name: str = "scorer") -> int:
    """Run the command line of this process on streams that cannot fail, and return the exit code."""
    out, _ = install()
    try:
        # Not standalone: in that mode the parser has its own exit codes for usage errors, broken pipes and interrupts.
        command = typer.main.get_command(app)
        result = command.main(prog_name=name, standalone_mode=False, default_map=configured(command))
        code = result if isinstance(result, int) else 0
    except SystemExit as error:
        if isinstance(error.code, str):
            say(error.code, always=True)
        code = error.code if isinstance(error.code, int) and error.code != 1 else 2 if error.code else 0
    except _ParserError as error:
        code = _refusal(error)
    except typer.Abort as error:  # the parser raises it for an interrupt, and for the end of its input
        code = _code_of(error.__cause__ if isinstance(error.__cause__, EOFError) else KeyboardInterrupt())
    except (Exception, KeyboardInterrupt, Terminated) as error:
        code = _code_of(error)
    sys.stdout.flush()
    if failure := was_lost(out):
        say(f"scorer: stdout: {failure}; the output printed there is incomplete", always=True)
    sys.stderr.flush()
    return code


def leave(code: int) -> NoReturn:
    """End this process, and a worker that no run has taken. After an interrupt it does not wait for threads: one may be
    in a call that never returns."""
    end_worker()
    if code in (130, 143):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, full, or not there
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _refusal(error: Any) -> int:
    """Print why the parser refuses the arguments, or what replaces a removed option; return the exit code."""
    command = getattr(getattr(error, "ctx", None), "info_name", None) or ""
    for word in _QUOTED.split(str(error)) if "\n" not in str(error) else ():  # not of a help
        if advice := GONE.get(f"{command} {word}") or GONE.get(word):
            say(f"scorer: {word} is gone; {advice}", always=True)
            return 2
    shown = io.StringIO()
    error.show(shown)
    if type(error).__name__ == "NoSuchOption" and (commands := _commands_with(error.option_name)):
        shown.write(f"{error.option_name} is an option of {', '.join(commands)}\n")
    for line in shown.getvalue().replace("Value error, ", "").splitlines():
        say(line, always=True)
    return 2


def _commands_with(option: str) -> list[str]:
    """The commands that have an option; none of an option of many, which would tell nobody where to look."""
    from . import COMMANDS, app

    group = typer.main.get_command(app)
    commands = {name: group.get_command(None, name) for name in COMMANDS}  # type: ignore[attr-defined]  # a group
    names = [f"scorer {name}" for name, command in commands.items() if any(option in p.opts for p in command.params)]
    return names if len(names) <= _FEW_COMMANDS else []


def _code_of(error: BaseException) -> int:
    """Print the error in one line and return its exit code."""
    code, advice = 2, ""
    if isinstance(error, KeyboardInterrupt | Terminated):
        code, end_status = (130, "interrupted") if isinstance(error, KeyboardInterrupt) else (143, "terminated")
        message = f"{end_status}; the same command resumes"
    elif isinstance(error, ScorerError):
        code, message = error.exit_code, _one_line(error)
    else:
        message = _unexpected(error)
        advice = "" if Lines.verbose else AGAIN
        for line in "".join(traceback.format_exception(error)).split("\n") if Lines.verbose else ():
            say(line, always=True)
    say(f"scorer: {message}{advice}", always=True)
    return code


def _unexpected(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return f"out of memory ({_one_line(error) or 'no details'})"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "no thread can be started; raise the limits of memory or of processes (ulimit -v, ulimit -u)"
    if isinstance(error, FileNotFoundError) and error.filename is None and not _has_working_directory():
        return "the working directory was deleted; change to another one"
    if isinstance(error, OSError) and error.strerror:
        where = f": {visible(os.fsdecode(error.filename))}" if isinstance(error.filename, str | bytes) else ""
        return f"{error.strerror}{where}"
    if isinstance(error, ImportError | AttributeError) and (outdated := _outdated()):
        return f"{outdated} ({_one_line(error)})"
    return f"internal error: {type(error).__name__}: {_one_line(error)}"


def _outdated() -> str | None:
    """A package that is older than this program needs, as a message: "needs numpy 2.0 or newer; found 1.26.4"."""
    from importlib import metadata

    def numbers(version: str) -> list[int]:
        return [int(part) for part in re.findall(r"[0-9]+", version)[:3]]

    with suppress(metadata.PackageNotFoundError):
        for line in metadata.requires("d2t-scorer") or ():
            needed = _REQUIREMENT.match(line)
            if needed is None or "extra ==" in line:
                continue
            name, least = needed.groups()
            if numbers(installed := metadata.version(name)) < numbers(least):
                return f"needs {name} {least} or newer; found {installed}"
    return None


def _has_working_directory() -> bool:
    try:
        Path.cwd()
    except OSError:
        return False
    return True


def _one_line(error: BaseException) -> str:
    """The message with its line breaks replaced by spaces; :func:`say` shows other hidden characters."""
    return " ".join(part.strip(" \t") for part in str(error).replace("\r\n", "\n").split("\n") if part.strip(" \t"))
