"""Rates from labels: against the truth of made-up outputs, and against the metric's own rates."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorer.errors import ColumnError, InputError, UsageError
from scorer.evaluation.rates.calibration import saved, shift, still_holds, transfer
from scorer.evaluation.rates.estimates import TrueRate, true_rates
from scorer.evaluation.rates.given import from_column, from_file
from scorer.evaluation.rates.items import make_items
from scorer.evaluation.rates.label_file import write_items
from scorer.evaluation.rates.population import Population, read_population
from scorer.evaluation.rates.sampling import draw_sample
from scorer.metric.templates import Templates
from scorer.scoring.rates_file import RatesFile
from tests.evaluation.rates.outputs import output


def of(path: Path) -> Population:
    return read_population(path, ("system", "truth", "rating"))


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Population:
    return of(output(tmp_path_factory.mktemp("rates") / "out", 2000))


def labels(population: Population, path: Path, rows: int = 120, seed: int = 0, **change: Any) -> Path:
    """A sample, labelled with the truth. ``change``: columns to set in every line."""
    sample = draw_sample(population, rows, seed, "system")
    items = make_items(population, sample, Templates(), "system")
    lines = list(csv.DictReader(io.StringIO(write_items(items).decode("utf-8-sig"))))
    truth = population.scored.array("truth").to_pylist()
    for line, row in zip(lines, sample.rows.tolist(), strict=True):
        line.update({"label": truth[row], **change})
    write(path, lines)
    return path


def write(path: Path, lines: list[dict[str, str]], delimiter: str = ",") -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(lines)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def rate(found: list[TrueRate], name: str, group: str | None = None) -> TrueRate:
    return next(one for one in found if one.rate == name and one.group == group)


def test_the_interval_has_the_truth_and_the_metric_alone_has_not(population: Population, tmp_path: Path) -> None:
    right = population.scored.array("truth").to_pylist().count("omission") / 2000
    inside = saved_labels = 0
    for seed in range(8):
        found = true_rates(population, from_file(population, labels(population, tmp_path / "l.csv", seed=seed)))
        one = rate(found, "not_ok_rate")
        inside += one.true.low <= right <= one.true.high
        saved_labels += one.saved
        assert one.labels == 120 and one.rows == 2000
        assert one.metric == float((population.fine != 0).mean())
    assert inside >= 6  # of 8 at .95, fewer happens once in two hundred
    assert saved_labels > 8 * 60  # a metric that is right nine times in ten saves half as many again
    assert [one.rate for one in found] == ["not_ok_rate", "omission_rate", "hallucination_rate"]
    assert rate(found, "hallucination_rate").true.value == 0.0


def test_by_group_every_group_has_its_own_rate(population: Population, tmp_path: Path) -> None:
    found = true_rates(population, from_file(population, labels(population, tmp_path / "l.csv")), "system")
    groups = [one for one in found if one.group is not None and one.rate == "not_ok_rate"]
    assert [one.group for one in groups] == ["a", "b"]
    assert [one.rows for one in groups] == [1500, 500]
    assert sum(one.labels for one in groups) == 120
    assert all(one.true.width > rate(found, "not_ok_rate").true.width for one in groups)


def test_all_rows_labelled_give_the_rate_itself(population: Population) -> None:
    truth = np.array(population.scored.array("truth").to_pylist()) == "omission"
    for labelled in (from_column(population, "truth", None), from_column(population, "rating", 2.0)):
        one = rate(true_rates(population, labelled), "not_ok_rate")
        assert (one.true.value, one.true.low, one.true.high) == pytest.approx((truth.mean(),) * 3)
        assert one.more_to_halve is None
    assert {one.rate for one in true_rates(population, from_column(population, "rating", 2.0))} == {"not_ok_rate"}


def test_a_column_of_ratings_needs_a_threshold_and_one_of_labels_none(population: Population) -> None:
    with pytest.raises(ColumnError, match="--threshold"):
        from_column(population, "rating", None)
    with pytest.raises(ColumnError, match="remove it"):
        from_column(population, "truth", 1.0)
    with pytest.raises(ColumnError, match="no column 'none'"):
        from_column(population, "none", None)


def test_a_spreadsheets_semicolons_and_other_spellings(population: Population, tmp_path: Path) -> None:
    path = labels(population, tmp_path / "l.csv")
    before = true_rates(population, from_file(population, path))
    lines = read(path)
    for line in lines:
        line["label"] = {"OK": " ok", "omission": "Omission "}[line["label"]]
    write(path, lines, ";")
    assert true_rates(population, from_file(population, path)) == before


def test_rows_that_nobody_labelled_are_left_out(population: Population, tmp_path: Path) -> None:
    path = labels(population, tmp_path / "l.csv")
    lines = read(path)
    for line in lines[:30]:
        line["label"] = ""
    write(path, lines)
    labelled = from_file(population, path)
    assert labelled.skipped == 30
    assert rate(true_rates(population, labelled), "not_ok_rate").labels == 90
    assert sum(one.drawn for one in labelled.design) == 90


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "maybe"}, "line 2: label 'maybe'; write one of OK, omission"),
        ({"label": ""}, "no label yet"),
        ({"row": "9999"}, "has no row x/part-"),
        ({"row": "1x"}, "a number was changed"),
        ({"row_key": "00" * 16}, "is another row now"),
        ({"stratum_rows": "7"}, "rows in .* and 7 in the file"),
    ],
)
def test_a_file_that_was_changed_is_refused(
    population: Population, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        from_file(population, labels(population, tmp_path / "l.csv", **change))


def test_a_stratum_without_a_label_and_a_row_twice_are_refused(population: Population, tmp_path: Path) -> None:
    path = labels(population, tmp_path / "l.csv")
    lines = read(path)
    empty = [{**line, "label": "" if line["stratum"] == lines[0]["stratum"] else line["label"]} for line in lines]
    write(path, empty)
    with pytest.raises(InputError, match="would not be represented"):
        from_file(population, path)
    write(path, [*lines, lines[0]])
    with pytest.raises(InputError, match="is there twice"):
        from_file(population, path)


def test_labels_of_another_signature_are_refused(population: Population, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another signature"):
        from_file(population, labels(population, tmp_path / "l.csv", signature="model:other"))


def test_a_calibration_gives_the_rate_of_another_run(population: Population, tmp_path: Path) -> None:
    other = of(output(tmp_path / "other", 1200, seed=9))
    right = other.scored.array("truth").to_pylist().count("omission") / 1200
    inside = 0
    for seed in range(4):
        labelled = from_file(population, labels(population, tmp_path / "l.csv", rows=300, seed=seed))
        path = tmp_path / "rates.json"
        path.write_bytes(saved(population, true_rates(population, labelled), labelled, None).to_json())
        earlier = RatesFile.read(path, "--calibration")
        one = next(found for found in transfer(other, earlier) if found.rate == "not_ok_rate")
        inside += one.low <= right <= one.high
        assert (one.rows, one.labels) == (1200, 300)
    assert inside >= 3  # of 4 at .95, fewer happens once in seventy
    index = shift(other, earlier)
    assert index is not None and 0 <= index < 0.1

    agreeing = true_rates(other, from_file(other, labels(other, tmp_path / "m.csv", rows=200)))
    assert [holding.holds for holding in still_holds(agreeing, earlier)] == [True, True, True]
    worse = of(output(tmp_path / "worse", 1200, wrong=0.4, seed=4))
    contradicting = true_rates(worse, from_file(worse, labels(worse, tmp_path / "n.csv", rows=200)))
    found = {holding.rate: holding for holding in still_holds(contradicting, earlier)}
    assert not found["not_ok_rate"].holds and found["not_ok_rate"].p < 1e-6


def test_a_calibration_of_another_metric_is_refused(population: Population, tmp_path: Path) -> None:
    labelled = from_column(population, "truth", None)
    earlier = saved(population, true_rates(population, labelled), labelled, None)
    other = of(output(tmp_path / "other", 100, signature="model:other@1|metric:1"))
    with pytest.raises(UsageError, match="another signature"):
        transfer(other, earlier)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "schema 'list'"),
        ('{"schema": 99}', "schema 99"),
        ('{"schema": 1}', "out is 'missing'"),
    ],
)
def test_a_broken_file_of_rates_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "rates.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        RatesFile.read(path, "--calibration")
