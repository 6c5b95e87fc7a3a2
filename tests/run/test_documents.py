"""Documents in files: a run, its plan, its explanation and its audit, with the column found by its name or named."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from tests.bundles import make_bundle
from tests.run.calls import bytes_of, run, scorer

pytest.importorskip("nupunkt", reason="the extra sentences is not installed")

PASSAGES = ["The Mill is a pub. It serves cheap French food.", "Alan Bean was born in Wheeler, Texas."]
TEXTS = ["The Mill is a pub.", "It is cheap. Alan Bean was born.", None, " ", "Is it 5 out of 5?", "word " * 300]
DOCUMENTS = [PASSAGES, PASSAGES * 40, PASSAGES, PASSAGES, None, PASSAGES]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("documents") / "tiny", max_length=160)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("in") / "in.parquet"
    pq.write_table(pa.table({"id": range(6), "text": TEXTS, "document": DOCUMENTS}), path)
    return path


@pytest.fixture(scope="module")
def out(source: Path, bundle: Path) -> Path:
    run(source, source.parent / "out", bundle, "--details", "--prefix", "nli_")
    return source.parent / "out"


def test_a_run_finds_the_column_and_resumes(source: Path, out: Path, bundle: Path, tmp_path: Path) -> None:
    summary = run(source, tmp_path / "out", bundle)
    assert summary["rows"]["errors"] == {"no_document": 1, "null_text": 1, "too_long": 1}
    assert summary["rows"]["notes"] == {"empty_text": 1}
    assert not any(summary["facts"].values()) and "|input:document|" in summary["signature"]
    with Scorer(bundle, documents=True) as opened:
        expected = opened.score_table(pq.read_table(source))
    found = pq.read_table(tmp_path / "out" / "in.parquet")
    assert found.to_pylist() == expected.to_pylist()
    before = bytes_of(tmp_path / "out")
    assert run(source, tmp_path / "out", bundle)["shards"]["skipped"] == 1
    run(source, tmp_path / "named", bundle, "--document-column", "document")
    assert bytes_of(tmp_path / "named") == before
    reused = run(source, tmp_path / "two", bundle, "--reuse", tmp_path / "out")
    assert reused["rows"]["reused"] == 3
    assert pq.read_table(tmp_path / "two" / "in.parquet").drop(["reused"]).equals(found.drop(["reused"]))


def test_explain_shows_each_sentence_with_its_evidence(out: Path) -> None:
    found = json.loads(scorer("explain", out, "--row", "in.parquet:1", "--json").stdout)
    assert found["same_labels"] and found["within_bound"]
    stored = pq.read_table(out / "in.parquet")["nli_sentences"][1].as_py()
    for one, other in zip(found["recomputed"]["sentences"], stored, strict=True):
        assert one == {**other, "entailment": pytest.approx(other["entailment"], rel=1e-4)}
    said = scorer("explain", out, "--row", "in.parquet:1").stdout
    assert said.count("best part of the document:") == 2 and "document → sentence 1" in said
    assert "mean entailment" in said


def test_what_cannot_be_scored_is_refused(source: Path, bundle: Path, tmp_path: Path) -> None:
    tables = {
        "selected": pq.read_table(source).append_column("selected", [[[0]] * 6]),
        "number": pa.table({"text": ["A."], "document": [5]}),
        "blank": pa.table({"text": ["A."], "document": [" "]}),
    }
    for name, table in tables.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    for given, says in (
        (["selected.parquet", "--document-column", "document"], "selects facts"),
        (["number.parquet", "--document-column", "document"], "list<string>"),
        (["blank.parquet"], "no_document 1"),
        ([source, "--optional", "a=b"], "does not go with documents"),
    ):
        refused = scorer("run", tmp_path / given[0], *given[1:], "--out", tmp_path / "out", "--bundle", bundle, code=2)
        assert says in refused.stderr
        assert not (tmp_path / "out").exists()


def test_one_kind_of_input_a_run(source: Path, bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pq.read_table(source), tmp_path / "in" / "b.parquet")
    pq.write_table(pa.table({"text": ["A."], "facts": [["A."]]}), tmp_path / "in" / "a.parquet")
    summary = run(tmp_path / "in", tmp_path / "out", bundle, code=3)
    assert summary["shards"] == {"done": 1, "skipped": 0, "failed": 1}
    assert "one kind of input at a time" in (tmp_path / "out" / "_failed" / "b.parquet.json").read_text()


def test_an_audit_has_no_figure_for_omissions(out: Path, tmp_path: Path) -> None:
    report = json.loads(scorer("audit", out, "--json", "--report", tmp_path / "r.html").stdout)
    (whole,) = report["groups"]
    assert (whole["fine"]["OK"] + whole["fine"]["hallucination"], whole["scored"]) == (3, 3)
    assert whole["rates"]["omission_rate"]["value"] is None
    assert whole["rates"]["hallucination_rate"]["value"] is not None
    assert (whole["backoff"], whole["by_facts"]) == (None, [])
    assert {case["facts"] is None for case in report["worst"]} == {True}
    assert report["notes"] == ["texts were checked against documents, so there are no figures of omissions and facts"]
