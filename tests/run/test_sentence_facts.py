"""Facts that are sentences, documents, and the protocol ``factspotter``, through every command that reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import ColumnNames, Scorer
from scorer.metric.columns import OUTPUT
from scorer.metric.fact_templates import Templates
from scorer.metric.formats import parse_mr
from scorer.metric.sentences import split_document
from tests.bundles import make_bundle
from tests.run.calls import run, scorer

pytestmark = pytest.mark.usefixtures("inline_runs")

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


PASSAGES = ["The Mill is a pub. It serves cheap French food.", "Alan Bean was born in Wheeler, Texas."]
SAID = ["The Mill is a pub.", "It is cheap. Alan Bean was born.", None, " ", "Is it 5 out of 5?", "word " * 300]
DOCUMENTS = [PASSAGES, PASSAGES * 40, PASSAGES, PASSAGES, None, PASSAGES]
DOCUMENT = ("--document-column", "document")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("documents") / "tiny", max_length=160)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("in") / "in.parquet"
    pq.write_table(pa.table({"id": range(6), "text": SAID, "document": DOCUMENTS}), path)
    return path


def test_a_document_is_scored_as_its_sentences(source: Path, short: Path, tmp_path: Path) -> None:
    summary = run(source, tmp_path / "out", short, *DOCUMENT)
    assert summary["rows"]["errors"] == {"no_triples": 1, "null_text": 1, "too_long": 1}
    assert "|checks:hallucination|sentences:nupunkt" in summary["signature"]
    facts = [[one for passage in passages or [] for one in split_document(passage)] for passages in DOCUMENTS]
    pq.write_table(pq.read_table(source).append_column("facts", [facts]), tmp_path / "facts.parquet")
    run(tmp_path / "facts.parquet", tmp_path / "as facts", short, "--checks", "hallucination", "--sentences")
    found = pq.read_table(tmp_path / "out" / "in.parquet")
    expected = pq.read_table(tmp_path / "as facts" / "facts.parquet").drop(["facts"])
    assert found.drop(["row_key"]).equals(expected.drop(["row_key"]))
    keys = [one["row_key"].to_pylist() for one in (found, expected)]
    assert keys[0][:4] == keys[1][:4], "a null document has another key than an empty list"
    with Scorer(short, columns=ColumnNames(document="document")) as opened:
        assert opened.score_table(pq.read_table(source)).to_pylist() == found.to_pylist()
    report = json.loads(scorer("audit", tmp_path / "out", "--json").stdout)
    assert report["groups"][0]["rates"]["omission_rate"]["value"] is None
    assert report["notes"] == ["texts were checked against documents, so there are no figures of omissions and facts"]
    assert run(source, tmp_path / "out", short, *DOCUMENT)["shards"]["skipped"] == 1


def test_what_cannot_be_scored_is_refused(source: Path, short: Path, tmp_path: Path) -> None:
    tables = {
        "number": pa.table({"text": ["A."], "document": [5]}),
        "blank": pa.table({"text": ["A."], "document": [" "]}),
    }
    for name, table in tables.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    for given, says in (
        (["number.parquet", *DOCUMENT], "list<string>"),
        (["blank.parquet", *DOCUMENT], "no row in the first window"),
        ([source], "--document-column document"),
        ([source, *DOCUMENT, "--protocol", "factspotter"], "--document-column does not go with"),
        ([source, *DOCUMENT, "--facts-column", "document"], "name one of them"),
    ):
        refused = scorer("run", tmp_path / given[0], *given[1:], "--out", tmp_path / "out", "--bundle", short, code=2)
        assert says in " ".join(refused.stderr.split())
        assert not (tmp_path / "out").exists()
