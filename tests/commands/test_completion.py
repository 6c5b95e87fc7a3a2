"""Shell completion, through the entry point of the program."""

from __future__ import annotations

import pytest

from tests.commands.conftest import CommandLine


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("scorer au", ["audit"]),
        ("scorer gates c", ["check"]),
        ("scorer audit --base", ["--baseline"]),
        ("scorer run data --bundle em", ["embedded"]),
        ("scorer run data --bundle bundles/", []),
    ],
)
def test_bash_completes_commands_and_options(
    words: str, expected: list[str], command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    monkeypatch.setenv("_SCORER_COMPLETE", "complete_bash")
    code, found, errors = command_line()
    assert (code, found.split(), errors) == (0, expected, "")
