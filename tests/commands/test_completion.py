"""Shell completion, through the entry point of the program."""

from __future__ import annotations

import pytest

from tests.commands.conftest import CommandLine


def test_bash_completes_commands_and_options(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SCORER_COMPLETE", "complete_bash")
    for words, expected in (
        ("scorer gates c", "check"),
        ("scorer audit --base", "--baseline"),
        ("scorer run data --bundle em", "embedded"),
        ("scorer run data --bundle bundles/", ""),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        code, found, errors = command_line()
        assert (code, found.split(), errors) == (0, expected.split(), "")
