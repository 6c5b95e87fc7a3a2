"""The options that a scorer is set up with: the same ones in every command, from one declaration."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer import ColumnNames
from scorer.commands import app
from scorer.commands.check import check_command
from scorer.commands.plan import plan_command
from scorer.commands.run import run_command
from scorer.commands.settings import COLUMN_OPTIONS, OPTIONS
from scorer.scoring.settings import Settings
from tests.bundles import make_bundle

NOT_OF_THE_OUTPUT = {
    "out": "where a run writes",
    "prune": "what a run may remove",
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
    assert {"bundle", "columns", "documents", *OPTIONS} == {one.name for one in fields(Settings)}
    assert {"sentences", "unsupported_numbers", *COLUMN_OPTIONS} == {one.name for one in fields(ColumnNames)}


def test_a_plan_takes_every_option_that_an_output_of_a_run_depends_on() -> None:
    run, plan, check = map(parameters, (run_command, plan_command, check_command))
    assert run.keys() - NOT_OF_THE_OUTPUT.keys() == plan.keys() - {"out", "as_json"}
    for name in run.keys() & plan.keys() - {"out", "as_json"}:
        assert str(run[name]) == str(plan[name])
    for name in OPTIONS:
        assert str(run[name]) == str(check[name])


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("settings") / "tiny")


@pytest.mark.parametrize(
    "asked", [("--details",), ("--prefix", "m_"), ("--limit", "2"), ("--missing-template", "error", "--keep", "text")]
)
def test_a_plan_knows_what_a_run_with_the_same_options_has_done(
    tmp_path: Path, bundle: Path, asked: tuple[str, ...]
) -> None:
    (tmp_path / "templates.json").write_text('{"eatType": "<subject> is a <object>."}')
    table = {"text": ["A is a pub."] * 3, "mr": ["name[A], eatType[pub]"] * 3}
    if "--prefix" in asked:
        table["fine"] = ["OK"] * 3
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    common = [
        *(str(tmp_path / "a.parquet"), "--bundle", str(bundle), "--out", str(tmp_path / "out")),
        *("--templates", str(tmp_path / "templates.json"), "--json"),
    ]
    ran = CliRunner().invoke(app, ["run", *common, *asked])
    assert ran.exit_code == 0, ran.output
    planned = CliRunner().invoke(app, ["plan", *common, *asked])
    assert planned.exit_code == 0, planned.output
    found = json.loads(planned.stdout)
    assert (found["shards"]["usable"], found["shards"]["skipped"]) == (1, 1)
    assert found["rows"]["all"] == json.loads(ran.stdout)["rows"]["in"]
    without = CliRunner().invoke(app, ["plan", *common])
    if "--prefix" in asked:
        assert without.exit_code == 2 and "--prefix" in without.stderr
    else:
        assert json.loads(without.stdout)["shards"]["skipped"] == 0
