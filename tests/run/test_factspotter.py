"""A run under the protocol ``factspotter``, and what comes after it: resuming, reuse, plan, explain, rank, audit."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.bundles import make_bundle
from tests.run.calls import scorer

ROWS = pa.table(
    {
        "triples": [["The Mill | food | French", "The Mill | near | Crowne Plaza"]] * 4,
        "text": ["The Mill serves French food.", "Alan Bean was born in Wheeler, Texas!", "", None],
        "candidates": [["The Mill is French.", "A pub."]] * 4,
    }
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spotter") / "tiny"
    scheme, labels = ("binary", "present", 0.5), ("absent", "present")
    return make_bundle(folder, labels=labels, scheme=scheme, order="hypothesis_first", one_text=True, max_length=512)


def test_a_run_and_what_comes_after_it(bundle: Path, tmp_path: Path) -> None:
    pq.write_table(ROWS.drop_columns("candidates"), tmp_path / "in.parquet")
    given = [tmp_path / "in.parquet", "--bundle", bundle, "--protocol", "factspotter", "--device", "cpu"]
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
    assert again["rows"]["reused"] == 3 and again["recheck"]["disagreed"] == 0
    assert json.loads(scorer("plan", *given, "--json").stdout)["checks"]["all"] == 4
    explained = scorer("explain", tmp_path / "once", "--row", "in.parquet:0").stdout
    assert "predicate: food, subject: the mill, object: french" in explained
    audited = json.loads(scorer("audit", tmp_path / "again", "--baseline", tmp_path / "once", "--json").stdout)
    assert audited["baseline"]["same_signature"] and audited["baseline_changes"]["flips"]["count"] == 0


def test_facts_as_sentences_are_set_aside_with_the_reason(bundle: Path, tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"facts": [["The Mill is French."]], "text": ["The Mill is French."]}), tmp_path / "in.parquet"
    )
    given = [tmp_path / "in.parquet", "--bundle", bundle, "--protocol", "factspotter", "--out", tmp_path / "out"]
    assert "the protocol factspotter asks about triples" in scorer("run", *given, code=2).stderr
    row = ["check", "--fact", "The Mill is French.", "--text", "x", "--bundle", bundle, "--protocol", "factspotter"]
    assert "takes triples" in scorer(*row, code=2).stderr
