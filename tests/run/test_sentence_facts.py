"""Facts that are given as sentences, and the protocol ``factspotter``, through every command that reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.metric.columns import OUTPUT
from scorer.metric.formats import parse_mr
from scorer.metric.templates import Templates
from tests.bundles import make_bundle
from tests.run.calls import run, scorer

TEMPLATES = {"eatType": "<subject> is a <object>.", "area": {"riverside": "<subject> is by the river."}}
MRS = [
    "name[The Mill], eatType[pub], area[riverside]",
    "name[The Mill], eatType[pub], priceRange[cheap]",
    "name[Blue Spice], area[city centre]",
    "name[The Mill], eatType[pub], area[riverside]",
]
TEXTS = ["The Mill is a pub.", "The Mill is cheap.", "", "The Mill is by the river."]
WORDED = [[Templates.from_dict(TEMPLATES).fill(triple).text for triple in parse_mr(mr) or []] for mr in MRS]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("sentences") / "tiny", templates=TEMPLATES)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Path:
    folder = tmp_path_factory.mktemp("scored")
    gold = {"gold_fine": ["OK", "omission", "omission", "OK"]}
    pq.write_table(pa.table({"text": TEXTS, "facts": WORDED, **gold}), folder / "in.parquet")
    run(folder / "in.parquet", folder / "out", bundle)
    return folder / "out"


def test_rows_worded_beforehand_have_the_same_labels_and_probabilities(out: Path, bundle: Path) -> None:
    with Scorer(bundle) as opened:
        expected = opened.score_table(pa.table({"text": TEXTS, "mr": MRS}))
    found = pq.read_table(out / "in.parquet")
    labels = [name for name in OUTPUT.names if name != "row_key"]
    assert found.select(labels).to_pylist() == expected.select(labels).to_pylist()
    assert not set(found["row_key"].to_pylist()) & set(expected["row_key"].to_pylist())


ROWS = pa.table(
    {
        "triples": [["The Mill | food | French", "The Mill | near | Crowne Plaza"]] * 4,
        "text": ["The Mill serves French food.", "Alan Bean was born in Wheeler, Texas!", "", None],
    }
)


@pytest.fixture(scope="module")
def spotter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spotter") / "tiny"
    scheme, labels = ("binary", "present", 0.5), ("absent", "present")
    return make_bundle(folder, labels=labels, scheme=scheme, order="hypothesis_first", one_text=True, max_length=512)


def test_a_run_under_factspotter_and_what_comes_after_it(spotter: Path, tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "in.parquet")
    given = [tmp_path / "in.parquet", "--bundle", spotter, "--protocol", "factspotter", "--device", "cpu"]
    once = json.loads(scorer("run", *given, "--out", tmp_path / "once", "--max-error-rate", 1, "--json").stdout)
    assert once["rows"] == {"in": 4, "scored": 3, "reused": 0, "errors": {"null_text": 1}, "notes": {"empty_text": 1}}
    assert once["checks"]["all"] == 4 and once["facts"]["backoff"] == 0
    assert once["labels"]["hallucination"] == once["labels"]["omission+hallucination"] == 0
    table = pq.read_table(tmp_path / "once" / "in.parquet")
    assert set(table["fine"].to_pylist()) <= {"OK", "omission", None} and table["text_entailment"].null_count == 4
    assert "templates:" not in table.schema.metadata[b"d2t_scorer.signature"].decode()
    assert "skipped" in scorer("run", *given, "--out", tmp_path / "once", "--max-error-rate", 1, "--json").stdout
    more = ["--reuse", tmp_path / "once", "--max-error-rate", 1, "--json"]
    again = json.loads(scorer("run", *given, "--out", tmp_path / "again", *more).stdout)
    assert again["rows"]["reused"] == 3
    assert json.loads(scorer("plan", *given, "--json").stdout)["checks"] == 4
    explained = scorer("explain", tmp_path / "once", "--row", "in.parquet:0").stdout
    assert "predicate: food, subject: the mill, object: french" in explained
    audited = json.loads(scorer("audit", tmp_path / "again", "--baseline", tmp_path / "once", "--json").stdout)
    assert audited["baseline"]["same_signature"] and audited["baseline_changes"]["flips"]["count"] == 0


def test_facts_as_sentences_are_refused_with_the_reason(spotter: Path, tmp_path: Path) -> None:
    fact = "The Mill is French."
    pq.write_table(pa.table({"facts": [[fact]], "text": [fact]}), tmp_path / "in.parquet")
    asked = ["--bundle", spotter, "--protocol", "factspotter"]
    refused = scorer("run", tmp_path / "in.parquet", "--out", tmp_path / "out", *asked, code=2).stderr
    assert "the protocol factspotter asks about triples" in refused
