from __future__ import annotations

import json

import numpy as np
import pytest

from scorer.evaluation.challenge import Answers, measure, read_challenge
from tests.commands.conftest import CommandLine
from tests.run.calls import scorer


def test_a_low_accuracy_is_exit_1_and_the_tables_are_printed(
    command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = read_challenge()
    passes = Answers(np.zeros(len(table), np.int8), np.full(len(table), 0.9), np.full(len(table), 0.9))
    result = measure(table, passes, metric="all OK", signature="none", rows=len(table))
    monkeypatch.setattr("scorer.commands.challenge._judge", lambda *arguments: result)
    code, shown, errors = command_line("challenge", "embedded", "--fail-under", "0.7")
    assert code == 1 and "the balanced accuracy 0.635 is below 0.7 (--fail-under)" in errors
    for expected in ("5,200 pairs, revision 3", "number by one", "date format", "irrelevant facts do not matter"):
        assert expected in shown
    assert command_line("challenge", "embedded", "--fail-under", "0.6", "--json")[0] == 0


@pytest.mark.slow
def test_the_figures_of_the_embedded_model() -> None:
    """As its card and docs/figures.md have them."""
    found = json.loads(scorer("challenge", "embedded", "--json").stdout)
    assert (found["pairs"], found["rows"], found["errors"], len(found["checks"])) == (5200, 11391, 0, 4)
    assert found["signature"].startswith("model:embedded")
    assert found["score"] == pytest.approx(0.928, abs=0.0006)
    assert found["sensitivity"]["value"] == pytest.approx(0.943, abs=0.0006)
    assert found["specificity"]["value"] == pytest.approx(0.920, abs=0.0006)
