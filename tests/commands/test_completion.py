"""Shell completion: the shell asks the program, through the real entry point."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def asked(words: str, *more: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "scorer", *more],
        env=os.environ | {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


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
def test_bash_completes_commands_and_options(words: str, expected: list[str]) -> None:
    assert asked(words, _SCORER_COMPLETE="complete_bash").split() == expected
