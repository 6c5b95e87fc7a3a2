"""The command `evaluate`: what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evaluation.scored import save, scored
from tests.run.calls import scorer


@pytest.fixture
def out(tmp_path: Path) -> Path:
    table = scored(["OK", "omission", None, "OK"], gold_fine=["OK", "OK", "OK", "hallucination"], system=list("abab"))
    return save(table, tmp_path / "out" / "x.parquet").parent


def test_json_counts_errors_as_not_ok(out: Path) -> None:
    result = scorer("evaluate", out, "--json")
    report = json.loads(result.stdout)
    assert report["rows"] == 4
    assert report["rough"]["accuracy"] == 0.25
    assert "1 of 4 rows have errors; they count as not_OK" in result.stderr


def test_groups_have_their_intervals_on_the_console(tmp_path: Path) -> None:
    table = scored(["OK", "omission"] * 12, gold_fine=["OK"] * 24, system=["one"] * 24)
    path = save(table, tmp_path / "x.parquet")
    found = json.loads(scorer("evaluate", path, "--by", "system", "--json").stdout)
    low, high = found["by"]["system"][0]["rough"]["interval"]["accuracy"]
    shown = scorer("evaluate", path, "--by", "system").stdout.split("By system")[1]
    line = next(line for line in shown.splitlines() if "95% interval" in line)
    assert f"{low:.3f} to {high:.3f}" in line


def test_the_full_form_names_every_comparison(out: Path) -> None:
    result = scorer("evaluate", out, "--full", "--against", "paper")
    for expected in ("hallucination recall", "trivial: always OK", "By system", "E2E Default", "0.911"):
        assert expected in result.stdout
