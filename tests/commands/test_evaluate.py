"""The command `evaluate`: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from tests.evaluation.scored import save, scored
from tests.run.calls import scorer


def test_json_counts_errors_as_not_ok_and_the_full_form_prints_every_table(tmp_path: Path) -> None:
    columns = {
        "gold_fine": ["OK", "OK", "OK", "hallucination"],
        "gold_suspect": [True, False, False, False],
        "human_semantics": [3.0, 1.0, 2.0, 3.0],
        "meteor": [0.1, 0.2, 0.3, 0.4],
    }
    out = save(
        scored(["OK", "omission", None, "OK"], **columns, system=list("abab")), tmp_path / "out" / "x.parquet"
    ).parent
    result = scorer("evaluate", out, "--json")
    report = json.loads(result.stdout)
    assert (report["rows"], report["rough"]["accuracy"]) == (4, 0.25)
    assert "1 of 4 rows have errors; they count as not_OK" in result.stderr
    options = ("--full", "--metric", "all", "--calibration", "--disagreements", tmp_path / "wrong.parquet")
    shown = scorer("evaluate", out, *options).stdout
    for expected in (
        "hallucination recall", "trivial: always OK", "without suspect gold", "By system", "95% interval", "ROC AUC",
        "Correlations with human ratings", "Spearman of all metrics", "expected calibration error",
    ):  # fmt: skip
        assert expected in shown
    (line,) = (one.split() for one in shown.splitlines() if one.startswith("human_semantics  meteor"))
    assert line[2:4] == ["yes", "+0.105"], "it sees references"
    assert pq.read_table(tmp_path / "wrong.parquet").num_rows == 3
