"""The commands `sample`, `rate` and `evaluate`: what they write and print, and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer.evaluation.rates.label_file import design_path
from tests.evaluation.rates.outputs import output
from tests.evaluation.rates.test_estimates import read, write
from tests.evaluation.scored import save, scored
from tests.run.calls import scorer


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return output(tmp_path_factory.mktemp("rates") / "out")


def fill(path: Path, out: Path) -> Path:
    """Fill in the truth, which the made-up output has as a column."""
    items = json.loads(design_path(path).read_text())["items"]
    lines = read(path)
    for line in lines:
        item = items[line["item"]]
        line["label"] = pq.read_table(out / item["file"], columns=["truth"])["truth"][item["row"]].as_py()
    write(path, lines)
    return path


def test_from_sample_to_rate(out: Path, tmp_path: Path) -> None:
    file, page = tmp_path / "labels.csv", tmp_path / "labels.html"
    made = scorer("sample", out, "--rows", 80, "--file", file, "--page", page)
    assert made.stdout.splitlines() == [str(file), str(tmp_path / "labels.second.csv"), str(page)]
    assert "Label 80 rows" in page.read_text("utf-8")
    assert "exists, and may hold labels" in scorer("sample", out, "--file", file, code=2).stderr
    fill(file, out)
    shown = scorer("rate", out, "--labels", file, "--by", "system").stdout
    for expected in ("labels alone", "By system", "hallucination"):
        assert expected in shown
    found = json.loads(scorer("rate", out, "--labels", file, "--save", tmp_path / "r.json", "--json").stdout)
    assert found["rows"] == 400
    first = found["rates"][0]
    assert first["rate"] == "not_ok_rate" and first["labels"] == 80
    assert first["true"]["low"] < first["true"]["value"] < first["true"]["high"]
    later = scorer("rate", out, "--calibration", tmp_path / "r.json").stdout
    assert "nothing tests whether the metric is still right as often" in later
    both = scorer("rate", out, "--calibration", tmp_path / "r.json", "--labels", file).stdout
    assert "the labels agree with the calibration" in both and "if the metric is right as often" not in both


def test_a_width_counts_the_rows_of_the_first_sample(out: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.csv"
    scorer("sample", out, "--rows", 60, "--file", first)
    fill(first, out)
    made = scorer("sample", out, "--width", 0.1, "--pilot", first, "--file", tmp_path / "more.csv").stderr
    needed = int(made.split(" labels give the not_OK rate")[0].split()[-1])
    drawn = len(json.loads((tmp_path / "more.design.json").read_text())["items"])
    assert needed > 70 and drawn == needed - 60
    assert "assumed: the metric is wrong in 20%" not in made


def test_a_column_of_ratings(out: Path) -> None:
    result = scorer("rate", out, "--label-column", "rating", "--threshold", "2")
    assert "variances are between inputs" in result.stderr
    assert "not_OK" in result.stdout and "omission" not in result.stdout


def test_what_cannot_be_rated_exits_2(out: Path) -> None:
    for options, message in (
        ("", "no labels: pass --labels"),
        ("--labels x.csv --label-column truth", "both given"),
        ("--label-column truth --by none", "no column 'none'"),
    ):
        assert message in scorer("rate", out, *options.split(), code=2).stderr


def test_json_counts_errors_as_not_ok_and_the_full_form_names_every_comparison(tmp_path: Path) -> None:
    table = scored(["OK", "omission", None, "OK"], gold_fine=["OK", "OK", "OK", "hallucination"], system=list("abab"))
    out = save(table, tmp_path / "out" / "x.parquet").parent
    result = scorer("evaluate", out, "--json")
    report = json.loads(result.stdout)
    assert (report["rows"], report["rough"]["accuracy"]) == (4, 0.25)
    assert "1 of 4 rows have errors; they count as not_OK" in result.stderr
    result = scorer("evaluate", out, "--full", "--against", "paper")
    for expected in ("hallucination recall", "trivial: always OK", "By system", "95% interval", "E2E Default", "0.911"):
        assert expected in result.stdout
