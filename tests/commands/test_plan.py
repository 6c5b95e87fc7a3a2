from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.run import estimate
from tests.bundles import make_bundle
from tests.run.calls import run, scorer


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("plan") / "tiny", templates={"eatType": "<subject> is a <object>."})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        texts = ["The Mill is a pub.", "", None, "pub " * 300, f"N{i} serves food."]
        mrs = ["name[The Mill], eatType[pub], area[riverside]"] * 5
        pq.write_table(pa.table({"text": texts * 20, "mr": mrs * 20}), folder / f"{i}.parquet")
    return folder


def plan(*arguments: Any) -> dict[str, Any]:
    return json.loads(scorer("plan", *arguments, "--json").stdout)


def test_a_plan_counts_what_the_run_then_does(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    planned = plan(data, "--bundle", bundle, "--out", out)
    assert not out.exists()
    done = run(data, out, bundle)
    assert planned["signature"] == done["signature"]
    assert {"reuse", "disk", "seconds", "device", "precision", "rows_in_five_minutes", "first_facts"} < planned.keys()
    assert planned["shards"].keys() >= {"usable", "again", "outside", "shorter", "divided", "failed", "pieces", "note"}
    assert not planned["estimated"]
    assert planned["rows"] == {"all": 300, "to_score": 300, "sampled": 300}
    assert planned["errors"] == done["rows"]["errors"] == {"null_text": 60, "too_long": 60}
    assert planned["notes"] == done["rows"]["notes"]
    assert planned["checks"] == {key: done["checks"][key] for key in ("all", "unique")}
    assert planned["facts"] == done["facts"]
    assert sum(one["pairs"] for one in planned["token_lengths"]) == done["checks"]["computed"]
    assert planned["too_long"] > 0
    assert plan(data, "--bundle", bundle, "--out", out)["shards"]["skipped"] == 3


def test_many_rows_are_estimated_and_said_to_be(data: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "SAMPLE_ROWS", 100)
    planned = plan(data, "--bundle", bundle)
    assert planned["estimated"]
    assert planned["rows"]["sampled"] == 100
    assert planned["errors"] == {"null_text": 60, "too_long": 60}
    assert "estimated from 100 of 300 rows" in scorer("plan", data, "--bundle", bundle).stdout


def test_unusable_shards_are_named(data: Path, bundle: Path) -> None:
    (data / "x.parquet").write_bytes(b"nothing")
    assert list(plan(data, "--bundle", bundle)["shards"]["failed"]) == ["x.parquet"]
