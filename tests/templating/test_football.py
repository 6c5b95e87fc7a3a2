"""The loop for a new table on matches that nobody worded for it: try, write, run, compare with the truth."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT
from tests.run.calls import scorer

MATCHES = ROOT.parent / "shared" / "cases" / "football"
COLUMNS = "home,away,home_goals,away_goals,stadium,attendance,date,referee,man_of_the_match"


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not MATCHES.exists(), reason="needs ../shared/cases/football")
@pytest.mark.timeout(1800)
def test_what_it_proposes_labels_most_matches_right(tmp_path: Path) -> None:
    data, out = MATCHES / "matches.csv", tmp_path / "out"
    given = ["--text-column", "output", "--attributes-column", COLUMNS, "--subject-column", "match"]
    said = scorer("templates", "try", data, "--bundle", "embedded", *given, "--write", tmp_path / "t.json").stdout
    scorer("run", data, "--out", out, *shlex.split(said.splitlines()[-1])[5:])
    with (MATCHES / "truth.csv").open() as file:
        truth = [row["gold_fine"] == "OK" for row in csv.DictReader(file)]
    (scored,) = out.glob("*.parquet")
    labels = [label == "OK" for label in pq.read_table(scored)["fine"].to_pylist()]
    right = sum(label == true for label, true in zip(labels, truth, strict=True)) / len(truth)
    assert right >= 0.85, f"ROUGH {right:.3f}"
