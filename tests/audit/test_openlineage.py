"""Events of OpenLineage: valid against the schemas of the specification, and saying what the audit says."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.errors import OutputError
from scorer.scoring.lineage import VERSIONS
from scorer.storage import user_files
from tests.audit.json_schema import errors
from tests.audit.nights import night, row
from tests.bundles import make_bundle

SCHEMAS = Path(__file__).resolve().parents[3] / "shared" / "schemas" / "openlineage"
PARENT = f"airflow/nightly.audit/{uuid.UUID(int=7)}"


def scorer(*arguments: Any, code: int = 0) -> None:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output


def events(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["run"]["runId"] for one in found] == [found[0]["run"]["runId"]] * 2
    assert found[0]["eventType"] == "START"
    return found


@pytest.fixture
def audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The events of an audit in which one gate fails, one warns, one passes and one is silent."""
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "pipelines")
    monkeypatch.setenv("OPENLINEAGE_PARENT_ID", PARENT)
    rows = [row(f"t{i}", [("food", 0.2 if i < 20 else 0.9)]) for i in range(100)]
    out, before = night(tmp_path / "out", rows), night(tmp_path / "before", rows[5:])
    (tmp_path / "gates.toml").write_text(
        '[[gates]]\nmetric = "not_ok_rate"\nwarn = 0.1\nfail = 0.15\n'
        '[[gates]]\nmetric = "omission_rate"\nwarn = 0.1\nfail = 0.5\n'
        '[[gates]]\nmetric = "error_rate"\nfail = 0.0\n'
        '[[gates]]\nmetric = "empty_rate"\nwarn = 0.0\nmin_rows = 1000\n'
    )
    file = tmp_path / "events.jsonl"
    gates = ("--gates", tmp_path / "gates.toml", "--baseline", before)
    scorer("audit", out, *gates, "--openlineage", file, code=1)
    return events(file)


def test_gates_are_assertions_and_tests(audited: list[dict[str, Any]]) -> None:
    start, end = audited
    assert end["eventType"] == "FAIL"
    assert end["job"] == {"namespace": "pipelines", "name": "scorer audit"}
    facets = end["run"]["facets"]
    assert facets["errorMessage"]["message"] == "1 of 4 gates failed"
    assert facets["parent"]["run"]["runId"] == PARENT.rpartition("/")[2]
    assert facets["parent"]["job"] == {"namespace": "airflow", "name": "nightly.audit"}
    tests = {one["type"]: (one["status"], one["severity"]) for one in facets["test"]["tests"]}
    assert tests == {
        "not_ok_rate": ("fail", "error"),
        "omission_rate": ("fail", "warn"),
        "error_rate": ("pass", "error"),
        "empty_rate": ("skip", "warn"),
    }
    out, before = end["inputs"]
    assert (out["namespace"], Path(out["name"]).name, Path(before["name"]).name) == ("file", "out", "before")
    found = {one["assertion"]: one for one in out["inputFacets"]["dataQualityAssertions"]["assertions"]}
    assert {name: one["success"] for name, one in found.items()} == {
        "not_ok_rate": False,
        "omission_rate": False,
        "error_rate": True,
    }
    assert (found["not_ok_rate"]["expected"], found["not_ok_rate"]["actual"]) == ("at most 0.15", "0.2")
    assert out["inputFacets"]["dataQualityMetrics"]["rowCount"] == 100
    assert "errorMessage" not in start["run"]["facets"]


@pytest.fixture
def ran(tmp_path: Path) -> list[dict[str, Any]]:
    """The events of a run that ends with too many rows with errors."""
    make_bundle(tmp_path / "tiny")
    texts = pa.array(["A is a pub.", None], pa.string())
    pq.write_table(pa.table({"text": texts, "mr": ["name[A], eatType[pub]"] * 2}), tmp_path / "a.parquet")
    file = tmp_path / "run.jsonl"
    given = (tmp_path / "a.parquet", "--bundle", tmp_path / "tiny", "--out", tmp_path / "scored")
    scorer("run", *given, "--openlineage", file, code=3)
    return events(file)


@pytest.mark.parametrize(("texts", "code"), [(["A is a pub.", None], 3), (["A is a pub."] * 2, 2)])
def test_a_run_keeps_its_own_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str | None], code: int
) -> None:
    """Neither file can be written: a run that ends with 3 stays at 3, and both options are named."""

    def fails(path: Path, content: bytes, what: str) -> None:
        raise OutputError(f"{what} {path}: No space left on device")

    make_bundle(tmp_path / "tiny")
    pq.write_table(pa.table({"text": texts, "mr": ["name[A], eatType[pub]"] * 2}), tmp_path / "a.parquet")
    monkeypatch.setattr(user_files, "write_user_file", fails)
    given = ["run", tmp_path / "a.parquet", "--bundle", tmp_path / "tiny", "--out", tmp_path / "scored"]
    given += ["--report", tmp_path / "report.html", "--openlineage", tmp_path / "events.jsonl"]
    ended = CliRunner().invoke(app, list(map(str, given)))
    assert ended.exit_code == code
    assert (tmp_path / "scored" / "_SUCCESS").exists()
    for option in ("--report", "--openlineage"):
        assert f"scorer: {option} was not written: {option} " in ended.stderr


def test_a_run_names_its_inputs_and_its_output(ran: list[dict[str, Any]]) -> None:
    start, end = ran
    assert end["eventType"] == "FAIL"
    assert "1 of 2 rows have errors" in end["run"]["facets"]["errorMessage"]["message"]
    assert [Path(one["name"]).name for one in end["inputs"]] == ["a.parquet"]
    (written,) = end["outputs"]
    assert Path(written["name"]).name == "scored"
    counts = written["outputFacets"]["outputStatistics"]
    assert (counts["rowCount"], counts["fileCount"]) == (2, 1)
    assert start["eventTime"] <= end["eventTime"]


def test_events_are_valid_against_the_specification(audited: list[dict[str, Any]], ran: list[dict[str, Any]]) -> None:
    if not SCHEMAS.is_dir():
        pytest.skip(f"the schemas of OpenLineage are not at {SCHEMAS}; this test needs them")
    schemas = {path.stem: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    known = {one["$id"]: one for one in schemas.values()}

    def check(schema: str, definition: str, value: Any) -> None:
        base = schemas[schema]["$id"]
        assert list(errors(value, {"$ref": f"#/$defs/{definition}"}, base, known)) == []

    broken = {**audited[0], "run": {"runId": "7"}, "eventType": "BEGIN"}
    base = schemas["OpenLineage"]["$id"]
    assert len(list(errors(broken, {"$ref": "#/$defs/RunEvent"}, base, known))) == 2
    seen = set()
    for event in (*audited, *ran):
        check("OpenLineage", "RunEvent", event)
        datasets = [*event["inputs"], *event["outputs"]]
        groups = [
            event["run"]["facets"],
            *(one.get(key, {}) for one in datasets for key in ("inputFacets", "outputFacets")),
        ]
        for facets in groups:
            for found in facets.values():
                url, _, definition = found["_schemaURL"].partition("#/$defs/")
                assert schemas[definition]["$id"] == url
                check(definition, definition, found)
                seen.add(definition)
    assert seen == VERSIONS.keys()


def test_a_parent_that_cannot_be_read_is_exit_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_PARENT_ID", "airflow/task/17")
    out = night(tmp_path / "out", [row()])
    scorer("audit", out, "--openlineage", tmp_path / "events.jsonl", code=2)
