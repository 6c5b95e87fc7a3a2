"""``_plan.json`` as a value: bytes as before it was one, files of earlier versions, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import OutputError
from scorer.inference.exact import ExactBound
from scorer.scoring.plan import Budgets, Plan
from scorer.storage.canonical import digest
from tests.scoring.run_files import FOLDER, SCHEMA_1, fields, written


@pytest.mark.parametrize("name", ["details", "part", "reuse"])
def test_a_plan_is_written_with_the_bytes_it_was_read_from(name: str) -> None:
    path = FOLDER / f"{name}_plan.json"
    plan = Plan.from_json(fields(path))
    assert written(plan.to_json()) == path.read_bytes()
    assert plan.digest == digest(json.loads(path.read_bytes()))


def test_what_a_plan_says() -> None:
    plan = Plan.from_json(fields(FOLDER / "details_plan.json"))
    assert plan.signature.parts["exact"] == "yes" and plan.signature.line.startswith("model:embedded-e2e@")
    assert plan.inputs["sample.parquet"].uri == "/srv/example/in/sample.parquet"
    assert plan.inputs["sample.parquet"].identity is not None and plan.inputs["sample.parquet"].identity.size == 2743
    assert plan.budgets == Budgets(16384, 33554432, 1024, 8, 2, ExactBound(123, 0.162204310297966))
    assert (plan.limit, plan.parts, plan.reuse) == (20, None, ())
    (reused,) = Plan.from_json(fields(FOLDER / "reuse_plan.json")).reuse
    assert (reused.out, reused.shards) == ("/srv/example/a", 1)


def test_plans_of_earlier_versions_are_read() -> None:
    plan = Plan.load(SCHEMA_1)
    assert plan is not None and sorted(plan.inputs) == ["a.parquet", "b.parquet"]
    assert plan.signature.whole == "" and "optional:eatType=restaurant" in plan.signature.line
    assert plan.settings["bundle"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"signature": 3}, "signature is 3, not a string"),
        ({"budgets": {"threads": "2"}}, "budgets.threads is 2, not a count"),
        ({"budgets": {"window_rows": -1}}, "budgets.window_rows is -1, not a count"),
        ({"inputs": {"a.parquet": []}}, r"inputs.a.parquet is \[\], not an object"),
        ({"inputs": {"a": {"identity": {"size": 1, "etag": "x"}}}}, "inputs.a.identity.etag is x, not a field"),
        ({"limit": True}, "limit is True, not a count"),
        ({"settings": "none"}, "settings is none, not an object"),
        ({"reuse": [{"shards": None}, {"shards": 1.5}]}, r"reuse\[1\].shards is 1.5, not a count"),
        ({"reuse": {}}, r"reuse is \{\}, not a list"),
    ],
)
def test_a_damaged_field_is_named_and_a_run_does_without(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    content = json.loads((FOLDER / "details_plan.json").read_bytes())
    (tmp_path / "_plan.json").write_text(json.dumps({**content, **changes}))
    with pytest.raises(OutputError, match=rf"_plan\.json is damaged: {named}.*; run `scorer run` again"):
        Plan.load(tmp_path)
    assert Plan.usable(fields(tmp_path / "_plan.json")) is None


def test_where_there_is_no_plan(tmp_path: Path) -> None:
    assert Plan.load(tmp_path) is None and Plan.usable(None) is None
    (tmp_path / "_plan.json").write_text('{"schema": 2}')
    with pytest.raises(OutputError, match="another version wrote it"):
        Plan.load(tmp_path)
