"""A run into a folder or a store: outputs, receipts, plan, resuming, quarantined shards."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scorer.run.shard_scorer
import scorer.scoring.opening
from scorer.errors import DeviceError, OutputError
from scorer.metric.columns import OUTPUT
from scorer.run.run_status import status_of
from scorer.scoring.opening import OpenScorer
from scorer.scoring.summary import ComputeDevice, ComputeEnvironment
from scorer.storage.location import Location
from scorer.storage.output_writer import lock_output
from scorer.storage.store import open_store
from tests.run.runs import Told, receipts, score, table_of, texts
from tests.storage.backends import data_files, files, put, remove


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    pq.write_table(texts(25), folder / "a.parquet")
    pq.write_table(texts(5), folder / "deep" / "b.parquet")
    return folder


def test_shards_have_columns_signature_and_receipts(data: Path, target: Location, bundle: Path) -> None:
    outcome = score(data, target, bundle)
    assert (outcome.exit_code, outcome.summary.shards.done, outcome.summary.counts.rows.all) == (0, 2, 30)
    found = files(target)
    assert outcome.summary.counts.rows.errors == {"null_text": 4} and "_SUCCESS" in found
    for name, rows in (("a.parquet", 25), ("deep/b.parquet", 5)):
        table = table_of(target, name)
        assert len(table) == rows and table.schema.names == ["text", *OUTPUT.names]
        assert table["text"].equals(pq.read_table(data / name)["text"]) and table["row_key"].null_count == 0
        assert table.schema.metadata[b"d2t_scorer.signature"].decode() == outcome.summary.signature_line
        receipt = json.loads(found[f"_receipts/{name}.json"])
        assert receipt["output"]["sha256"] == hashlib.sha256(found[name]).hexdigest()
        assert receipt["fingerprint"]["columns"]["keep"] == ["text"]
        assert receipt["input"]["content_sha256"] == hashlib.sha256((data / name).read_bytes()).hexdigest()
    checks = outcome.summary.checks
    assert checks.all == checks.unique == checks.computed == 48
    plan = json.loads(found["_plan.json"])
    assert plan["settings"]["bundle"] == str(bundle) and set(plan["inputs"]) == {"a.parquet", "deep/b.parquet"}
    assert (plan["budgets"]["window_rows"], plan["budgets"]["first_rows"]) == (4, [1024, 4096])
    status = status_of([target])
    assert (status.finished, status.done, status.planned, status.holders) == (True, 2, 2, [])


def test_the_bytes_are_those_of_any_other_place(data: Path, target: Location, tmp_path: Path, bundle: Path) -> None:
    """Through a limit, a resume, and after damage."""
    score(data, tmp_path / "whole", bundle)
    whole = data_files(tmp_path / "whole")
    assert score(data, target, bundle, limit=7).summary.counts.rows.all == 7
    assert score(data, target, bundle).exit_code == 0
    assert data_files(target) == whole and status_of([target]).finished
    remove(target, "_receipts/a.parquet.json")
    put(target, "deep/b.parquet", b"other bytes")
    assert score(data, target, bundle).summary.shards.skipped == 0 and data_files(target) == whole
    before = receipts(target)
    assert score(data, target, bundle).summary.shards.skipped == 2
    assert receipts(target) == before, "nothing was left to do"


def test_a_resume_cuts_the_first_windows_as_its_plan_says(data: Path, target: Location, bundle: Path) -> None:
    score(data, target, bundle)
    content = json.loads(files(target)["_plan.json"])
    content["budgets"]["first_rows"] = [1, 2]
    put(target, "_plan.json", json.dumps(content).encode())
    remove(target, "_receipts/a.parquet.json")
    score(data, target, bundle)
    found = pq.ParquetFile(pa.BufferReader(files(target)["a.parquet"])).metadata
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == [1, 2, 4, 4, 4, 4, 4, 2]
    assert json.loads(files(target)["_plan.json"])["budgets"] == content["budgets"]


def test_a_resume_keeps_the_threads_of_its_plan_and_says_so(
    data: Path, target: Location, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for with ``threads``, or found in a container with another quota."""

    def resumed(threads: int | None) -> list[str]:
        remove(target, "_receipts/a.parquet.json")
        told = Told()
        assert score(data, target, bundle, told=told, threads=threads).exit_code == 0
        return [message for message in told.messages if "number of threads" in message]

    score(data, target, bundle, threads=3)
    whole, plan = data_files(target), files(target)["_plan.json"]
    assert json.loads(plan)["budgets"]["threads"] == json.loads(plan)["settings"]["threads"] == 3
    assert resumed(3) == []
    kept = "note: the plan's number of threads a worker, 3, is kept, so that all labels are computed alike"
    assert resumed(2) == [f"{kept}; a new --out would have 2"]
    monkeypatch.setattr(scorer.scoring.opening, "thread_count", lambda: 5)
    assert resumed(None) == [f"{kept}; a new --out would have 5"]
    assert (data_files(target), files(target)["_plan.json"]) == (whole, plan)


