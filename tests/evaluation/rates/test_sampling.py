from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow.parquet as pq
import pytest

from scorer.evaluation.rates.estimates import Labelled
from scorer.evaluation.rates.items import make_design, make_items, templates_of
from scorer.evaluation.rates.label_file import COLUMNS, write_items
from scorer.evaluation.rates.population import Population, classify, make_strata, read_population
from scorer.evaluation.rates.sampling import draw_sample
from tests.evaluation.rates.outputs import output


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Population:
    return read_population(output(tmp_path_factory.mktemp("rates") / "out"), ("system", "truth"))


def test_every_row_is_in_the_stratum_of_its_label_and_confidence(population: Population) -> None:
    strata = make_strata(population, 40)
    codes = classify(population, strata)
    labels = [stratum.label for stratum in strata]
    assert labels.count("OK") == 4 and 1 < labels.count("not_OK") <= 4
    for row, code in enumerate(codes.tolist()):
        stratum, confidence = strata[code], population.confidence[row]
        assert stratum.label == ("OK" if population.fine[row] == 0 else "not_OK")
        assert stratum.low is None or confidence >= stratum.low
        assert stratum.high is None or confidence < stratum.high


def test_a_sample_has_known_probabilities_and_both_systems(population: Population) -> None:
    sample = draw_sample(population, 60, 0, "system")
    assert len(sample.rows) == len(set(sample.rows.tolist())) == 60
    assert sum(drawn.rows for drawn in sample.design) == 400
    for number, drawn in enumerate(sample.design):
        assert int((sample.strata == number).sum()) == drawn.drawn >= 2
        assert drawn.probability == drawn.drawn / drawn.rows
    systems = population.groups("system")[0][sample.rows]
    assert abs(int((systems == 1).sum()) - 15) <= 2  # b has every fourth row
    assert min(drawn.drawn for drawn in draw_sample(population, 4, 0).design) == 2, "so that a variance is known"
    assert np.array_equal(sample.rows, draw_sample(population, 60, 0, "system").rows)
    assert not np.array_equal(sample.rows, draw_sample(population, 60, 1, "system").rows)
    assert sorted(draw_sample(population, 5000, 0).rows.tolist()) == list(range(400)), "all there are"


def test_a_second_sample_may_need_no_row_of_a_stratum(population: Population) -> None:
    first = draw_sample(population, 60, 0)
    truth = (population.fine[first.rows] > 0).astype(np.int8)
    pilot = Labelled(first.rows, first.strata, truth, truth, first.design, True)
    more = draw_sample(population, 3, 1, "system", pilot)
    assert 0 in [one.drawn for one in more.design] and len(more.rows) == 3
    assert not set(more.rows.tolist()) & set(first.rows.tolist())


def test_more_is_drawn_where_the_first_labels_say_that_the_metric_errs(population: Population) -> None:
    first = draw_sample(population, 100, 0)
    unsure = min(range(len(first.design)), key=lambda n: (first.design[n].label != "OK", first.design[n].high or 1.0))
    wrong = (population.fine[first.rows] > 0) | ((first.strata == unsure) & (np.arange(100) % 2 == 0))
    truth = wrong.astype(np.int8)
    pilot = Labelled(first.rows, first.strata, truth, truth, first.design, True)
    more = draw_sample(population, 60, 1, None, pilot).design
    shares = [(one.drawn + other.drawn) / one.rows for one, other in zip(first.design, more, strict=True)]
    assert np.argmax(shares) == unsure and max(shares) > 2 * np.median(shares)


def test_the_file_has_what_people_need_and_not_what_the_metric_says(population: Population) -> None:
    sample = draw_sample(population, 20, 0, "system")
    found = templates_of(population)
    assert found is not None
    items = make_items(population, sample, found, 0)
    written = list(csv.DictReader(io.StringIO(write_items(items).decode("utf-8-sig"))))
    assert tuple(written[0]) == COLUMNS
    for line, row in zip(written, sample.rows.tolist(), strict=True):
        assert line["text"] == f"text {row}"
        assert line["facts"] == f"The food of s{row} is o{row}."
        assert line["label"] == ""
        place = make_design(population, sample, items, 4, 0).items[line["item"]]
        assert pq.read_table(population.path / place.file)["text"][place.row].as_py() == line["text"]
    assert set(COLUMNS) == {"item", "facts", "text", "label", "comment"}
    assert sum(one.twice for one in make_design(population, sample, items, 4, 0).items.values()) == 4
