"""Options: one declaration for all commands, settings from ``scorer.toml`` and the environment."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from scorer import ColumnNames
from scorer.commands import app
from scorer.commands.ending import App
from scorer.commands.options import ColumnOptions, ModelOptions, configured
from scorer.scoring.settings import Settings
from scorer.system.arguments import option
from tests.commands.conftest import CommandLine
from tests.commands.test_paths import DECLARED
from tests.conftest import ROOT

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


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty working directory and no variable of this program."""
    for name in list(os.environ):
        if name.startswith("D2T_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_an_option_is_stronger_than_a_variable_and_that_than_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine, tiny: Path
) -> None:
    """``--protocol``: by the signature of the verdict. The folder of the bundle is relative to the file."""
    (tmp_path / "tiny").symlink_to(tiny)
    (tmp_path / "scorer.toml").write_text('bundle = "tiny"\nprotocol = "nlgi_eval"\nchecks = "hallucination"\n')

    def signature(*more: str) -> str:
        code, out, errors = command_line("check", "--triples", "a | b | c", "--text", "t", "--json", *more)
        assert code == 0 and "note: from scorer.toml: --bundle, " in errors
        return str(json.loads(out)["signature"])

    assert signature().startswith("model:tiny@")
    assert "protocol:nlgi_eval|" in signature() and "checks:hallucination|" in signature()
    monkeypatch.setenv("D2T_PROTOCOL", "paper")
    assert "protocol:paper|" in signature()
    assert "protocol:nlgi_eval|" in signature("--protocol", "nlgi_eval")


BAD = {
    'bundel = "x"': "scorer.toml: unknown key 'bundel'; the keys are attributes_column, ",
    'protocol = "papr"': "--protocol",
    'text_column = ["a"]': "text_column is ['a']",
    'bundle = "~nosuchuser/b"': "scorer.toml: bundle: '~nosuchuser/b': there is no user 'nosuchuser'",
    "bundle =": "scorer.toml is not TOML",
}


@pytest.mark.parametrize(("content", "message"), BAD.items())
def test_an_invalid_file_is_refused(tmp_path: Path, content: str, message: str, command_line: CommandLine) -> None:
    (tmp_path / "scorer.toml").write_text(content)
    bundle = () if "bundle" in content else ("--bundle", "b")
    code, out, errors = command_line("run", "a.parquet", "--out", "out", *bundle)
    assert (code, out) == (2, "") and message in errors


def test_the_example_of_the_docs_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "using.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "scorer.toml").write_text(example)
    found = configured(typer.main.get_command(app))
    assert found["run"]["bundle"] == str(tmp_path / "bundles" / "roberta-large-mnli")
    assert found["audit"]["gates"] == [str(tmp_path / "gates.toml")]
    assert found["run"]["text_column"] == found["plan"]["text_column"] == "output.text"
