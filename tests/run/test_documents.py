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


@pytest.fixture
def source(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"id": range(6), "text": TEXTS, "document": DOCUMENTS}), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def test_a_run_finds_the_column_and_resumes(source: Path, bundle: Path, tmp_path: Path) -> None:
    summary = run(source, tmp_path / "out", bundle)
    assert summary["rows"]["errors"] == {"no_document": 1, "null_text": 1, "too_long": 1}
    assert summary["rows"]["notes"] == {"empty_text": 1}
    assert not any(summary["facts"].values())
    assert "|input:document|" in summary["signature"]
    found = pq.read_table(tmp_path / "out" / "in.parquet")
    with Scorer(bundle, documents=True) as opened:
        assert found.to_pylist() == opened.score_table(pq.read_table(source)).to_pylist()
    before = bytes_of(tmp_path / "out")
    assert run(source, tmp_path / "out", bundle)["shards"]["skipped"] == 1
    run(source, tmp_path / "named", bundle, "--document-column", "document")
    assert bytes_of(tmp_path / "named") == before


def test_a_ranking_takes_documents(source: Path, bundle: Path, tmp_path: Path) -> None:
    given = pq.read_table(source)
    lists = pa.table({"candidates": [TEXTS[:2], None, ["A."]], "document": [*DOCUMENTS[:2], None]})
    pq.write_table(lists, tmp_path / "lists.parquet")
    scorer("rank", tmp_path / "lists.parquet", "--bundle", bundle, "--out", tmp_path / "ranked", "--max-error-rate", 1)
    first, *others = pq.read_table(tmp_path / "ranked" / "lists.parquet").to_pylist()
    with Scorer(bundle, documents=True) as opened:
        scored = opened.score_table(given.slice(0, 1)).to_pylist()[0]
    assert first["scores"][0].items() <= scored.items() and first["best"] is not None
    assert [row["error"] for row in others] == ["no_candidates", "no_document"]


def test_reused_rows_keep_their_sentences(source: Path, bundle: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "one", bundle)
    summary = run(source, tmp_path / "two", bundle, "--reuse", tmp_path / "one")
    assert summary["rows"]["reused"] == 3 and summary["recheck"]["disagreed"] == 0
    one, two = (pq.read_table(tmp_path / name / "in.parquet").drop(["reused"]) for name in ("one", "two"))
    assert one.equals(two)


def test_explain_shows_each_sentence_with_its_evidence(source: Path, bundle: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "out", bundle, "--details", "--prefix", "nli_")
    found = json.loads(scorer("explain", tmp_path / "out", "--row", "in.parquet:1", "--json").stdout)
    assert found["same_labels"] and found["within_bound"]
    stored = pq.read_table(tmp_path / "out" / "in.parquet")["nli_sentences"][1].as_py()
    for one, other in zip(found["recomputed"]["sentences"], stored, strict=True):
        assert one == {**other, "entailment": pytest.approx(other["entailment"], rel=1e-4)}
    said = scorer("explain", tmp_path / "out", "--row", "in.parquet:1").stdout
    assert said.count("best part of the document:") == 2 and "document → sentence 1" in said
    assert "mean entailment" in said


def test_what_cannot_be_scored_is_refused(source: Path, bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    both = pq.read_table(source).append_column("facts", [[["A."]] * 6])
    pq.write_table(both, tmp_path / "both.parquet")
    assert "'facts' and 'document'" in said(tmp_path / "both.parquet", out, bundle)
    pq.write_table(both.append_column("selected", [[[0]] * 6]), tmp_path / "selected.parquet")
    assert "selects facts" in said(tmp_path / "selected.parquet", out, bundle, "--document-column", "document")
    assert "does not go with documents" in said(source, out, bundle, "--optional", "a=b")
    assert "does not go with documents" in said(source, out, bundle, "--protocol", "nlgi_eval")
    pq.write_table(pa.table({"text": ["A."], "document": [5]}), tmp_path / "number.parquet")
    assert "list<string>" in said(tmp_path / "number.parquet", out, bundle, "--document-column", "document")
    pq.write_table(pa.table({"text": ["A."], "document": [" "]}), tmp_path / "blank.parquet")
    refused = scorer("run", tmp_path / "blank.parquet", "--out", out, "--bundle", bundle, code=2).stderr
    assert "no_document 1" in refused and "has no document" in refused
    assert not out.exists()


def said(source: Path, out: Path, bundle: Path, *more: str) -> str:
    return str(scorer("run", source, "--out", out, "--bundle", bundle, *more, code=2).stderr)


def test_one_kind_of_input_a_run(source: Path, bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    source.rename(folder / "b.parquet")
    pq.write_table(pa.table({"text": ["A."], "facts": [["A."]]}), folder / "a.parquet")
    summary = run(folder, tmp_path / "out", bundle, code=3)
    assert summary["shards"] == {"done": 1, "skipped": 0, "failed": 1}
    failed = json.loads((tmp_path / "out" / "_failed" / "b.parquet.json").read_text())
    assert "one kind of input at a time" in json.dumps(failed)


def test_an_audit_has_no_figure_for_omissions(source: Path, bundle: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "out", bundle)
    report = json.loads(scorer("audit", tmp_path / "out", "--json", "--report", tmp_path / "r.html").stdout)
    (whole,) = report["groups"]
    assert (whole["fine"]["OK"] + whole["fine"]["hallucination"], whole["scored"]) == (3, 3)
    assert whole["rates"]["omission_rate"]["value"] is None
    assert whole["rates"]["hallucination_rate"]["value"] is not None
    assert whole["backoff"] is None
    assert whole["by_facts"] == []
    assert {case["facts"] is None for case in report["worst"]} == {True}
    assert report["notes"] == ["texts were checked against documents, so there are no figures of omissions and facts"]
