from __future__ import annotations

from pathlib import Path

import pytest

from scorer.commands.gone import GONE
from tests.commands.conftest import CommandLine


def test_one_line_says_what_to_use_and_hides_nothing_that_exists(tmp_path: Path, command_line: CommandLine) -> None:
    for arguments, row in (
        ("config --json", "config"),
        ("run in --out o --bundle b --report r.html", "run --report"),
        ("run in --out o --openlineage f", "--openlineage"),
        ("gates check o --gates g.toml", "gates check"),
        ("audit o --reference p", "audit --reference"),
        ("sample o --file l.csv --page l.html", "sample --page"),
        ("rate o --labels l.csv --save r.json", "rate --save"),
        ("run in --out o --bundle b --precision openvino-int8", "openvino-int8"),
    ):
        code, _, errors = command_line(*arguments.split())
        (line,) = errors.splitlines()
        assert code == 2 and line.endswith(GONE[row])
    code, _, errors = command_line("audit", str(tmp_path), "--report", "config")
    assert code == 2 and "is gone" not in errors


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
