"""How a command ends: with one line on stderr and a documented exit code, for every kind of error.

Exit code 1 means that a threshold of the user was not met: a gate of an audit, or ``challenge --fail-under``. Python
and the option parser use it for all errors, so their codes are replaced here.
"""

from __future__ import annotations

import functools
import inspect
import io
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ScorerError
from ..system.display import visible
from ..system.signals import Terminated
from .config_file import CONFIG, NAME, defaults, find_config
from .files import check_written, written
from .gone import advice
from .show.output import begin_command, lines_for_people, say, say_always
from .show.streams import install, was_lost

# Some versions of typer have their own copy of click, others import it; the public errors lead to either.
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]
_QUOTED = re.compile(r"[\s'\":;,]+|\.(?=\s|$)")
_PASSED_ON = (typer.Exit, typer.Abort, _ParserError)
AGAIN = "run again with --verbose to see the traceback"


class _Verbose:
    """Whether traces are shown; set by the option, before any command begins."""

    asked = False


def set_verbose(asked: bool) -> None:
    """Apply ``--verbose``."""
    _Verbose.asked = asked


_COMMON: dict[str, tuple[object, Any]] = {
    "verbose": (
        False,
        Annotated[bool, typer.Option("--verbose", hidden=True, help="Show the traceback of an unexpected error.")],
    ),
    "quiet": (False, Annotated[bool, typer.Option("--quiet", hidden=True, help="Print results and errors only.")]),
    "log_file": (
        None,
        Annotated[
            Path | None,
            typer.Option(
                "--log-file",
                metavar="FILE",
                parser=written,
                hidden=True,
                help="Append what goes to stderr to a file too.",
            ),
        ],
    ),
    "context": (inspect.Parameter.empty, typer.Context),
}
"""Parameters of every command: default and option. ``context`` is what the option parser knows."""


class _Quiet:
    """``--quiet`` and ``--log-file`` in front of the command."""

    asked = False
    log: Path | None = None


def set_quiet(asked: bool) -> None:
    """Apply ``--quiet``."""
    _Quiet.asked = asked


def set_log_file(path: Path | None) -> None:
    """Apply ``--log-file``."""
    _Quiet.log = path


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command so that it ends with one line on stderr and a documented exit code.

    The command also takes ``--verbose``, ``--quiet`` and ``--log-file``, which are documented once, as options of
    ``scorer`` itself. It says which of its options have their values from the configuration file.
    """

    @functools.wraps(command)
    def wrapper(*args: Any, **options: Any) -> None:
        common = {name: options.pop(name, None) for name in _COMMON}
        if common["verbose"]:
            set_verbose(True)
        begin_command()
        try:
            log = common["log_file"] or _Quiet.log
            check_written(shape.parameters, options, log)
            with lines_for_people(bool(common["quiet"]) or _Quiet.asked, log):
                try:
                    if names := _configured(common["context"]):
                        say(f"note: from {os.environ.get(CONFIG) or NAME}: {', '.join(names)}")
                    command(*args, **options)
                except _PASSED_ON:
                    raise
                except (Exception, KeyboardInterrupt, Terminated) as error:
                    raise typer.Exit(_code_of(error)) from error
        except ScorerError as error:  # a file cannot be written
            raise typer.Exit(_code_of(error)) from error

    shape = inspect.signature(command, eval_str=True)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)
        for name, (default, option) in _COMMON.items()
    ]
    wrapper.__signature__ = shape.replace(parameters=[*shape.parameters.values(), *more])  # type: ignore[attr-defined]  # inspect reads it
    annotations = {name: option for name, (_, option) in _COMMON.items()}
    wrapper.__annotations__ = inspect.get_annotations(command, eval_str=True) | annotations
    return wrapper


def _configured(context: typer.Context | None) -> list[str]:
    """The options of a command that have their values from the configuration file."""
    if context is None or not context.default_map:
        return []
    sources = ((one, context.get_parameter_source(one.name or "")) for one in context.command.params)
    return [one.opts[0] for one, source in sources if source is not None and source.name == "DEFAULT_MAP"]


def run_app(app: typer.Typer, name: str = "scorer") -> int:
    """Run the command line of this process and return the exit code.

    stdout and stderr are replaced by streams on which printing cannot fail (:mod:`.show.streams`).
    """
    out, _ = install()
    code = _run(app, name)
    sys.stdout.flush()
    if lost := was_lost(out):
        say_always(f"scorer: stdout: {lost}; the output printed there is incomplete")
    sys.stderr.flush()
    return code


def _run(app: typer.Typer, name: str) -> int:
    try:
        # Not standalone: in that mode the parser has its own exit codes for usage errors, broken pipes and interrupts.
        command = typer.main.get_command(app)
        given = defaults(command, find_config())
        code = command.main(prog_name=name, standalone_mode=False, default_map=given)
        return code if isinstance(code, int) else 0
    except SystemExit as ended:
        if isinstance(ended.code, str):
            say_always(ended.code)
        return ended.code if isinstance(ended.code, int) and ended.code != 1 else 2 if ended.code else 0
    except _ParserError as error:
        context = getattr(error, "ctx", None)
        if said := advice(_QUOTED.split(str(error)), getattr(context, "info_name", None) or ""):
            say_always(f"scorer: {said}")
            return 2
        shown = io.StringIO()
        error.show(shown)  # type: ignore[attr-defined]  # the class is found at run time
        for line in shown.getvalue().splitlines():
            say_always(line)
        return 2
    except typer.Abort as error:  # the parser raises it for an interrupt, and for the end of its input
        return _code_of(error.__cause__ if isinstance(error.__cause__, EOFError) else KeyboardInterrupt())
    except (Exception, KeyboardInterrupt, Terminated) as error:
        return _code_of(error)


def _code_of(error: BaseException) -> int:
    """Print the error in one line and return its exit code."""
    if isinstance(error, KeyboardInterrupt | Terminated):
        number, what = (130, "interrupted") if isinstance(error, KeyboardInterrupt) else (143, "terminated")
        say_always(f"scorer: {what}; the same command resumes")
        return number
    if isinstance(error, ScorerError):
        say_always(f"scorer: {_one_line(error)}")
        return error.exit_code
    if _Verbose.asked:
        for line in "".join(traceback.format_exception(error)).split("\n"):
            say_always(line)
    say_always(f"scorer: {_unexpected(error)}" if _Verbose.asked else f"scorer: {_unexpected(error)}; {AGAIN}")
    return 2


def _unexpected(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return f"out of memory ({_one_line(error) or 'no details'})"
    if isinstance(error, FileNotFoundError) and error.filename is None and not _has_working_directory():
        return "the working directory was deleted; change to another one"
    if isinstance(error, OSError) and error.strerror:
        where = f": {visible(os.fsdecode(error.filename))}" if isinstance(error.filename, str | bytes) else ""
        return f"{error.strerror}{where}"
    return f"internal error: {type(error).__name__}: {_one_line(error)}"


def _has_working_directory() -> bool:
    try:
        Path.cwd()
    except OSError:
        return False
    return True


def _one_line(error: BaseException) -> str:
    """The message with its line breaks replaced by spaces; :func:`say` shows other hidden characters."""
    return " ".join(part.strip(" \t") for part in str(error).replace("\r\n", "\n").split("\n") if part.strip(" \t"))
