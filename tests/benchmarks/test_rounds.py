"""A bench from sample to table, with a tiny bundle and without peers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import machine, results
from benchmarks.gpu.device import flops
from benchmarks.gpu.environment import environments
from benchmarks.rounds import Group, Measured, Worker, WorkerError, in_order, run_rounds
from benchmarks.runners.common import by_length, choose, neighbours
from benchmarks.sample import Sample, write_sample
from benchmarks.settings import Setting
from scorer.inference.bundle import Bundle
from tests.bundles import make_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return Bundle.load(make_bundle(tmp_path_factory.mktemp("bench") / "tiny", max_length=512))


@pytest.fixture(scope="module")
def sample(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return write_sample(tmp_path_factory.mktemp("sample"), bundle, pairs=40, systems=1, seed=1)


def ours(runner: str, **fields: bool) -> Setting:
    return Setting(runner.split(":")[1], runner, runner, {"precision": "fp32"}, ("bundle",), **fields)


def test_a_sample_is_what_a_run_computes(sample: Sample, bundle: Bundle) -> None:
    content = json.loads(Path(sample.pairs_file).read_text())
    pairs, lengths = list(map(tuple, content["pairs"])), content["tokens"]
    assert 40 <= sample.pairs == len(pairs) == len(set(pairs)) < 50
    assert pq.read_metadata(sample.rows_file).num_rows == sample.rows
    assert (sum(lengths), min(lengths), max(lengths)) == (sample.tokens, sample.shortest, sample.longest)


def test_the_same_seed_gives_the_same_sample(sample: Sample, bundle: Bundle, tmp_path: Path) -> None:
    again = write_sample(tmp_path, bundle, pairs=40, systems=1, seed=1)
    assert Path(again.pairs_file).read_bytes() == Path(sample.pairs_file).read_bytes()


def test_systems_that_agree_give_duplicates(bundle: Bundle, tmp_path: Path) -> None:
    many = write_sample(tmp_path, bundle, rows=60, systems=20, seed=2)
    assert many.rows == 60
    assert many.pairs < many.checks


def test_rounds_from_sample_to_table(bundle: Bundle, sample: Sample, tmp_path: Path) -> None:
    settings = [
        ours("ours:bare_session", bare=True),
        ours("ours:engine_pairs", ours=True),
        ours("ours:score_run", ours=True),
        Setting("gone", "a peer that is not installed", "nowhere:nothing"),
        Setting("unmade", "a peer whose form was not made", "ours:engine_pairs", needs=("openvino",)),
    ]
    spec = {"bundle": str(bundle.path), "pairs": sample.pairs_file, "rows": sample.rows_file, "threads": 1}
    measured = run_rounds(
        settings,
        lambda s: {**spec, "runner": s.runner, "options": s.options},
        2,
        logs=tmp_path / "logs",
        environment_of=lambda s: dict(os.environ),
        memory_floor_mb=0,
        failed={"openvino": "not installed"},
        limit=120,
    )
    group = Group("pairs", "t", "pairs", sample.pairs, "engine_pairs", {}, measured)
    by_name = {s["name"]: s for s in results.summarise(group)["settings"]}
    for name in ("bare_session", "engine_pairs", "score_run"):
        assert by_name[name]["error"] is None
        assert [r["round"] for r in by_name[name]["rounds"]] == [0, 1]
        assert all(r["seconds"] > 0 for r in by_name[name]["rounds"])
        assert "onnxruntime" in by_name[name]["versions"]
    assert by_name["bare_session"]["labels"] == 1.0
    assert by_name["bare_session"]["max_probability"] == 0.0
    assert by_name["engine_pairs"]["chosen"]["shapes"] >= 1
    # Lengths are padded to multiples of 8, so at most 7 tokens a pair are padding.
    assert by_name["engine_pairs"]["chosen"]["padding"] < 7 / sample.shortest
    # The program computes these very pairs, no more.
    run = next(m for m in measured if m.setting.name == "score_run")
    assert len(run.answers) == sample.rows
    assert "nowhere" in by_name["gone"]["error"]
    assert by_name["unmade"]["error"] == "openvino: not installed"
    assert "a peer that is not installed" in results.table(results.summarise(group))


def test_the_first_round_is_as_given_and_later_ones_begin_with_the_fastest() -> None:
    measured = [Measured(Setting(name, name, "x:y")) for name in "abcd"]
    assert [one.setting.name for one in in_order(measured)] == ["a", "b", "c", "d"]
    for one, seconds in zip(measured, ([3.0, 9.0], [2.0], [], [8.0, 1.0]), strict=True):
        one.rounds = [{"round": i, "seconds": s} for i, s in enumerate(seconds)]
    assert [one.setting.name for one in in_order(measured)] == ["d", "b", "a", "c"]


def test_a_worker_that_dies_says_so(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="exit code"):
        Worker({}, dict(os.environ), tmp_path / "log", "false", 20)
    with pytest.raises(WorkerError, match="KeyError"):
        Worker({}, dict(os.environ), tmp_path / "log", sys.executable, 60)


def test_the_fastest_candidate_is_chosen() -> None:
    asked = []

    def attempt(candidate: int, positions: list[int]) -> None:
        asked.append(candidate)
        sum(range(candidate))

    assert choose([3_000_000, 10], attempt, [5, 6, 7, 8], count=2) == 10
    assert choose([("calls", 3_000_000), ("streams", 10)], lambda way, _: attempt(way[1], []), [5, 6]) == (
        "streams",
        10,
    )
    asked.clear()
    assert choose([7], attempt, [5, 6, 7, 8]) == 7
    assert asked == [7]  # warmed up, not timed


def test_batches_by_length_cover_each_once() -> None:
    lengths = [3, 9, 1, 7, 5]
    assert list(by_length(lengths, 2)) == [[1, 3], [4, 0], [2]]


def test_a_batch_size_is_tried_on_pairs_that_a_batch_of_the_whole_would_hold() -> None:
    lengths = [20, 90, 10, 70, 50, 60, 30, 80, 40, 100]
    assert [lengths[i] for i in neighbours(lengths, 4, 1)] == [20, 40, 60, 80]
    assert [lengths[i] for i in neighbours(lengths, 4, 4)] == [40, 50, 60, 70]
    assert [lengths[i] for i in neighbours(lengths, 4, 2)] == [30, 40, 70, 80]
    assert sorted(neighbours(lengths, 4, 64)) == list(range(10))


def test_the_work_of_roberta_large() -> None:
    large = {"layers": 24, "hidden_size": 1024, "intermediate_size": 4096}
    assert flops(large, [1]) == pytest.approx(604e6 + 98.3e3, rel=1e-3)
    assert flops(large, [10, 20]) == pytest.approx(30 * 604e6 + 98.3e3 * 500, rel=1e-3)


def test_peers_do_not_see_the_kit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kit = tmp_path / "kit"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(kit), "elsewhere"]))
    for_us, for_peers = environments(kit)
    assert for_us["PYTHONPATH"].split(os.pathsep)[0] == str(kit.resolve())
    assert str(kit) not in for_peers["PYTHONPATH"]
    assert "elsewhere" in for_peers["PYTHONPATH"]


def test_the_machine_is_described() -> None:
    here = machine.describe()
    assert here["cores"] >= 1
    assert str(here["cores"]) in machine.in_words(here)
    assert np.isfinite(here["memory_gb"] or 0.0)
