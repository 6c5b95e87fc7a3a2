"""Rates from labels: against the truth of made-up outputs, and against the metric's own rates."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from scorer.errors import InputError, UsageError
from scorer.evaluation.rates.calibration import saved, shift, still_holds, transfer
from scorer.evaluation.rates.estimates import Labelled, TrueRate, differences, true_rates
from scorer.evaluation.rates.given import from_column, from_files
from scorer.evaluation.rates.items import make_design, make_items
from scorer.evaluation.rates.label_file import design_path, write_design, write_items
from scorer.evaluation.rates.population import Drawn, Population, Stratum, read_population
from scorer.evaluation.rates.sampling import draw_sample
from scorer.metric.templates import Templates
from scorer.scoring.rates_file import RatesFile
from scorer.stats.multiple import holm, p_of_interval
from scorer.stats.post_stratified import Design, class_shares, interval
from tests.evaluation.rates.outputs import output
from tests.sweeps import sampled


def of(path: Path) -> Population:
    return read_population(path, ("system", "truth", "rating"))


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Population:
    return of(output(tmp_path_factory.mktemp("rates") / "out", 2000))


def labels(
    population: Population, path: Path, rows: int = 120, seed: int = 0, pilot: Labelled | None = None, **change: Any
) -> Path:
    """A sample, labelled with the truth. ``change``: columns to set in every line."""
    sample = draw_sample(population, rows, seed, "system", pilot)
    items = make_items(population, sample, Templates(), seed)
    lines = list(csv.DictReader(io.StringIO(write_items(items).decode("utf-8-sig"))))
    design_path(path).write_bytes(write_design(make_design(population, sample, items, 0, seed)))
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
        found = true_rates(population, from_files(population, [labels(population, tmp_path / "l.csv", seed=seed)]))
        one = rate(found, "not_ok_rate")
        inside += one.true.low <= right <= one.true.high
        saved_labels += one.saved
        assert one.labels == 120 and one.rows == 2000
        assert one.metric == float((population.fine != 0).mean())
    assert inside >= 6  # of 8 at .95, fewer happens once in two hundred
    assert saved_labels > 8 * 60  # a metric that is right nine times in ten saves half as many again
    assert [one.rate for one in found] == ["not_ok_rate", "omission_rate", "hallucination_rate"]
    assert rate(found, "hallucination_rate").true.value == 0.0


def test_all_rows_labelled_give_the_rate_itself(population: Population) -> None:
    truth = np.array(population.scored.array("truth").to_pylist()) == "omission"
    for labelled in (from_column(population, "truth", None), from_column(population, "rating", 2.0)):
        one = rate(true_rates(population, labelled), "not_ok_rate")
        assert (one.true.value, one.true.low, one.true.high) == pytest.approx((truth.mean(),) * 3)
        assert one.more_to_halve is None and one.labels_alone.width == pytest.approx(0)
    assert {one.rate for one in true_rates(population, from_column(population, "rating", 2.0))} == {"not_ok_rate"}


def test_a_spreadsheets_semicolons_other_spellings_and_unlabelled_rows(population: Population, tmp_path: Path) -> None:
    path = labels(population, tmp_path / "l.csv")
    before = true_rates(population, from_files(population, [path]))
    lines = read(path)
    for line in lines:
        line["label"] = {"OK": " ok", "omission": "Omission "}[line["label"]]
    write(path, lines, ";")
    assert true_rates(population, from_files(population, [path])) == before
    for line in lines[:30]:
        line["label"] = ""
    write(path, lines)
    labelled = from_files(population, [path])
    assert labelled.skipped == 30
    assert rate(true_rates(population, labelled), "not_ok_rate").labels == 90
    assert sum(one.drawn for one in labelled.design) == 90


def test_labels_of_a_second_sample_join_those_of_the_first(population: Population, tmp_path: Path) -> None:
    first = labels(population, tmp_path / "l.csv", 60)
    more = labels(population, tmp_path / "m.csv", 40, 1, from_files(population, [first]))
    found = from_files(population, [first, more])
    assert len(set(found.rows.tolist())) == sum(one.drawn for one in found.design) == 100
    with pytest.raises(InputError, match="has rows of another --labels file"):
        from_files(population, [first, first])


def test_a_file_that_was_changed_is_refused(population: Population, tmp_path: Path) -> None:
    for change, message in (
        ({"label": "maybe"}, "line 2: label 'maybe'; write one of OK, omission"),
        ({"label": ""}, "no label yet"),
        ({"item": "0"}, "item '0' is not in .*l.design.json"),
    ):
        with pytest.raises(InputError, match=message):
            from_files(population, [labels(population, tmp_path / "l.csv", **change)])


def test_a_design_of_another_output_is_refused(population: Population, tmp_path: Path) -> None:
    path = labels(population, tmp_path / "l.csv")
    design = design_path(path).read_text()
    for old, new, message in (
        ('"row_key": "', '"row_key": "0', "is another row now"),
        ('"rows": ', '"rows": 1', "other rows in the strata"),
        ("part-0", "part-9", "has no row x/part-9"),
        ("model:", "model:other", "another signature"),
    ):
        design_path(path).write_text(design.replace(old, new))
        with pytest.raises((InputError, UsageError), match=message):
            from_files(population, [path])
    design_path(path).unlink()
    with pytest.raises(InputError, match="keep both in one folder"):
        from_files(population, [path])


def test_a_stratum_without_a_label_joins_its_neighbour(population: Population, tmp_path: Path) -> None:
    path = labels(population, tmp_path / "l.csv")
    whole = from_files(population, [path])
    emptied = {f"{row}" for row in whole.rows[whole.strata == 0].tolist()}
    lines = [line for line in read(path) if line["text"].removeprefix("text ") not in emptied]
    write(path, lines)
    found = from_files(population, [path])
    assert len(found.design) == len(whole.design) - 1
    assert sum(one.rows for one in found.design) == 2000
    write(path, [*lines, lines[-1]])
    with pytest.raises(InputError, match="is there twice"):
        from_files(population, [path])


def test_labels_that_name_no_side_give_bounds(population: Population) -> None:
    """All rows labelled, half of the wrong ones as not_OK: an omission rate between half of the truth and all of it."""
    truth = np.array(population.scored.array("truth").to_pylist()) == "omission"
    rows = np.arange(2000)
    fine = np.where(truth, np.where(rows % 2, -1, 1), 0).astype(np.int8)
    design = [Drawn.of(Stratum("all rows", None, None), 2000, 2000)]
    found = true_rates(population, Labelled(rows, rows * 0, fine, truth.astype(np.int8), design, True))
    one = rate(found, "omission_rate")
    assert one.bounds == pytest.approx(((truth & (rows % 2 == 0)).mean(), truth.mean()))
    assert one.true.value == one.true.high == pytest.approx(truth.mean())
    assert rate(found, "not_ok_rate").bounds is None


@pytest.mark.parametrize(("draws", "least"), sampled([(150, 0.89), (1500, 0.93)], 2))
def test_labels_of_whole_inputs_hold_the_truth(draws: int, least: float) -> None:
    """Ten rows an input that share much of their fate, 25 of 200 whole inputs labelled: the rate of all rows."""
    rng, inside = np.random.default_rng(5), 0
    hard = rng.beta(0.7, 1.3, 200)
    truth = rng.random((200, 10)) < hard[:, None]
    said = truth ^ (rng.random((200, 10)) < np.where(rng.random(200) < 0.3, 0.6, 0.1)[:, None])
    for _ in range(draws):
        chosen = rng.choice(200, 25, replace=False)
        labels, predicted = truth[chosen].ravel().astype(float), said[chosen].ravel()
        design = Design(np.zeros(250, np.int64), np.array([250]), np.array([2000]), np.repeat(np.arange(25), 10))
        weights = [float((~said).mean()), float(said.mean())]
        low, high = interval(class_shares(weights, labels, predicted, np.ones(250, bool), design, [0.5, 0.5]))
        inside += low <= truth.mean() <= high
    assert inside / draws >= least


def test_groups_have_their_own_rates_compared_with_holms_correction(population: Population, tmp_path: Path) -> None:
    found = true_rates(population, from_files(population, [labels(population, tmp_path / "l.csv")]), "system")
    groups = [one for one in found if one.group is not None and one.rate == "not_ok_rate"]
    assert [(one.group, one.rows) for one in groups] == [("a", 1500), ("b", 500)]
    assert sum(one.labels for one in groups) == 120
    assert all(one.true.width > rate(found, "not_ok_rate").true.width for one in groups)
    lines = differences([*groups, replace(groups[1], group="c")])
    assert [(one.first, one.second) for one in lines] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(one.low < one.difference < one.high for one in lines)
    assert [one.p for one in lines] == holm([p_of_interval(one.difference, one.low, one.high, 0.0) for one in lines])


def test_rates_of_other_labels_or_of_another_metric_are_refused(population: Population, tmp_path: Path) -> None:
    labelled = from_column(population, "truth", None)
    file = saved(population, true_rates(population, labelled), labelled, None)
    file.check_output(population.path, "--rates")
    with pytest.raises(UsageError, match="other rows or labels"):
        file.check_output(output(tmp_path / "same keys", 2000, wrong=0.2), "--rates")
    with pytest.raises(UsageError, match="another signature"):
        transfer(of(output(tmp_path / "other", 100, signature="model:other@1|metric:1")), file)


def test_a_calibration_gives_the_rate_of_another_run(population: Population, tmp_path: Path) -> None:
    other = of(output(tmp_path / "other", 1200, seed=9))
    right = other.scored.array("truth").to_pylist().count("omission") / 1200
    inside = 0
    for seed in range(4):
        labelled = from_files(population, [labels(population, tmp_path / "l.csv", rows=300, seed=seed)])
        path = tmp_path / "rates.json"
        path.write_bytes(saved(population, true_rates(population, labelled), labelled, None).content)
        earlier = RatesFile.read(path, "--calibration")
        one = next(found for found in transfer(other, earlier) if found.rate == "not_ok_rate")
        inside += one.low <= right <= one.high
        assert (one.rows, one.labels) == (1200, 300)
    assert inside >= 3  # of 4 at .95, fewer happens once in seventy
    index = shift(other, earlier)
    assert index is not None and 0 <= index < 0.1

    agreeing = true_rates(other, from_files(other, [labels(other, tmp_path / "m.csv", rows=200)]))
    assert [holding.holds for holding in still_holds(agreeing, earlier)] == [True, True, True]
    worse = of(output(tmp_path / "worse", 1200, wrong=0.4, seed=4))
    contradicting = true_rates(worse, from_files(worse, [labels(worse, tmp_path / "n.csv", rows=200)]))
    found = {holding.rate: holding for holding in still_holds(contradicting, earlier)}
    assert not found["not_ok_rate"].holds and found["not_ok_rate"].p < 1e-6
