from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import spearmanr

from benchmarks.paper.rivals.__main__ import Rival, rivals_command
from benchmarks.paper.rivals.entities import found
from benchmarks.paper.rivals.labels import by_keywords, by_slots
from scorer.errors import ColumnError, ScorerError
from scorer.evaluation import EvaluateOptions
from scorer.evaluation.report import evaluate
from scorer.metric.facts import Triple

FACTS = [
    {"subject": "Blue Spice", "predicate": "eatType", "object": "pub"},
    {"subject": "Blue Spice", "predicate": "family_friendly", "object": "no"},
]
TRIPLES = pa.list_(pa.struct([(name, pa.string()) for name in ("subject", "predicate", "object")]))
TABLE = pa.table(
    {
        "triples": pa.array([FACTS, FACTS, FACTS, FACTS, None], TRIPLES),
        "text": ["Blue Spice is a pub. It is not family friendly.", "Blue Spice is Italian.", " ", None, "x"],
        "gold_fine": ["OK", "omission+hallucination", "omission", "OK", "OK"],
    }
)


def rival(which: Rival, table: pa.Table, folder: Path) -> pa.Table:
    pq.write_table(table, folder / "in.parquet")
    rivals_command(which, folder / "in.parquet", folder / "out.parquet")
    return pq.read_table(folder / "out.parquet")


def test_slots_have_labels_and_their_error_rate(tmp_path: Path) -> None:
    table = rival(Rival.e2e_slots, TABLE, tmp_path)
    assert table.schema.names[:3] == TABLE.schema.names
    assert table["fine"].to_pylist() == ["OK", "omission+hallucination", "omission", None, None]
    assert table["omitted"].to_pylist() == [[], [0, 1], [0, 1], None, None]
    assert table["fact_entailment"].to_pylist()[:2] == [[1.0, 1.0], [0.0, 0.0]]
    assert table["text_entailment"].to_pylist()[:3] == [1.0, 0.0, 1.0]
    assert table["e2e_slots"].to_pylist()[:3] == table["confidence"].to_pylist()[:3] == [1.0, 0.0, 0.0]
    assert table["slot_error_rate"].to_pylist()[3:] == [None, None]
    assert table["note"].to_pylist() == [None, None, "empty_text", None, None]


def test_evaluate_reads_labels_and_any_column_as_a_metric(tmp_path: Path) -> None:
    table = TABLE.slice(0, 3).append_column("human_quality", pa.array([3.0, 1.0, 2.0]))
    rival(Rival.keywords, table, tmp_path)
    report = evaluate(tmp_path / "out.parquet", EvaluateOptions(metrics=("keywords",), resamples=0))
    assert report["fine"]["accuracy"] == pytest.approx(2 / 3)
    assert report["omission"]["f1"] == 1.0 and report["hallucination"]["recall"] == 0.0
    assert {line["metric"] for line in report["correlations"]} == {"keywords"}


def test_labels_of_any_data() -> None:
    facts = [Triple("Alan_Bean", "birthPlace", "Wheeler,_Texas"), Triple("Alan_Bean", "occupation", '"Test pilot"')]
    assert by_keywords(facts, "Alan Bean, born in Wheeler, Texas, was a test pilot.").omitted == []
    assert by_keywords(facts, "Alan Bean was born in Texas.").omitted == [0, 1]
    with pytest.raises(ColumnError, match="no E2E slot but 'birthPlace'"):
        by_slots(facts, "x")


def test_other_spellings_of_slots_have_the_same_synonyms() -> None:
    slots = {"rating": "5 out of 5", "eat_type": "coffee shop", "price_range": "cheap"}
    facts = [Triple("X", *slot) for slot in slots.items()]
    text = "X, a cafe with a high customer rating, is inexpensive."
    assert by_keywords(facts, text).omitted == []
    assert by_slots(facts, text).omitted == [1], "a cafe is no coffee shop there"


@pytest.mark.parametrize(
    ("table", "rival", "told"),
    [
        (pa.table({"text": ["x"]}), Rival.keywords, "no column 'triples'; columns: text"),
        (pa.table({"text": ["x"], "triples": ["a | b | c"]}), Rival.keywords, "a list of structs is needed"),
        (TABLE, Rival.bertscore, "needs --model"),
    ],
)
def test_other_inputs_are_refused(tmp_path: Path, table: pa.Table, rival: Rival, told: str) -> None:
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(ScorerError, match=told):
        rivals_command(rival, tmp_path / "in.parquet", tmp_path / "out.parquet")


@pytest.mark.parametrize(
    ("entity", "text", "expected"),
    [
        ("Alan_Bean", "Bean, whose first name is Alan", True),
        ("Alan_Bean", "Alan Shepard flew.", False),
        ("São_Paulo", "in Sao Paulo", True),
        ("United_States", "in the U.S.", True),
        ('"Test pilot"@en', "He was a test pilot.", True),
        ("1932-03-15", "born on March 15th, 1932", True),
        ("1932-03-15", "born on March 16, 1932", False),
        ("1147.0 (metres)", "1,147 m", True),
        ("63800", "about 64,000 people", True),
        ("63800", "about 60,000 people", False),
        ("3", "three runways", True),
        ("9" * 400, "1e99 and " + "10" * 300, False),
    ],
)
def test_one_entity(entity: str, text: str, expected: bool) -> None:
    assert found([Triple(entity, "p", entity)], text) == {entity: expected}


def test_on_webnlg17_it_is_a_strong_baseline(shared_data: Path, tmp_path: Path) -> None:
    rivals_command(Rival.entities, shared_data / "webnlg17_humeval.parquet", tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    rho = spearmanr(table["entities"].to_numpy(), table["human_semantics"].to_numpy()).statistic
    assert 0.55 < rho < 0.68  # as high as the paper's metric by sentence: a baseline to beat