def test_a_run_has_the_threads_that_its_container_allows(
    data: Path, target: Location, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scorer.inference.verification.thread_count", lambda: 1)
    score(data, target, bundle)
    assert json.loads(files(target)["_plan.json"])["budgets"]["threads"] == 1


def test_a_bad_shard_is_quarantined_and_the_rest_is_scored(data: Path, target: Location, bundle: Path) -> None:
    pq.write_table(texts(3).drop_columns(["text"]), data / "lacks.parquet")
    pq.write_table(pa.table({"text": range(9), "mr": ["name[A]"] * 9}), data / "numbers.parquet")
    (data / "torn.parquet").write_bytes((data / "a.parquet").read_bytes()[:-9])
    outcome = score(data, target, bundle)
    assert (outcome.exit_code, outcome.summary.shards.done, outcome.summary.shards.failed) == (3, 2, 3)
    found = files(target)
    noted = {name: json.loads(content) for name, content in found.items() if name.startswith("_failed/")}
    assert noted["_failed/lacks.parquet.json"]["message"].startswith("no column 'text'")
    assert "_failed/torn.parquet.json" in noted
    assert "column 'text' is int64" in noted["_failed/numbers.parquet.json"]["message"]
    assert "numbers.parquet" not in found and "_SUCCESS" not in found
    for name in ("lacks", "numbers", "torn"):
        (data / f"{name}.parquet").unlink()
    assert score(data, target, bundle, allow_stale=True).exit_code == 0


def test_a_shard_that_changes_while_it_is_read_is_quarantined(
    data: Path, target: Location, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = scorer.run.shard_scorer.read_windows

    def touch(shard: object, *given: object, **more: object) -> object:
        found = list(real(shard, *given, **more))  # type: ignore[arg-type]
        for number, one in enumerate(found):
            yield one
            if number == 3 and shard.relative == "a.parquet":  # type: ignore[attr-defined]
                os.truncate(data / "a.parquet", 100)
                yield from real(shard, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(scorer.run.shard_scorer, "read_windows", touch)
    outcome = score(data, target, bundle)
    assert (outcome.exit_code, outcome.summary.shards.failed) == (3, 1)
    assert list(data_files(target)) == ["deep/b.parquet"] and "_failed/a.parquet.json" in files(target)


def test_a_touched_input_is_not_scored_again_and_one_of_other_content_is(
    data: Path, target: Location, bundle: Path
) -> None:
    """One byte of a text differs: size and footer are the same."""
    path = data / "a.parquet"
    pq.write_table(texts(25), path, compression="none", use_dictionary=False, write_statistics=False)
    score(data, target, bundle)
    info = open_store(target).list("a.parquet")
    os.utime(path, ns=(1, 2))
    assert score(data, target, bundle).summary.shards.skipped == 2
    assert open_store(target).list("a.parquet") == info and {"_SUCCESS", "_run.json"} <= files(target).keys()
    content = path.read_bytes()
    at = content.index(b"x" * 24)
    path.write_bytes(content[:at] + b"y" + content[at + 1 :])
    os.utime(path, ns=(1, 3))
    told = Told()
    assert score(data, target, bundle, told=told).summary.shards.skipped == 1
    assert any("its input changed: mtime_ns: a.parquet" in message for message in told.messages)
    assert table_of(target, "a.parquet")["text"].to_pylist()[-1] == "y" + "x" * 23


def test_a_run_is_refused_while_another_holds_the_output(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    with lock_output(out), pytest.raises(OutputError, match=rf"pid {os.getpid()} "):
        score(data, out, bundle)
    assert score(data, out, bundle).exit_code == 0


def test_a_resume_elsewhere_is_refused_unless_all_is_scored_again(
    data: Path, target: Location, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score(data, target, bundle)
    before = receipts(target)
    monkeypatch.setattr(OpenScorer, "origin", ComputeEnvironment(ComputeDevice("cpu", "another"), "", 0.0, 0.0))
    assert score(data, target, bundle).summary.shards.skipped == len(before)  # nothing is scored, so nothing is mixed
    assert receipts(target) == before
    remove(target, next(iter(before)))
    with pytest.raises(DeviceError, match=r"device: cpu .* → cpu another.*--rescore"):
        score(data, target, bundle)
    assert score(data, target, bundle, rescore=True).summary.shards.skipped == 0
    assert score(data, target, bundle).summary.shards.skipped == len(before)
