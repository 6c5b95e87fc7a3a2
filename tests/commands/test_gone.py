"""What other versions had is answered with one line that names what to use, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.commands.gone import GONE
from tests.commands.conftest import CommandLine


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        (["config", "--json"], "config"),
        (["run", "in", "--out", "o", "--bundle", "b", "--report", "r.html"], "run --report"),
        (["run", "in", "--out", "o", "--openlineage", "f"], "--openlineage"),
        (["run", "in", "--out", "o", "--bundle", "b", "--precision", "openvino-int8"], "openvino-int8"),
    ],
)
def test_one_line_says_what_to_use(arguments: list[str], row: str, command_line: CommandLine) -> None:
    code, _, errors = command_line(*arguments)
    assert code == 2
    (line,) = errors.splitlines()
    assert line.endswith(GONE[row])


def test_a_row_hides_nothing_that_exists(tmp_path: Path, command_line: CommandLine) -> None:
    code, _, errors = command_line("audit", str(tmp_path), "--report", "config")
    assert code == 2 and "is gone" not in errors
