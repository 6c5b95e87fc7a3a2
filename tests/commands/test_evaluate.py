"""The command `evaluate`: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from tests.evaluation.scored import save, scored
from tests.run.calls import scorer


def test_json_counts_errors_as_not_ok_and_the_full_form_names_every_comparison(tmp_path: Path) -> None:
    table = scored(["OK", "omission", None, "OK"], gold_fine=["OK", "OK", "OK", "hallucination"], system=list("abab"))
    out = save(table, tmp_path / "out" / "x.parquet").parent
    result = scorer("evaluate", out, "--json")
    report = json.loads(result.stdout)
    assert (report["rows"], report["rough"]["accuracy"]) == (4, 0.25)
    assert "1 of 4 rows have errors; they count as not_OK" in result.stderr
    result = scorer("evaluate", out, "--full", "--disagreements", tmp_path / "wrong.parquet")
    for expected in ("hallucination recall", "trivial: always OK", "By system", "95% interval"):
        assert expected in result.stdout
    assert pq.read_table(tmp_path / "wrong.parquet").num_rows == 3
