"""Settings from ``scorer.toml`` and the environment: options override variables, and these the file."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import typer

from scorer.commands import app
from scorer.commands.options import configured
from tests.commands.conftest import CommandLine
from tests.conftest import ROOT


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
