"""The Python interface as type checkers and editors see it, and what they read it from."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from scorer import ColumnNames, Scorer, ScorerOptions
from scorer.commands.options import ColumnOptions, ModelOptions
from scorer.errors import UsageError
from scorer.integrations.ray import ScoreBatches
from scorer.scoring.settings import Settings
from tests.conftest import ROOT

USER_CODE = Path(__file__).parent / "typed" / "user_code.py"


def test_mypy_strict_finds_what_is_wrong_in_a_user_s_code_and_nothing_else(tmp_path: Path) -> None:
    """In a folder of its own, as a user has it; the package is found on the path, by its ``py.typed``."""
    source = USER_CODE.read_text(encoding="utf-8")
    (tmp_path / "user_code.py").write_text(source, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text("[mypy]\n")
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", "--no-error-summary"),
            *("--output", "json", "--cache-dir", str(ROOT / ".mypy_cache" / "user_code")),
            "user_code.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert not checked.stderr and checked.stdout, checked.stderr
    reported = [json.loads(line) for line in checked.stdout.splitlines()]
    errors = {(error["line"], error["code"]) for error in reported if error["severity"] == "error"}
    wrong = enumerate(source.splitlines(), start=1)
    marks = {(number, code) for number, line in wrong for code in line.partition("# wrong: ")[2].split()}
    assert len(marks) > 15 and errors == marks, checked.stdout


def test_the_types_and_defaults_of_a_setting_are_the_same_everywhere() -> None:
    """In the settings, for type checkers, in ``help(Scorer)`` and as the option of a command."""
    defaults = vars(Settings("embedded"))
    hints = {name: hint for name, hint in get_type_hints(Settings).items() if name != "bundle"}
    assert get_type_hints(ScorerOptions) == hints
    for function, own in ((Scorer, {"budgets", "log"}), (Scorer.embedded, set()), (ScoreBatches, set())):
        parameters = inspect.signature(function).parameters
        assert parameters.keys() - own - {"bundle"} == hints.keys()
        for name in hints:
            assert parameters[name].default == defaults[name], name
            assert parameters[name].annotation == Settings.__annotations__[name], name
    for option in fields(ModelOptions):
        assert option.name == "bundle" or option.default == defaults[option.name]
    assert ModelOptions(bundle="embedded").settings(ColumnOptions()) == Settings("embedded")


@pytest.mark.parametrize("call", [Scorer.embedded, lambda **options: Scorer("nowhere", **options)])
@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"precison": "fp16"}, TypeError, "Scorer has no option 'precison'; did you mean precision? Its options are"),
        ({"xyz": 1}, TypeError, "Scorer has no option 'xyz'; its options are templates, protocol, "),
        ({"protocol": "papr"}, UsageError, "protocol is 'papr'; write one of paper, nlgi_eval, factspotter"),
        ({"device": 3}, TypeError, "device is 3 (int); write one of auto, cpu, cuda, cuda:N"),
        ({"precision": 16}, TypeError, "precision is 16 (int); write one of auto, fp32, fp16, int8"),
        ({"threads": "2"}, TypeError, "threads is '2' (str); its type is int | None"),
    ],
)
def test_a_wrong_option_is_named_with_its_choices(
    call: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as refused:
        call(**options)
    assert str(refused.value).startswith(message) and "\n" not in str(refused.value)


def test_a_wrong_name_of_a_column_is_named_with_the_right_ones() -> None:
    with pytest.raises(TypeError) as refused:
        ColumnNames(attributs="made")  # type: ignore[call-arg]  # what is tested
    assert str(refused.value).startswith(
        "ColumnNames has no option 'attributs'; did you mean attributes? Its options are text, triples, "
    )
    names = ColumnNames("said", attributes="brand,weight")
    assert (names.text, replace(names, subject="product").subject) == ("said", "product")
    assert pickle.loads(pickle.dumps(names)) == names
    assert list(inspect.signature(ColumnNames).parameters) == [field.name for field in fields(ColumnNames)]
