"""How commands end: whatever is raised, one line and a code of the contract, and 1 for a failed gate alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scorer.commands import app, check
from tests.sweeps import sampled

ASKED = ["check", "--triples", "a | b | c", "--text", "t"]
ENDINGS = [
    ("KeyError('k')", 2, "internal error: KeyError: 'k'; run again with --verbose to see the traceback"),
    ("TypeError('one\\ntwo \\x1b[2J')", 2, "internal error: TypeError: one two <U+001B>[2J; run again"),
    ("AttributeError('a')", 2, "internal error: AttributeError"),
    ("RecursionError()", 2, "internal error: RecursionError"),
    ("MemoryError()", 2, "out of memory"),
    ('RuntimeError("can\'t start new thread")', 2, "ulimit -v"),
    ("OSError(28, 'No space left on device', 'f')", 2, "scorer: No space left on device: f"),
    ("BrokenPipeError(32, 'Broken pipe')", 2, "Broken pipe"),
    ("EOFError()", 2, "internal error: EOFError"),
    ("KeyboardInterrupt()", 130, "interrupted; the same command resumes"),
    ("Terminated()", 143, "terminated; the same command resumes"),
    ("typer.Abort()", 130, "interrupted"),
    ("typer.Exit(3)", 3, None),
    ("SystemExit(1)", 2, None),
    ("SystemExit('words')", 2, "words"),
    ("ScorerError('what\\nand where')", 2, "scorer: what and where"),
]
_RAISED = """
import sys, typer, scorer.commands as commands
from scorer.commands import {place}
from scorer.errors import ScorerError
from scorer.system.signals import Terminated
from tests.sweeps import sampled
def fail(*_, **__):
    raise {error}
{place}.{name} = fail
commands.main()
"""


@pytest.mark.parametrize(("error", "code", "line"), sampled(ENDINGS, 4))
def test_whatever_a_command_raises(error: str, code: int, line: str | None) -> None:
    program = _RAISED.format(place="check", name="open_scorer", error=error)
    ended = subprocess.run([sys.executable, "-c", program, *ASKED], capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == (0 if line is None else 1)
    assert (line or "") in ended.stderr


@pytest.mark.parametrize("error", ["ZeroDivisionError()", "OSError(5, 'Input/output error')"])
def test_what_is_raised_outside_of_any_command(error: str) -> None:
    program = _RAISED.format(place="doctor", name="runtime_lines", error=error)
    ended = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    (line,) = filter(None, ended.stderr.splitlines())
    assert line.startswith("scorer: ") and line.endswith("; run again with --verbose to see the traceback")


@pytest.mark.parametrize("arguments", [["--verbose", *ASKED], [*ASKED, "--verbose"]])
def test_verbose_shows_the_trace(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("k\x1b[2J")

    monkeypatch.setattr(check, "open_scorer", fail)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "Traceback (most recent call last)" in result.stderr
    assert 'raise KeyError("k\\x1b[2J")' in result.stderr
    assert "\x1b" not in result.stderr
    assert "run again" not in result.stderr
    again = CliRunner().invoke(app, ASKED)
    assert "Traceback" not in again.stderr


def test_the_module_is_the_command(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "scorer", "audit", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
