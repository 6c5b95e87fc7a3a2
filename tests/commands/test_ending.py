"""Ends of commands: whatever is raised, one line and a code of the contract, and 1 for a failed gate alone."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import NoReturn

import pytest
import typer

from scorer.commands import check, doctor
from scorer.commands.ending import GONE
from scorer.errors import ScorerError
from scorer.system.waiting import Terminated
from tests.commands.conftest import CommandLine

ASKED = ["check", "--triples", "a | b | c", "--text", "t"]
ENDINGS: list[tuple[BaseException, int, str | None]] = [
    (KeyError("k"), 2, "internal error: KeyError: 'k'; run again with --verbose to see the traceback"),
    (TypeError("one\ntwo \x1b[2J"), 2, "internal error: TypeError: one two <U+001B>[2J; run again"),
    (MemoryError(), 2, "out of memory"),
    (RuntimeError("can't start new thread"), 2, "ulimit -v"),
    (OSError(28, "No space left on device", "f"), 2, "scorer: No space left on device: f"),
    (BrokenPipeError(32, "Broken pipe"), 2, "Broken pipe"),
    (EOFError(), 2, "internal error: EOFError"),
    (KeyboardInterrupt(), 130, "interrupted; the same command resumes"),
    (Terminated(), 143, "terminated; the same command resumes"),
    (typer.Abort(), 130, "interrupted"),
    (typer.Exit(3), 3, None),
    (SystemExit(1), 2, None),
    (SystemExit("words"), 2, "words"),
    (ScorerError("what\nand where"), 2, "scorer: what and where"),
]


def failing(monkeypatch: pytest.MonkeyPatch, module: object, name: str, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr(module, name, fail)


@pytest.mark.parametrize(("error", "code", "line"), ENDINGS, ids=lambda value: str(type(value).__name__))
def test_whatever_a_command_raises(
    error: BaseException, code: int, line: str | None, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, check, "open_scorer", error)
    ended, out, errors = command_line(*ASKED)
    assert (ended, out) == (code, "")
    assert len(errors.splitlines()) == (0 if line is None else 1)
    assert (line or "") in errors


def test_what_is_raised_outside_of_any_command(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, doctor, "runtime_lines", ZeroDivisionError())
    code, _, errors = command_line("--version")
    (line,) = errors.splitlines()
    assert (
        code == 2 and line.startswith("scorer: ") and line.endswith("; run again with --verbose to see the traceback")
    )


def test_verbose_shows_the_trace(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, check, "open_scorer", KeyError("k\x1b[2J"))
    for arguments in (["--verbose", *ASKED], [*ASKED, "--verbose"]):
        code, _, errors = command_line(*arguments)
        assert code == 2 and "Traceback (most recent call last)" in errors and "in fail" in errors
        assert "\x1b" not in errors and "run again" not in errors
    assert "Traceback" not in command_line(*ASKED)[2]


def test_a_package_that_is_too_old_is_named(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, check, "open_scorer", ImportError("cannot import name 'x' from 'numpy'"))
    assert "internal error: ImportError" in command_line(*ASKED)[2]
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.9" if name == "numpy" else version(name))
    errors = command_line(*ASKED)[2]
    assert "scorer: needs numpy " in errors and " or newer; found 0.9 (cannot import name 'x'" in errors


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        ("rank in", "rank"),
        ("gates check o --gates g.toml", "gates check"),
        ("run in --out o --bundle b --prune", "--prune"),
        ("convert quintd in", "quintd"),
    ],
)
def test_what_is_gone_is_one_line_that_says_what_to_use(arguments: str, row: str, command_line: CommandLine) -> None:
    code, _, errors = command_line(*arguments.split())
    (line,) = errors.splitlines()
    assert code == 2 and line.endswith(GONE[row])


def test_what_is_gone_hides_nothing_that_exists(command_line: CommandLine, tmp_path: Path) -> None:
    code, _, errors = command_line("audit", str(tmp_path), "--report", "rank")
    assert code == 2 and "is gone" not in errors
    code, _, errors = command_line()
    assert code == 2 and "Usage: scorer [OPTIONS] COMMAND" in errors and "is gone" not in errors


def test_bash_completes_commands_and_options(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SCORER_COMPLETE", "complete_bash")
    for words, expected in (
        ("scorer gates i", "init"),
        ("scorer audit --base", "--baseline"),
        ("scorer run data --bundle em", "embedded"),
        ("scorer run data --bundle bundles/", ""),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        code, found, errors = command_line()
        assert (code, found.split(), errors) == (0, expected.split(), "")
