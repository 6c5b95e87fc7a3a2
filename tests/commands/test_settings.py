"""The options that a scorer is set up with: the same ones in every command, from one declaration."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

from scorer import ColumnNames
from scorer.commands.check import check_command
from scorer.commands.plan import plan_command
from scorer.commands.run import run_command
from scorer.commands.settings import COLUMN_OPTIONS, OPTIONS
from scorer.scoring.settings import Settings

NOT_OF_THE_OUTPUT = {
    "out": "where a run writes",
    "allow_stale": "what a run goes on beside",
    "part": "which process scores a shard",
    "devices": "which processes score",
    "ray": "which processes score",
    "ray_cpus": "which processes score",
    "rescore": "what a run may replace",
    "max_error_rate": "the exit code",
    "as_json": "what is printed",
}
"""Parameters of ``scorer run`` that no output depends on; all others are of ``scorer plan`` too."""


def parameters(command: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(command).parameters)


def test_every_setting_has_an_option() -> None:
    assert {"bundle", "columns", *OPTIONS} == {one.name for one in fields(Settings)}
    assert {"sentences", *COLUMN_OPTIONS} == {one.name for one in fields(ColumnNames)}


def test_a_plan_takes_every_option_that_an_output_of_a_run_depends_on() -> None:
    run, plan, check = map(parameters, (run_command, plan_command, check_command))
    assert run.keys() - NOT_OF_THE_OUTPUT.keys() == plan.keys() - {"out", "as_json"}
    for name in run.keys() & plan.keys() - {"out", "as_json"}:
        assert str(run[name]) == str(plan[name])
    for name in OPTIONS:
        assert str(run[name]) == str(check[name])
