"""The whole program in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scorer.commands import app
from scorer.commands.ending import run_app

CommandLine = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Call ``scorer`` with arguments: exit code, stdout and stderr. Only the streams are those of the test."""
    monkeypatch.setattr("scorer.commands.ending.install", lambda: (None, None))
    monkeypatch.setattr("scorer.commands.ending.was_lost", lambda file: None)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["scorer", *arguments])
        code = run_app(app)
        return code, *capsys.readouterr()

    return run
