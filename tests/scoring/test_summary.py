"""``_run.json`` as a value: bytes as before it was one, files of earlier versions, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import OutputError
from scorer.scoring.summary import RunSummary, ShardCounts, Speed, origins_in
from scorer.storage.counts import FactCounts, RecheckCounts, RowCounts
from scorer.storage.durable import read_json
from scorer.system.json_fields import Fields
from tests.scoring.run_files import FOLDER, fields, written


@pytest.mark.parametrize("name", ["details", "part", "reuse"])
def test_a_summary_is_written_with_the_bytes_it_was_read_from(name: str) -> None:
    path = FOLDER / f"{name}_run.json"
    assert written(RunSummary.from_json(fields(path)).to_json()) == path.read_bytes()


def test_what_a_summary_says() -> None:
    found = RunSummary.from_json(fields(FOLDER / "reuse_run.json"))
    assert found.counts.rows == RowCounts(30, 0, 30, {}, {"empty_text": 1})
    assert (found.counts.facts.template, found.counts.facts.by_predicate["food"].template) == (93, 21)
    assert found.counts.recheck == RecheckCounts(found.recheck.rows, 0)
    assert found.shards == ShardCounts(done=1)
    assert [one.out for one in found.reuse] == ["a"] and found.reuse[0].keys == 30
    assert len(found.origins) == 1 and found.origins[0].device == found.device and found.device.threads == 2
    exact = RunSummary.from_json(fields(FOLDER / "details_run.json")).exact
    assert exact is not None and exact.pairs == 123
    assert RunSummary.from_json(fields(FOLDER / "part_run.json")).shards == ShardCounts(0, 0, 0, 1)


def test_the_least_that_a_summary_must_have(tmp_path: Path) -> None:
    assert RunSummary.load(tmp_path) is None
    for content in ("{", "[]", "{}"):
        (tmp_path / "_run.json").write_text(content)
        assert RunSummary.load(tmp_path) is None and origins_in(read_json(tmp_path / "_run.json"), "out") == ()
    (tmp_path / "_run.json").write_text('{"rows": {"in": 3}, "later": {"more": 1}}')
    found = RunSummary.load(tmp_path)
    assert found is not None and found.counts.rows == RowCounts(3) and found.counts.facts == FactCounts()
    assert (found.speed, found.bound, found.device.name) == (None, None, "")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"rows": None}, "rows is None, not an object"),
        ({"rows": {}}, "rows.in is None, not a count"),
        ({"rows": {"in": 1, "errors": {"null_text": True}}}, "rows.errors.null_text is True, not a count"),
        ({"checks": {"unique": 1.0}}, "checks.unique is 1.0, not a count"),
        ({"tokens": 1}, "tokens is 1, not an object"),
        ({"seconds": {"read": "1"}}, "seconds.read is 1, not a number"),
        ({"device": "cpu"}, "device is cpu, not an object"),
        ({"bound": -1.0}, "bound is -1.0, not a number"),
        ({"speed": {"shapes": [[1, "2"]]}}, "speed.shapes is .*, not a list of lists of counts"),
        ({"reuse": [{"differs": [1]}]}, r"reuse\[0\].differs is \[1\], not a list of strings"),
        ({"reuse": [{"signature_equal": 1}]}, r"reuse\[0\].signature_equal is 1, not true or false"),
        ({"finished": 20260101}, "finished is 20260101, not a string"),
    ],
)
def test_a_damaged_field_is_named(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    content = json.loads((FOLDER / "details_run.json").read_bytes())
    (tmp_path / "_run.json").write_text(json.dumps({**content, **changes}))
    with pytest.raises(OutputError, match=rf"_run\.json is damaged: {named}.*; run `scorer run` again"):
        RunSummary.load(tmp_path)


@pytest.mark.parametrize(
    "change", [{"bound": "0.1"}, {"bound": None}, {"exact": -1}, {"more": 1}, {"device": []}, {"runtime": 1}]
)
def test_labels_of_a_damaged_origin_may_come_from_anywhere(tmp_path: Path, change: dict[str, Any]) -> None:
    content = json.loads((FOLDER / "details_run.json").read_bytes())
    (tmp_path / "_run.json").write_text(json.dumps(content))
    assert len(origins_in(read_json(tmp_path / "_run.json"), "out")) == 1
    content["origins"][0].update(change)
    (tmp_path / "_run.json").write_text(json.dumps(content))
    assert origins_in(read_json(tmp_path / "_run.json"), "out") == ()


def test_a_speed_comes_back_whatever_was_measured() -> None:
    found = RunSummary.from_json(fields(FOLDER / "details_run.json"))
    measured = Speed(1.5, 2.0, 3.0, 4.0, 0.25, 0.5, 1e9, 2e9, 0.5, ((8, 64, 3), (1, 8, 1)))
    content = json.loads(json.dumps(replace(found, speed=measured).to_json()))
    assert RunSummary.from_json(Fields.of(content, "_run.json")).speed == measured
