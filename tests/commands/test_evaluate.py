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
    assert (report["rows"], report["rough"]["accuracy"]) == (4, 0.25)
    assert "1 of 4 rows have errors; they count as not_OK" in result.stderr


def test_the_full_form_names_every_comparison(out: Path) -> None:
    result = scorer("evaluate", out, "--full", "--against", "paper")
    for expected in ("hallucination recall", "trivial: always OK", "By system", "95% interval", "E2E Default", "0.911"):
        assert expected in result.stdout
