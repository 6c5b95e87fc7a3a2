"""Row ranges of an input (``--split-rows``): units of resuming and of parts, in a folder that is one table."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer.storage.output_folder import OutputFolder
from scorer.storage.receipts import Receipt
from tests.run.calls import scorer as command
from tests.run.runs import Told, score, texts
from tests.storage.backends import data_files as files

NAMES = [f"a.parquet/part-0000{i}.parquet" for i in range(4)]
"""Of 25 rows in row groups of 4, in ranges of at most 8."""
SMALL = "deep/b.parquet/part-00000.parquet"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    pq.write_table(texts(25), folder / "a.parquet", row_group_size=4)
    pq.write_table(texts(5), folder / "deep" / "b.parquet", row_group_size=4)
    return folder


def test_an_input_in_row_ranges_is_a_folder_that_is_one_table(data: Path, tmp_path: Path, bundle: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    before, after = score(data, whole, bundle), score(data, out, bundle, split_rows=8)
    assert (after.exit_code, after.summary.shards.done, after.summary.rows) == (0, 5, before.summary.rows)
    assert list(files(out)) == [*NAMES, SMALL] and OutputFolder(out).why_unfinished() is None
    assert files(out)[SMALL] == files(whole)["deep/b.parquet"]
    assert [pq.read_metadata(out / name).num_rows for name in NAMES] == [8, 8, 8, 1]
    expected = pq.read_table(whole / "a.parquet")
    assert pq.read_table(out / "a.parquet").equals(expected)
    duckdb = pytest.importorskip("duckdb")
    read = duckdb.sql(f"select text, fine from '{out}/a.parquet/*.parquet'").fetchall()
    assert read == list(zip(expected["text"].to_pylist(), expected["fine"].to_pylist(), strict=True))


def test_row_ranges_are_recorded_and_resumed_by_themselves(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    score(data, out, bundle, split_rows=8)
    plan, before = OutputFolder(out).read_plan(), files(out)
    assert plan is not None and plan.split_rows == 8
    assert [plan.inputs[name].groups for name in NAMES] == [(0, 2), (2, 4), (4, 6), (6, 7)]
    for name in NAMES:
        receipt = OutputFolder(out).receipt(name)
        assert isinstance(receipt, Receipt) and receipt.plan == plan.digest
        assert (receipt.input.groups, receipt.input.identity) == (plan.inputs[name].groups, plan.inputs[name].identity)
        assert receipt.input.content_sha256 == hashlib.sha256((data / "a.parquet").read_bytes()).hexdigest()
    (out / NAMES[1]).unlink()
    (out / "_receipts" / f"{NAMES[3]}.json").unlink()
    again = score(data, out, bundle, split_rows=8).summary
    assert (again.shards.done, again.shards.skipped) == (5, 3)
    assert files(out) == before
    os.utime(data / "a.parquet")  # the same content at another time
    assert score(data, out, bundle, split_rows=8).summary.shards.skipped == 5


def test_outputs_of_another_division_are_removed_and_named(data: Path, tmp_path: Path, bundle: Path) -> None:
    out, told = tmp_path / "out", Told()
    score(data, out, bundle)
    assert score(data, out, bundle, told=told, split_rows=8, rescore=True).exit_code == 0
    assert "removed a.parquet: its input is divided in another way now" in told.messages
    assert list(files(out)) == [*NAMES, SMALL]


def test_readers_find_rows_by_the_input_and_by_the_range(data: Path, tmp_path: Path, bundle: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    for folder, more in ((whole, ()), (out, ("--split-rows", 8))):
        command("run", data, "--out", folder, "--bundle", bundle, "--max-error-rate", 1, *more)
    key = pq.read_table(whole / "a.parquet")["row_key"][10].as_py().hex()
    for given in (("--row", "a.parquet:10"), ("--row", f"{NAMES[1]}:2"), ("--key", key)):
        found = json.loads(command("explain", out, *given, "--json").stdout)
        assert (found["file"], found["row"], found["key"]) == (NAMES[1], 2, key)
    changes = json.loads(command("audit", out, "--baseline", whole, "--json").stdout)["baseline_changes"]
    assert (changes["kept"], changes["added"], changes["removed"], changes["flips"]["count"]) == (30, 0, 0, 0)


@pytest.mark.slow
def test_an_input_that_cannot_be_opened_keeps_its_row_ranges(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    score(data, out, bundle, split_rows=8)
    before, good = files(out), (data / "a.parquet").read_bytes()
    (data / "a.parquet").write_bytes(good[:-9])
    outcome = score(data, out, bundle, split_rows=8)
    assert (outcome.exit_code, outcome.summary.shards.failed, outcome.summary.shards.done) == (3, 4, 1)
    assert files(out) == before and sorted(OutputFolder(out).failed_shards()) == NAMES
    assert score(data, out, bundle, split_rows=8).exit_code == 3 and files(out) == before
    (data / "a.parquet").write_bytes(good)
    assert score(data, out, bundle, split_rows=8).exit_code == 0 and OutputFolder(out).why_unfinished() is None
    assert files(out) == before and OutputFolder(out).failed_shards() == {}
