"""Shards in pieces (``--split-rows``): units of resuming and of parts, in a folder that is one table."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scorer.errors import OutputError, UsageError
from scorer.run.driver import run
from scorer.run.options import RunOptions
from scorer.scoring.plan import Plan
from scorer.storage import Receipts, SeenOutput
from scorer.storage.pieces import Piece
from tests.run.test_row_scorer import TextLengthScoring, Told, lengths, texts
from tests.storage.backends import data_files as files

NAMES = [f"a.parquet/part-0000{i}.parquet" for i in range(4)]
"""Of 25 rows in row groups of 4, in pieces of at most 8."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    pq.write_table(texts(25), folder / "a.parquet", row_group_size=4)
    pq.write_table(texts(5), folder / "deep" / "b.parquet", row_group_size=4)
    return folder


def refused(data: Path, out: Path, **more: Any) -> str:
    before = files(out)
    with pytest.raises(OutputError) as caught:
        lengths(data, out, **more)
    assert files(out) == before
    return str(caught.value)


def test_a_shard_in_pieces_is_a_folder_that_is_one_table(data: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    before, after = lengths(data, whole), lengths(data, out, split_rows=8)
    assert (after.exit_code, after.summary.shards.done, after.summary.counts) == (0, 5, before.summary.counts)
    assert list(files(out)) == [*NAMES, "deep/b.parquet"] and SeenOutput(out).is_finished
    assert files(out)["deep/b.parquet"] == files(whole)["deep/b.parquet"]
    assert [pq.read_metadata(out / name).num_rows for name in NAMES] == [8, 8, 8, 1]
    expected = pq.read_table(whole / "a.parquet")
    assert pq.read_table(out / "a.parquet").equals(expected)
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    assert polars.read_parquet(out / "a.parquet").to_arrow().to_pylist() == expected.to_pylist()
    read = duckdb.sql(f"select * from '{out}/a.parquet/*.parquet'").fetchall()
    assert read == [tuple(row.values()) for row in expected.to_pylist()]


def test_pieces_are_recorded_and_resumed_by_themselves(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    lengths(data, out, split_rows=8)
    plan, before = Plan.load(out), files(out)
    assert plan is not None and plan.split_rows == 8
    assert [plan.inputs[name].piece for name in NAMES] == [Piece(0, 8), Piece(8, 8), Piece(16, 8), Piece(24, 1)]
    assert plan.inputs["deep/b.parquet"].piece is None
    for name in NAMES:
        receipt = Receipts(out).read(name)
        planned = plan.inputs[name]
        assert receipt is not None and receipt.plan == plan.digest
        assert (receipt.input.piece, receipt.input.identity) == (planned.piece, planned.identity)
        assert receipt.input.content == hashlib.sha256((data / "a.parquet").read_bytes()).hexdigest()
    (out / NAMES[1]).unlink()
    (out / "_receipts" / f"{NAMES[3]}.json").unlink()
    again = lengths(data, out, split_rows=8).summary
    assert (again.shards.done, again.shards.skipped, again.computed_now) == (5, 3, 8 + 1)
    assert files(out) == before
    os.utime(data / "a.parquet")  # the same content at another time
    assert lengths(data, out, split_rows=8).summary.shards.skipped == 5


def test_another_division_replaces_outputs_only_with_prune(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    lengths(data, out)
    whole = files(out)
    said = refused(data, out, split_rows=8)
    assert "1 output of inputs that would be divided in another way (a.parquet; give the --split-rows" in said
    told = Told()
    assert lengths(data, out, told=told, split_rows=8, prune=True).summary.shards.skipped == 1
    assert "removed a.parquet: its input is divided in another way now" in told.messages
    assert list(files(out)) == [*NAMES, "deep/b.parquet"]
    assert "2 outputs of inputs that would be divided in another way" in refused(data, out, split_rows=24)
    assert "4 outputs of inputs that would be divided" in refused(data, out)
    # Smaller pieces lose no output: those of the same names are replaced, the others are new.
    told = Told()
    assert lengths(data, out, told=told, split_rows=5).summary.counts.rows.all == 30
    why = "it holds other rows of its input (--split-rows)"
    assert f"scored again (4 shards): {why}: {', '.join(NAMES[:3])} and 1 more" in told.messages
    assert [pq.read_metadata(path).num_rows for path in sorted((out / "a.parquet").iterdir())] == [4] * 5 + [5]
    assert pq.read_table(out / "a.parquet").num_rows == 25
    assert lengths(data, out, prune=True).exit_code == 0
    assert files(out) == whole


@pytest.mark.slow
def test_an_input_that_cannot_be_opened_keeps_its_pieces(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    lengths(data, out, split_rows=8)
    before, good = files(out), (data / "a.parquet").read_bytes()
    (data / "a.parquet").write_bytes(good[:-9])
    outcome = lengths(data, out, split_rows=8)
    assert (outcome.exit_code, outcome.summary.shards.failed, outcome.summary.shards.done) == (3, 4, 1)
    assert files(out) == before and Receipts(out).failed_names() == NAMES
    assert lengths(data, out, split_rows=8).exit_code == 3 and files(out) == before
    (data / "a.parquet").write_bytes(good)
    assert lengths(data, out, split_rows=8).exit_code == 0 and SeenOutput(out).is_finished
    assert files(out) == before and Receipts(out).failed_names() == []


def test_the_receipts_of_pieces_need_a_folder_of_their_own(data: Path, tmp_path: Path) -> None:
    """Without pieces, the outputs ``x`` and ``x.json`` have the receipts ``x.json`` and ``x.json.json``."""
    (data / "deep" / "b.parquet").rename(data / "x")
    (data / "a.parquet").rename(data / "x.json")
    inputs = (str(data / "x"), str(data / "x.json"))
    options = RunOptions(inputs, tmp_path / "out", max_error_rate=0.5, form="parquet", split_rows=8)
    with pytest.raises(UsageError, match="need a file and a folder of the same name"):
        run(options, TextLengthScoring(), Told())
    assert not (tmp_path / "out").exists()
