"""The commands `evaluate` and `baseline`: what they print and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands.baseline import baseline_command
from scorer.commands.ending import App
from scorer.commands.evaluate import evaluate_command
from tests.evaluation.scored import SIGNATURE, save, scored

app = App()
app.command("evaluate")(evaluate_command)
app.command("baseline")(baseline_command)
RUNNER = CliRunner()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    table = scored(["OK", "omission", None, "OK"], gold_fine=["OK", "OK", "OK", "hallucination"], system=list("abab"))
    return save(table, tmp_path / "out" / "x.parquet").parent


def test_json_counts_errors_as_not_ok(out: Path) -> None:
    result = RUNNER.invoke(app, ["evaluate", str(out), "--json"])
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["rows"] == 4
    assert report["rough"]["accuracy"] == 0.25
    assert "1 of 4 rows have errors; they count as not_OK" in result.stderr


def test_groups_have_their_intervals_on_the_console(tmp_path: Path) -> None:
    table = scored(["OK", "omission"] * 12, gold_fine=["OK"] * 24, system=["one"] * 24)
    path = save(table, tmp_path / "x.parquet")
    found = json.loads(RUNNER.invoke(app, ["evaluate", str(path), "--by", "system", "--json"]).stdout)
    low, high = found["by"]["system"][0]["rough"]["interval"]["accuracy"]
    shown = RUNNER.invoke(app, ["evaluate", str(path), "--by", "system"]).stdout.split("By system")[1]
    line = next(line for line in shown.splitlines() if "95% interval" in line)
    assert f"{low:.3f} to {high:.3f}" in line


def test_the_full_form_names_every_comparison(out: Path) -> None:
    result = RUNNER.invoke(app, ["evaluate", str(out), "--full", "--against", "paper"])
    assert result.exit_code == 0, result.stderr
    for expected in (
        "ROUGH accuracy",
        "hallucination recall",
        "trivial: always OK",
        "By system",
        "E2E Default",
        "0.911",
    ):
        assert expected in result.stdout


def test_mixed_signatures_exit_2(out: Path) -> None:
    save(scored(["OK"], gold_fine=["OK"]), out / "y.parquet", SIGNATURE.replace("fp32", "fp16"))
    result = RUNNER.invoke(app, ["evaluate", str(out)])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "prec: fp32 → fp16" in result.stderr


def test_baseline_and_evaluate(tmp_path: Path) -> None:
    table = scored(["OK"]).select(["triples"])
    table = table.append_column("text", [["An o."]]).append_column("gold_fine", [["OK"]])
    pq.write_table(table, tmp_path / "in.parquet")
    written = tmp_path / "keywords.parquet"
    result = RUNNER.invoke(app, ["baseline", "keywords", str(tmp_path / "in.parquet"), "--out", str(written)])
    assert result.exit_code == 0, result.stderr
    assert "1 rows by keywords" in result.stderr
    result = RUNNER.invoke(app, ["evaluate", str(written), "--json"])
    assert json.loads(result.stdout)["rough"]["accuracy"] == 1
