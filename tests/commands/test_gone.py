"""What other versions had is answered with one line that names what to use, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.commands import app
from scorer.commands.ending import run_app
from scorer.commands.gone import GONE


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        (["config"], "config"),
        (["config", "--json"], "config"),
        (["run", "in", "--out", "o", "--bundle", "b", "--report", "r.html"], "run --report"),
        (["run", "in", "--dry-run"], "run --dry-run"),
        (["run", "in", "--out", "o", "--openlineage", "f"], "--openlineage"),
        (["run", "in", "--out", "o", "--bundle", "b", "--precision", "openvino-int8"], "openvino-int8"),
    ],
)
def test_one_line_says_what_to_use(
    arguments: list[str], row: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("scorer.commands.ending.install", lambda: (None, None))
    monkeypatch.setattr("scorer.commands.ending.was_lost", lambda file: None)
    monkeypatch.setattr("sys.argv", ["scorer", *arguments])
    assert run_app(app) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(GONE[row])


def test_a_row_hides_nothing_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("scorer.commands.ending.install", lambda: (None, None))
    monkeypatch.setattr("scorer.commands.ending.was_lost", lambda file: None)
    monkeypatch.setattr("sys.argv", ["scorer", "audit", str(tmp_path), "--report", "config"])
    assert run_app(app) == 2
    assert "is gone" not in capsys.readouterr().err
