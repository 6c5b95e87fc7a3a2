"""How a command ends: with one line on stderr and a documented exit code, for every kind of error.

Exit code 1 means that a gate of an audit failed, and nothing else. Python and the option parser use it for all errors,
so their codes are replaced here.
"""

from __future__ import annotations

import functools
import inspect
import io
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ScorerError
from ..system.display import visible
from ..system.signals import Terminated
from .show.output import begin_command, say
from .show.streams import install, was_lost

# Some versions of typer have their own copy of click, others import it; the public errors lead to either.
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]
_PASSED_ON = (typer.Exit, typer.Abort, _ParserError)
_OPTION = "verbose"
AGAIN = "run again with --verbose to see the traceback"


class _Verbose:
    """Whether traces are shown; set by the option, before any command begins."""

    asked = False


def set_verbose(asked: bool) -> None:
    """Apply ``--verbose``."""
    _Verbose.asked = asked


_VerboseOption = Annotated[
    bool, typer.Option("--verbose", hidden=True, help="Show the traceback of an unexpected error.")
]


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command so that it ends with one line on stderr and a documented exit code.

    The command also takes ``--verbose``, which is documented once, as an option of ``scorer`` itself.
    """

    @functools.wraps(command)
    def wrapper(*args: Any, **options: Any) -> None:
        if options.pop(_OPTION, False):
            set_verbose(True)
        begin_command()
        try:
            command(*args, **options)
        except _PASSED_ON:
            raise
        except (Exception, KeyboardInterrupt, Terminated) as error:
            raise typer.Exit(_code_of(error)) from error

    shape = inspect.signature(command, eval_str=True)
    more = inspect.Parameter(_OPTION, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_VerboseOption)
    wrapper.__signature__ = shape.replace(parameters=[*shape.parameters.values(), more])  # type: ignore[attr-defined]
    wrapper.__annotations__ = inspect.get_annotations(command, eval_str=True) | {_OPTION: _VerboseOption}
    return wrapper


def run_app(app: typer.Typer, name: str = "scorer") -> int:
    """Run the command line of this process and return the exit code.

    stdout and stderr are replaced by streams on which printing cannot fail (:mod:`.show.streams`).
    """
    out, _ = install()
    code = _run(app, name)
    sys.stdout.flush()
    if lost := was_lost(out):
        say(f"scorer: stdout: {lost}; the output printed there is incomplete")
    sys.stderr.flush()
    return code


def _run(app: typer.Typer, name: str) -> int:
    try:
        # Not standalone: in that mode the parser has its own exit codes for usage errors, broken pipes and interrupts.
        code = typer.main.get_command(app).main(prog_name=name, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as ended:
        if isinstance(ended.code, str):
            say(ended.code)
        return ended.code if isinstance(ended.code, int) and ended.code != 1 else 2 if ended.code else 0
    except _ParserError as error:
        shown = io.StringIO()
        error.show(shown)  # type: ignore[attr-defined]  # the class is found at run time
        for line in shown.getvalue().splitlines():
            say(line)
        return 2
    except typer.Abort as error:  # the parser raises it for an interrupt, and for the end of its input
        return _code_of(error.__cause__ if isinstance(error.__cause__, EOFError) else KeyboardInterrupt())
    except (Exception, KeyboardInterrupt, Terminated) as error:
        return _code_of(error)


def _code_of(error: BaseException) -> int:
    """Print the error in one line and return its exit code."""
    if isinstance(error, KeyboardInterrupt | Terminated):
        number, what = (130, "interrupted") if isinstance(error, KeyboardInterrupt) else (143, "terminated")
        say(f"scorer: {what}; the same command resumes")
        return number
    if isinstance(error, ScorerError):
        say(f"scorer: {_one_line(error)}")
        return error.exit_code
    if _Verbose.asked:
        for line in "".join(traceback.format_exception(error)).split("\n"):
            say(line)
    say(f"scorer: {_unexpected(error)}" if _Verbose.asked else f"scorer: {_unexpected(error)}; {AGAIN}")
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
