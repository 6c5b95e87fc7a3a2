"""Workers of a joined run, in threads of this process and without a model: who does what, and what they agree on."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scorer.errors import OutputError, UsageError
from scorer.run import joining
from scorer.run.options import JoinOptions, Outcome, RunOptions
from scorer.run.status import status_of
from scorer.run.worker import run_joined
from scorer.scoring.plan import Plan
from scorer.storage import OutputFolder, Receipts
from scorer.storage.claims import Claims
from scorer.storage.durable import temporary_name
from scorer.storage.finished import is_finished
from tests.run.test_row_scorer import TextLengthScoring, Told, lengths, texts

SHARDS = 6


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    for i in range(SHARDS):
        pq.write_table(texts(5 + i), folder / ("deep" if i % 3 else ".") / f"{i:02d}.parquet")
    return folder


def work(data: Path, out: Path, told: Told | None = None, **more: Any) -> Outcome:
    join = JoinOptions(more.pop("lease_s", 60.0), more.pop("mixed_devices", False))
    revision = more.pop("revision", 1)
    options = RunOptions((str(data),), out, max_error_rate=0.5, window_rows=4, join=join, **more)
    return run_joined(options, join, TextLengthScoring(revision=revision), told or Told())


def joined(out: Path) -> OutputFolder:
    """Another worker that runs, and holds nothing."""
    folder = OutputFolder.open(out, shared=True)
    with folder.brief():
        folder.join_worker()
    return folder


def same_files(one: Path, other: Path) -> bool:
    found = [{path.relative_to(out): path.read_bytes() for path in out.rglob("*.parquet")} for out in (one, other)]
    return found[0] == found[1] and len(found[0]) == SHARDS


@pytest.mark.slow
def test_four_workers_at_once_do_every_shard_once(data: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    lengths(data, whole)
    outcomes: list[Outcome] = []
    threads = [threading.Thread(target=lambda: outcomes.append(work(data, out))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert [outcome.exit_code for outcome in outcomes] == [0] * 4
    assert same_files(out, whole)
    summary = outcomes[0].summary
    assert all(outcome.summary == summary for outcome in outcomes), "the outcome is the run's, not the worker's"
    assert summary.shards.done == SHARDS and summary.counts.rows.all == sum(5 + i for i in range(SHARDS))
    assert sum(summary.workers.values()) == SHARDS
    plan = Plan.load(out)
    assert plan is not None and (out / "_SUCCESS").read_text() == plan.digest == summary.plan
    assert sorted(path.name for path in out.glob("_*")) == [
        "_SUCCESS", "_lock", "_lock.brief", "_plan.json", "_receipts", "_run.json",
    ]  # fmt: skip


def test_a_later_worker_reads_the_plan_instead_of_the_inputs(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    work(data, out)
    (out / "_receipts" / "00.parquet.json").unlink()
    for name in ("_SUCCESS", "_run.json"):
        (out / name).unlink()
    monkeypatch.setattr(joining, "survey", lambda *given: pytest.fail("surveyed the inputs"))
    with joined(out):
        outcome = work(data, out)
        assert outcome.exit_code == 0 and is_finished(out)
        # And one that comes when all is done has the same outcome.
        assert work(data, out).summary == outcome.summary


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"revision": 2}, "signature: revision: 1 → 2"),
        ({"data": "deep"}, "inputs: inputs"),
    ],
)
def test_a_worker_that_means_another_run_is_refused(data: Path, tmp_path: Path, more: Any, says: str) -> None:
    out = tmp_path / "out"
    work(data, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    with joined(out), pytest.raises(OutputError, match="the plan of another run") as caught:
        work(data / more.pop("data", ""), out, **more)
    assert says in str(caught.value)
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")} and is_finished(out)
    if "revision" in more:  # without the other worker it is a run of its own
        assert work(data, out, **more).summary.shards.skipped == 0


@pytest.mark.parametrize(("alone", "field"), [(True, "device"), (False, "versions")])
def test_other_hardware_or_versions_need_an_option(data: Path, tmp_path: Path, alone: bool, field: str) -> None:
    out = tmp_path / "out"
    work(data, out)
    plan = json.loads((out / "_plan.json").read_text())
    plan["join"][field] = "cpu of another kind" if field == "device" else plan["join"]["versions"] | {"pyarrow": "1"}
    (out / "_plan.json").write_text(json.dumps(plan))
    (out / "_receipts" / "00.parquet.json").unlink()
    for name in ("_SUCCESS", "_run.json"):
        (out / name).unlink()
    other = None if alone else joined(out)
    with pytest.raises(OutputError, match=rf"on other hardware or versions \(plan → this worker: {field}: .*--mixed-d"):
        work(data, out)
    told = Told()
    assert work(data, out, told, mixed_devices=True).exit_code == 0
    assert any("joined with differences" in message for message in told.messages)
    assert json.loads((out / "_plan.json").read_text()) == plan
    if other is not None:
        other.close()


@pytest.mark.slow
def test_damage_is_found_at_the_end_and_the_shard_is_scored_again(data: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    lengths(data, whole)
    work(data, out)
    damaged = bytearray((out / "00.parquet").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (out / "00.parquet").write_bytes(damaged)
    (out / "_receipts" / "03.parquet.json").unlink()
    told = Told()
    assert work(data, out, told).exit_code == 0
    assert "00.parquet: its output or receipt is damaged; it is scored again" in told.messages
    assert same_files(out, whole)


@pytest.mark.slow
def test_files_of_a_worker_that_was_killed_are_removed_at_the_end(data: Path, tmp_path: Path) -> None:
    """One that was killed while another one ran, which still runs; the files of the latter are kept."""
    out = tmp_path / "out"
    work(data, out)
    for path in (out / "_receipts" / "00.parquet.json", out / "_SUCCESS", out / "_run.json"):
        path.unlink()  # the run has not ended: one shard is left

    class Killed(Told):
        def shard_done(self, shard: str, rows: int) -> None:
            (out / temporary_name("dead" * 4)).touch()
            (out / temporary_name(other.token)).touch()

    other = joined(out)
    try:
        work(data, out, Killed())
        assert [path.name.split("-")[1] for path in out.glob(".d2t-*")] == [other.token]
    finally:
        other.close()


def test_a_bad_shard_is_set_aside_for_all_and_tried_again(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    good = (data / "00.parquet").read_bytes()
    (data / "00.parquet").write_bytes(good[:-9])
    pq.write_table(texts(3).rename_columns(["words", "other"]), data / "03.parquet")
    outcome = work(data, out)
    assert (outcome.exit_code, outcome.summary.shards.failed, outcome.summary.shards.done) == (3, 2, SHARDS - 2)
    assert "2 shards failed" in outcome.reason and not (out / "_SUCCESS").exists()
    found = status_of(out)
    assert (found.planned, found.done, found.failed, found.waiting, found.finished) == (SHARDS, 4, 2, 0, False)
    (data / "00.parquet").write_bytes(good)
    pq.write_table(texts(3), data / "03.parquet")
    assert work(data, out).exit_code == 0 and is_finished(out)
    assert Receipts(out).failed_names() == []


def test_a_shard_whose_workers_crashed_twice_is_set_aside(data: Path, tmp_path: Path) -> None:
    out, dead = tmp_path / "out", "0" * 16
    with OutputFolder.open(out, create=True, shared=True):
        pass
    work(data, out)
    (out / "_receipts" / "00.parquet.json").unlink()
    (out / "_receipts" / "03.parquet.json").unlink()
    for name in ("_SUCCESS", "_run.json"):
        (out / name).unlink()
    claims = Claims(out, dead, 60.0)
    claims.take("00.parquet", None)
    claims.take("00.parquet", claims.standing()[next(iter(claims.standing()))])
    outcome = work(data, out)
    assert (outcome.exit_code, outcome.summary.shards.done, outcome.summary.shards.failed) == (3, SHARDS - 1, 1)
    note = json.loads((out / "_failed" / "00.parquet.json").read_text())
    assert note["kind"] == "crashed" and "2 workers crashed" in note["message"]


def test_a_worker_waits_for_a_shard_that_another_holds(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    work(data, out)
    (out / "_receipts" / "00.parquet.json").unlink()
    for name in ("_SUCCESS", "_run.json"):
        (out / name).unlink()

    class WhenTold(Told):
        def say(self, message: str) -> None:
            super().say(message)
            if message.startswith("waiting for shards"):
                found = status_of(out)
                assert (found.held, found.waiting) == (1, 0)
                (one,) = [worker for worker in found.workers if worker.holds]
                assert one.holds == ("00.parquet",)
                claims.close()  # as on SIGTERM

    with joined(out) as other, Claims(out, other.token, 60.0) as claims:
        claims.take("00.parquet", None)
        told = WhenTold()
        assert work(data, out, told).exit_code == 0
    assert any(message.startswith("waiting for shards") for message in told.messages)


def test_a_worker_ends_after_the_marker_of_the_worker_that_writes_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker comes between the totals and the marker: it waits, so that exit code 0 means that all is there."""
    out, told, ended = tmp_path / "out", Told(), []
    other = threading.Thread(target=lambda: ended.append((work(data, out, told), is_finished(out))))
    real = OutputFolder.write_success

    def write_success(self: OutputFolder, *given: Any) -> None:
        other.start()
        while other.is_alive() and not any(message.startswith("waiting for") for message in told.messages):
            other.join(0.01)
        real(self, *given)

    monkeypatch.setattr(OutputFolder, "write_success", write_success)
    assert work(data, out).exit_code == 0
    other.join(600)
    assert [(outcome.exit_code, marked) for outcome, marked in ended] == [(0, True)]


