from __future__ import annotations

import json

import pytest

from tests.commands.conftest import CommandLine
from tests.run.calls import scorer


@pytest.mark.slow
def test_the_figures_of_the_embedded_model() -> None:
    """As its card and docs/figures.md have them."""
    found = json.loads(scorer("challenge", "embedded", "--json").stdout)
    assert (found["pairs"], found["rows"], found["errors"], len(found["checks"])) == (5200, 11391, 0, 4)
    assert found["signature"].startswith("model:embedded")
    assert found["score"] == pytest.approx(0.928, abs=0.0006)
    assert found["sensitivity"]["value"] == pytest.approx(0.943, abs=0.0006)
    assert found["specificity"]["value"] == pytest.approx(0.920, abs=0.0006)


def test_what_is_gone_is_one_line_that_says_where_it_went(command_line: CommandLine) -> None:
    for option, told in (
        ("--natural", "benchmarks.paper.challenge natural"),
        ("--write", "embedded/challenge.parquet"),
    ):
        code, _, errors = command_line("challenge", "embedded", option, "x")
        assert code == 2 and told in errors and errors.count("\n") == 1
    assert command_line("challenge")[0] == 2
