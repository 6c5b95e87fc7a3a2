from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.run import planned as plan_module
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


def test_a_plan_says_what_the_run_then_does(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    planned = plan(data, "--bundle", bundle, "--out", out)
    assert not out.exists()
    done = run(data, out, bundle)
    assert planned["signature"] == done["signature"]
    assert (planned["shards"], planned["rows"], planned["rows_to_score"], planned["done"]) == (3, 300, 300, 0)
    assert planned["sampled_rows"] == 300 and planned["first_facts"] == [
        "The Mill is a pub.",
        "The area of The Mill is riverside.",
    ]
    assert planned["errors"] == {"null_text": 60}
    assert (planned["facts"], planned["checks"]) == (done["facts"], done["checks"]["all"])
    assert planned["pairs_per_s"] > 0 and planned["seconds"] > 0 and planned["refused"] is None
    again = plan(data, "--bundle", bundle, "--out", out)
    assert (again["done"], again["rows_to_score"], again["seconds"]) == (3, 0, None)
    said = scorer("plan", data, "--bundle", bundle, "--out", out, "--checks", "hallucination").stdout
    assert "done: 0 shards; 300 rows to score" in said and "refused: " in said and "--rescore" in said


def test_facts_are_those_of_a_sample(data: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "SAMPLE_ROWS", 20)
    said = scorer("plan", data, "--bundle", bundle).stdout
    assert "rows: 300" in said and "sample of 60 rows: " in said
    assert "  null_text: 12 rows" in said and "time: about " in said


def test_unusable_files_are_named_and_alone_end_it_as_a_run_does(data: Path, tmp_path: Path, bundle: Path) -> None:
    broken = data / "x.parquet"
    broken.write_bytes(b"nothing")
    assert list(plan(data, "--bundle", bundle)["unreadable"]) == ["x.parquet"]
    planned = scorer("plan", broken, "--bundle", bundle, code=2)
    ran = scorer("run", broken, "--bundle", bundle, "--out", tmp_path / "out", code=2)
    assert "1 unusable" in planned.stdout and planned.stderr == ran.stderr and "is not a Parquet file" in ran.stderr
