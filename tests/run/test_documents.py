"""Documents in files: a run of the named column, its explanation and its audit."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import ColumnNames, Scorer
from scorer.metric.sentences import split_document
from tests.bundles import make_bundle
from tests.run.calls import run, scorer

PASSAGES = ["The Mill is a pub. It serves cheap French food.", "Alan Bean was born in Wheeler, Texas."]
TEXTS = ["The Mill is a pub.", "It is cheap. Alan Bean was born.", None, " ", "Is it 5 out of 5?", "word " * 300]
DOCUMENTS = [PASSAGES, PASSAGES * 40, PASSAGES, PASSAGES, None, PASSAGES]
DOCUMENT = ("--document-column", "document")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("documents") / "tiny", max_length=160)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("in") / "in.parquet"
    pq.write_table(pa.table({"id": range(6), "text": TEXTS, "document": DOCUMENTS}), path)
    return path


def test_a_document_is_scored_as_its_sentences(source: Path, bundle: Path, tmp_path: Path) -> None:
    summary = run(source, tmp_path / "out", bundle, *DOCUMENT)
    assert summary["rows"]["errors"] == {"no_triples": 1, "null_text": 1, "too_long": 1}
    assert "|checks:hallucination|sentences:nupunkt" in summary["signature"]
    facts = [[one for passage in passages or [] for one in split_document(passage)] for passages in DOCUMENTS]
    pq.write_table(pq.read_table(source).append_column("facts", [facts]), tmp_path / "facts.parquet")
    run(tmp_path / "facts.parquet", tmp_path / "as facts", bundle, "--checks", "hallucination", "--sentences")
    found = pq.read_table(tmp_path / "out" / "in.parquet")
    expected = pq.read_table(tmp_path / "as facts" / "facts.parquet").drop(["facts"])
    assert found.drop(["row_key"]).equals(expected.drop(["row_key"]))
    keys = [one["row_key"].to_pylist() for one in (found, expected)]
    assert keys[0][:4] == keys[1][:4], "a null document has another key than an empty list"
    with Scorer(bundle, columns=ColumnNames(document="document")) as opened:
        assert opened.score_table(pq.read_table(source)).to_pylist() == found.to_pylist()
    report = json.loads(scorer("audit", tmp_path / "out", "--json").stdout)
    assert report["groups"][0]["rates"]["omission_rate"]["value"] is None
    assert report["notes"] == ["texts were checked against documents, so there are no figures of omissions and facts"]
    assert run(source, tmp_path / "out", bundle, *DOCUMENT)["shards"]["skipped"] == 1


def test_what_cannot_be_scored_is_refused(source: Path, bundle: Path, tmp_path: Path) -> None:
    tables = {
        "number": pa.table({"text": ["A."], "document": [5]}),
        "blank": pa.table({"text": ["A."], "document": [" "]}),
    }
    for name, table in tables.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    for given, says in (
        (["number.parquet", *DOCUMENT], "list<string>"),
        (["blank.parquet", *DOCUMENT], "no_triples 1"),
        ([source], "--document-column document"),
        ([source, *DOCUMENT, "--protocol", "factspotter"], "--document-column does not go with"),
        ([source, *DOCUMENT, "--facts-column", "document"], "name one of them"),
    ):
        refused = scorer("run", tmp_path / given[0], *given[1:], "--out", tmp_path / "out", "--bundle", bundle, code=2)
        assert says in " ".join(refused.stderr.split())
        assert not (tmp_path / "out").exists()
