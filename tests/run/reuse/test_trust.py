"""What of an earlier output is believed, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.run.reuse import KeyIndex
from tests.bundles import make_bundle
from tests.run.calls import bytes_of, run, scorer
from tests.run.reuse.nights import Before, assert_labels_of, full_run, replaced


def test_another_signature_is_named_part_by_part(yesterday: Before, tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    templates = tmp_path / "t.json"
    templates.write_text('{"eatType": "<subject> is a <object>."}')
    more = ("--templates", templates, "--protocol", "nlgi_eval")
    arguments = ("--out", tmp_path / "out", "--bundle", bundle, "--max-error-rate", "1", *more, "--reuse", before)
    said = scorer("run", data, *arguments).stderr
    summary = json.loads((tmp_path / "out" / "_run.json").read_text())
    found = summary["reuse"][0]
    assert not found["signature_equal"]
    assert [part.partition(":")[0] for part in found["differs"]] == ["templates", "protocol"]
    assert found["shards_refused"] == {"other signature": 3}
    assert "its signature differs (templates: " in said
    assert summary["rows"]["reused"] == 0
    together = assert_labels_of(full_run(data, tmp_path / "full", bundle, *more), tmp_path / "out")
    assert together["all_facts_entailment"].null_count < len(together)


def test_details_and_prefix(yesterday: Before, tmp_path: Path, bundle: Path) -> None:
    data, _ = yesterday
    detailed, out = tmp_path / "detailed", tmp_path / "out"
    run(data, detailed, bundle, "--details", "--prefix", "p_")
    # Tonight's input holds the columns of an earlier scoring, which are not yesterday's labels of these rows.
    inner = tmp_path / "in"
    for name in bytes_of(detailed):
        table = pq.read_table(detailed / name)
        (inner / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(replaced(table, "p_fine", 1, "OK"), inner / name)
    more = ("--details", "--prefix", "q_")
    assert run(inner, out, bundle, *more, "--reuse", detailed)["rows"]["scored"] == 0
    run(inner, tmp_path / "full", bundle, *more)
    for name in bytes_of(out):
        full, found = pq.read_table(tmp_path / "full" / name), pq.read_table(out / name)
        assert found.drop_columns("q_reused").equals(full.drop_columns("q_reused"))


def test_a_row_under_another_ones_number_is_not_believed(
    yesterday: Before, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, before = yesterday
    find = KeyIndex.find
    monkeypatch.setattr(KeyIndex, "find", lambda self, words: np.roll(find(self, words), 1))
    assert run(data, tmp_path / "out", bundle, "--reuse", before)["rows"]["reused"] == 0
    assert_labels_of(before, tmp_path / "out")


def test_errors_of_yesterday_are_asked_again(tmp_path: Path) -> None:
    bad = make_bundle(tmp_path / "bad", bad={"fp32": ("Z", float("nan"))})
    table = pa.table({"text": ["a pub", "Z", "a pub Z", "x" * 3000], "mr": ["name[N], food[F]"] * 4})
    pq.write_table(table, tmp_path / "in.parquet")
    first = run(tmp_path / "in.parquet", tmp_path / "before", bad)
    assert first["rows"]["errors"] == {"not_finite": 2, "too_long": 1}
    second = run(tmp_path / "in.parquet", tmp_path / "out", bad, "--reuse", tmp_path / "before")
    assert second["rows"] == {**first["rows"], "scored": 0, "reused": 1}
    assert second["reuse"][0]["keys"] == 1
    assert second["checks"]["all"] == first["checks"]["all"] - 2  # but those of the row that has its label
    assert pq.read_table(tmp_path / "out" / "in.parquet")["reused"].to_pylist() == [True, False, False, False]
