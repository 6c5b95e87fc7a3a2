"""Options of a run against the default: samples, figures against other implementations, and each command once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score
from typer.testing import CliRunner

from benchmarks.quality.__main__ import app
from benchmarks.quality.contradicted import absent_facts, by_row
from benchmarks.quality.labels import Gold, accuracy, omission_shares
from benchmarks.quality.sets import E2E, E2E_TEMPLATES, SETS, chosen_sets, sample
from scorer.errors import InputError, UsageError
from scorer.metric.facts import Triple
from scorer.metric.verdict import FINE


@pytest.fixture
def data(shared_data: Path) -> Path:
    """The evaluation data, of which other tests take the folder of the public tables."""
    return shared_data.parent


def rows(count: int) -> pa.Table:
    return pa.table({"id": [f"row {number}" for number in range(count)]})


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_sample_depends_on_the_ids_alone() -> None:
    table = rows(50)
    drawn = set(sample(table, 10)["id"].to_pylist())
    assert len(drawn) == 10
    assert set(sample(table.take(list(range(49, -1, -1))), 10)["id"].to_pylist()) == drawn
    assert drawn < set(sample(table, 20)["id"].to_pylist())
    assert sample(table, 99) == table


def gold_of(count: int, rng: np.random.Generator) -> Gold:
    """Every tenth row has no gold of omissions."""
    fine = rng.integers(0, 4, count)
    has_side = np.arange(count) % 10 > 0
    omission = ((fine & 1) == 1) & has_side
    return Gold(rng.integers(0, count // 4, count), (fine > 0).astype(np.int8), omission, has_side)


def test_shares_of_omissions_are_those_of_another_implementation() -> None:
    rng = np.random.default_rng(3)
    gold, fine = gold_of(400, rng), rng.integers(-1, 4, 400).astype(np.int8)
    predicted = np.isin(fine, [FINE.index("omission"), FINE.index("omission+hallucination")])[gold.has_side]
    shares, truth = omission_shares(gold, fine), gold.omission[gold.has_side]
    for name, score in (("precision", precision_score), ("recall", recall_score), ("F1", f1_score)):
        assert shares[name].value == pytest.approx(score(truth, predicted))
        assert shares[name].low < shares[name].value < shares[name].high


def test_a_row_without_a_label_is_not_ok() -> None:
    gold = Gold(np.arange(4), np.array([0, 1, 1, 0], np.int8), np.zeros(4, bool), np.zeros(4, bool))
    now, before = np.array([-1, -1, 2, 0], np.int8), np.array([0, 0, 0, 0], np.int8)
    paired = accuracy(gold, now, before, np.ones(4, bool))
    assert (paired.first.count, paired.second.count) == (3, 2)
    assert paired.difference == pytest.approx(0.25)
    assert accuracy(gold, now, before, np.zeros(4, bool)) is None


def test_absent_facts_are_wrong_where_the_text_has_another_value() -> None:
    names = ("food", "area", "eatType")
    triples = [{"subject": "Ash", "predicate": name, "object": name[0]} for name in names]
    diff = {"food": {"f": -1, "Thai": 1}, "area": {"a": -1}, "near": {"Bow": 1}}
    facts = absent_facts([{"mr": "m", "text": "t", "triples": triples, "gold_diff": json.dumps(diff)}])
    assert [(fact.triple, fact.wrong) for fact in facts] == [
        (Triple("Ash", "food", "f"), True), (Triple("Ash", "area", "a"), False)
    ]  # fmt: skip


def test_the_gold_of_the_public_rows_counts_as_many_facts(data: Path) -> None:
    """Where the name, which is not a fact, is right, the slot script counts as many."""
    counted = 0
    for row in pq.read_table(data / E2E).to_pylist():
        if "name" not in json.loads(row["gold_diff"]):
            facts = absent_facts([row])
            assert len(facts) == row["gold_valerr"] + row["gold_missing"]
            assert sum(fact.wrong for fact in facts) == row["gold_valerr"]
            counted += len(facts)
    assert counted > 1000


def test_every_set_has_gold_and_distinct_ids(data: Path) -> None:
    for name, labelled in SETS.items():
        table = labelled.rows(data)
        assert len(set(table["id"].to_pylist())) == len(table) > 100, name
        assert set(table["gold_rough"].to_pylist()) == {"OK", "not_OK"}, name
        assert not table["input"].null_count, name


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("worst-sentence", "wikidata", "challenge"), "both, gold not_OK"),
        (("one-side", "factspotter", "wikidata"), "omission precision"),
    ],
)
def test_each_command_prints_its_table(data: Path, words: tuple[str, ...], printed: str) -> None:
    out = run(*words, "--data", data, "--rows", 2)
    assert printed in out
    assert all(any(line.startswith(name) for line in out.splitlines()) for name in words[1:])


def test_facts_said_wrongly_are_counted_by_fact_and_by_row(data: Path, tmp_path: Path) -> None:
    """On the rows with wrong values and some others."""
    table = pq.read_table(data / E2E)
    wrong = np.flatnonzero(np.array(table["gold_valerr"].to_pylist()) > 0)[:12]
    few = table.take(pa.array(np.unique([*wrong, *range(12)])))
    (tmp_path / E2E).parent.mkdir()
    pq.write_table(few, tmp_path / E2E)
    (tmp_path / E2E_TEMPLATES).parent.mkdir()
    (tmp_path / E2E_TEMPLATES).write_bytes((data / E2E_TEMPLATES).read_bytes())
    out = run("contradicted", "--data", tmp_path, "--rows", 5)
    lines = re.findall(r"^(challenge set|paper) +(\S+)", out, re.MULTILINE)
    assert lines == [(name, threshold) for name in ("challenge set", "paper") for threshold in ("0.807", "0.900")]
    assert out.count("said_wrongly") == out.count("left_out") == 2
    figures = by_row(tmp_path, 5, "embedded", print)["rows with a wrong value"]
    assert figures is not None and figures["said_wrongly"]["rows"] == 12


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no .*e2e_primary\.parquet; pass its folder with --data"):
        SETS["e2e"].rows(tmp_path)
    assert CliRunner().invoke(app, ["one-side", "e3e"]).exit_code == 2
    with pytest.raises(UsageError, match="no set 'e3e'"):
        chosen_sets(["e3e"], ())