def test_a_worker_that_lost_its_claim_publishes_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shard was taken over while it was asleep, which is simulated between scoring and publishing."""
    whole, out, lost = tmp_path / "whole", tmp_path / "out", []
    lengths(data, whole)
    real = Claims.take

    def take(self: Claims, relative: str, over: Any) -> Any:
        claim = real(self, relative, over)
        if claim is not None and relative.endswith(".parquet") and not lost:
            lost.append(claim)
            claim.path.with_suffix(".2").write_text(json.dumps({"relative": relative, "worker": "0" * 16}))
        return claim

    monkeypatch.setattr(Claims, "take", take)
    told = Told()
    assert work(data, out, told).exit_code == 0
    assert [message for message in told.messages if message.startswith(f"not published: {lost[0].relative}")]
    assert same_files(out, whole)


def test_another_plan_that_appears_stops_a_worker(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    work(data, out)
    (out / "_receipts" / "00.parquet.json").unlink()
    before = (out / "00.parquet").stat().st_mtime_ns
    real = Claims.take

    def take(self: Claims, relative: str, over: Any) -> Any:
        plan = json.loads((out / "_plan.json").read_text())
        (out / "_plan.json").unlink()
        (out / "_plan.json").write_text(json.dumps(plan | {"runtime": "of another run"}))
        return real(self, relative, over)

    monkeypatch.setattr(Claims, "take", take)
    with pytest.raises(OutputError, match=r"_plan\.json was replaced or removed while this worker ran"):
        work(data, out)
    assert (out / "00.parquet").stat().st_mtime_ns == before and not (out / "_SUCCESS").exists()


def test_a_shard_costs_four_syncs_as_in_a_plain_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its output and its receipt, each with the folder; none of its claim."""
    counted, real = [0], os.fsync

    def fsync(descriptor: int) -> None:
        counted[0] += 1
        real(descriptor)

    for shards in (1, 4):
        (tmp_path / f"in{shards}").mkdir()
        for i in range(shards):
            pq.write_table(texts(3), tmp_path / f"in{shards}" / f"{i}.parquet")
    monkeypatch.setattr(os, "fsync", fsync)
    for way in (work, lengths):
        found = []
        for shards in (1, 4):
            before = counted[0]
            way(tmp_path / f"in{shards}", tmp_path / f"{way.__name__}{shards}")
            found.append(counted[0] - before)
        assert found[1] - found[0] == 4 * 3


