from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from scorer.commands import app
from tests.run.calls import scorer


def test_one_row_is_explained_check_by_check(tiny: Path) -> None:
    row = ["--triples", "The Mill | eatType | pub ++ The Mill | area | riverside", "--text", "The Mill is a pub."]
    assert "text → fact 1" in scorer("check", *row, "--bundle", tiny).stdout
    as_json = json.loads(scorer("check", *row, "--bundle", tiny, "--json").stdout)
    assert len(as_json["checks"]) == 3
    assert as_json["signature"].startswith("model:tiny@")
    assert "note: empty_text" in scorer("check", *row[:2], "--text", "", "--bundle", tiny).stdout


def test_the_console_shows_an_example_and_survives_nonsense(tiny: Path) -> None:
    typed = 'help\nnonsense\n\n[["The Mill", "eatType", "pub"]]\n\nThe Mill is a pub.\nquit\nA | b | c\nA b c.\n'
    result = CliRunner().invoke(app, ["check", "--bundle", str(tiny)], input=typed)
    assert result.exit_code == 0
    assert result.stdout.count("facts → text") == 2
    assert "triple 0 has one part and not three: 'nonsense'" in result.stderr
    assert "text> takes the text to check" in result.stderr


def test_doctor_reports_providers_and_the_bundle(tiny: Path) -> None:
    assert "CPUExecutionProvider" in scorer("-V").stdout
    found = json.loads(scorer("doctor", "--bundle", tiny, "--json").stdout)
    assert found["providers"]["CPUExecutionProvider"] == "starts"
    assert found["bundle"]["report"]["agreement"] == 1.0
    assert "no bundle at" in scorer("doctor", "--bundle", tiny / "nowhere", code=2).stderr
