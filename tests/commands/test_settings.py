"""The options that a scorer is set up with: the same ones in every command, from one declaration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import pytest
from typer.testing import CliRunner

from scorer import ColumnNames
from scorer.commands.ending import App
from scorer.commands.options import ColumnOptions, ModelOptions
from scorer.scoring.settings import Settings
from scorer.system.arguments import option
from tests.commands.test_user_files import DECLARED

NOT_OF_THE_OUTPUT = {
    *("out", "allow_stale", "part", "devices", "ray", "ray_cpus", "rescore", "max_error_rate", "as_json"),
}
"""Parameters of ``scorer run`` that no output depends on; all others are of ``scorer plan`` too."""


def test_every_setting_has_an_option_with_its_default() -> None:
    assert {"columns", *(one.name for one in fields(ModelOptions))} == {one.name for one in fields(Settings)}
    columns = {one.name.removesuffix("_column") for one in fields(ColumnOptions)}
    assert {"sentences", *columns} == {one.name for one in fields(ColumnNames)}
    assert ModelOptions(bundle="embedded").settings(ColumnOptions()) == Settings("embedded")


def test_a_plan_takes_every_option_that_an_output_of_a_run_depends_on() -> None:
    run, plan, check = (DECLARED[(name,)] for name in ("run", "plan", "check"))
    assert run.keys() - NOT_OF_THE_OUTPUT == plan.keys() - {"out", "as_json"}
    for name in run.keys() & plan.keys() - {"out", "as_json"}:
        assert run[name] == plan[name]
    for one in fields(ModelOptions):
        assert one.name == "bundle" or run[one.name] == check[one.name]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A field of each kind, and one that is no option."""

    needed: str = option("Needed.", "X")
    many: tuple[int, ...] = option("Several.", "N", (), name="--one", min=2)
    pair: tuple[str, str] | None = option("Two.", "A B", None)
    choice: Literal["a", "b"] = option("A choice.", default="a", variable=True)
    parsed: float | str = option("Parsed.", default=0.0, parser=float)
    flag: bool = option("A flag.", default=False)
    internal: int = 7


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--needed x", Sample(needed="x")),
        ("--needed x --one 2 --one 3 --flag", Sample(needed="x", many=(2, 3), flag=True)),
        ("--needed x --pair a b --choice b --parsed 1.5", Sample(needed="x", pair=("a", "b"), choice="b", parsed=1.5)),
        ("--choice b", None),
        ("--needed x --one 1", None),
        ("--needed x --choice c", None),
    ],
)
def test_a_command_gets_its_options_as_an_object(words: str, expected: Sample | None) -> None:
    given: list[Any] = []
    app = App()

    @app.command("sample")
    def command(sample: Sample, quick: bool = option("Quick.", default=False)) -> None:
        given.extend((sample, quick))

    assert CliRunner().invoke(app, words.split()).exit_code == (0 if expected else 2)
    assert given == ([expected, False] if expected else [])
    help = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    assert "--needed X Needed. [required]" in help and "D2T_CHOICE" in help and "internal" not in help