def test_a_marker_holds_for_its_plan_alone(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    work(data, out)
    assert is_finished(out)
    plan = json.loads((out / "_plan.json").read_text())
    (out / "_plan.json").write_text(json.dumps(plan | {"limit": 3}))
    assert not is_finished(out)
    (out / "_SUCCESS").write_bytes(b"")  # of a plain run
    assert is_finished(out)


@pytest.mark.parametrize("more", [{"prune": True}, {"limit": 3}, {"part": (1, 2)}])
def test_options_that_do_not_fit_are_refused(data: Path, tmp_path: Path, more: Any) -> None:
    with pytest.raises(UsageError, match="with --join: workers divide all shards"):
        work(data, tmp_path / "out", **more)
    assert not (tmp_path / "out").exists()


def test_plain_runs_parts_and_workers_exclude_each_other(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    work(data, out)
    with joined(out):
        with pytest.raises(OutputError, match="is held by"):
            lengths(data, out)
        with pytest.raises(OutputError, match=r"being filled by a worker \(pid \d+ on .* under another plan"):
            lengths(data, out, part=(1, 2))
    with OutputFolder.open(out, shared=True) as part:
        with part.brief():
            part.join((1, 2))
        lengths_plan = json.loads((out / "_plan.json").read_text())
        lengths_plan.pop("join")
        (out / "_plan.json").write_text(json.dumps(lengths_plan))
        with pytest.raises(OutputError, match="being filled by part 1/2, not by workers"):
            work(data, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    assert lengths(data, out).summary.shards.skipped == SHARDS
    assert work(data, out).summary.shards.done == SHARDS
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
