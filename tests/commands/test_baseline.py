"""``scorer baseline`` over shards: the plan, receipts, resuming and quarantined shards of any run; or one file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.metric.columns import OUTPUT
from tests.run.calls import scorer

MR = "name[Blue Spice], eatType[pub], familyFriendly[no]"
TEXTS = ["Blue Spice is a pub. It is not family friendly.", "Blue Spice is Italian.", " "]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.parquet", "deep/b.parquet"):
        pq.write_table(pa.table({"mr": [MR] * 3, "text": TEXTS}), folder / name)
    return folder


def test_a_folder_has_the_rows_of_one_file_and_is_resumed(data: Path, tmp_path: Path) -> None:
    out, one = tmp_path / "out", tmp_path / "one.parquet"
    scorer("baseline", "e2e-slots", data, "--out", one)
    first = json.loads(scorer("baseline", "e2e-slots", data, "--out", out, "--json").stdout)
    assert first["rows"] == {"in": 6, "scored": 6, "reused": 0, "errors": {}, "notes": {"empty_text": 2}}
    assert first["labels"] == {"OK": 2, "omission": 2, "hallucination": 0, "omission+hallucination": 2}
    shards = [pq.read_table(out / name) for name in ("a.parquet", "deep/b.parquet")]
    assert pa.concat_tables(shards).equals(pq.read_table(one))
    assert shards[0].schema.names[2:13] == OUTPUT.names
    assert shards[0].schema.metadata[b"d2t_scorer.signature"] == b"baseline:e2e-slots|metric:1"
    (out / "_receipts" / "a.parquet.json").unlink()
    again = json.loads(scorer("baseline", "e2e-slots", data, "--out", out, "--json").stdout)
    assert (again["shards"]["skipped"], again["computed_now"]) == (1, 3)
    assert again["labels"] == first["labels"]
    said = scorer("baseline", "keywords", data, "--out", out, "--rescore").output
    assert "0 in earlier runs" in said and "distinct pairs" not in said


def test_rows_of_another_kind_set_their_shard_aside(data: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"mr": ["name[A], hobby[tea]"], "text": ["x"]}), data / "c.parquet")
    said = scorer("baseline", "e2e-slots", data, "--out", tmp_path / "out", code=3).output
    assert "1 shards failed" in said
    noted = json.loads((tmp_path / "out" / "_failed" / "c.parquet.json").read_text())
    assert "no E2E slot but 'hobby'" in noted["message"]
    assert sorted(path.name for path in (tmp_path / "out").rglob("[!_]*.parquet")) == ["a.parquet", "b.parquet"]
