"""A bench from sample to table, with a tiny bundle and without peers; its ratios by hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmarks.speed import results
from benchmarks.speed.rounds import Group, Measured, run_rounds
from benchmarks.speed.sample import Sample, write_sample
from benchmarks.speed.settings import Setting
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


@pytest.mark.slow
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
        assert by_name[name]["error"] is None and "onnxruntime" in by_name[name]["versions"]
        assert [(r["round"], r["seconds"] > 0) for r in by_name[name]["rounds"]] == [(0, True), (1, True)]
    assert (by_name["bare_session"]["labels"], by_name["bare_session"]["max_probability"]) == (1.0, 0.0)
    # Lengths are padded to multiples of 8, so at most 7 tokens a pair are padding.
    assert by_name["engine_pairs"]["chosen"]["padding"] < 7 / sample.shortest
    # The program computes these very pairs, no more.
    run = next(m for m in measured if m.setting.name == "score_run")
    assert len(run.answers) == sample.rows
    assert "nowhere" in by_name["gone"]["error"]
    assert by_name["unmade"]["error"] == "openvino: not installed"
    assert "a peer that is not installed" in results.table(results.summarise(group))


def measured(name: str, *seconds: float, **fields: Any) -> Measured:
    one = Measured(Setting(name, name.title(), "nowhere:nothing", **fields))
    one.rounds = [
        {"round": i, "seconds": s, "load1": 1.0, "others": 0.0, "peak_mb": 100 + i} for i, s in enumerate(seconds)
    ]
    one.opened = {"chosen": {"batch": 16}, "versions": {"numpy": "2.0"}, "load_seconds": 1.0}
    return one


def test_ratios_are_taken_within_a_round() -> None:
    made = [
        measured("slow", 10.0, 20.0, 40.0),
        measured("run-x", 5.0, 4.0, 10.0, ours=True),
        measured("bare-x", 4.0, 4.0, 8.0, bare=True),
    ]
    group = Group("pairs", "A & title", "pairs", 100, "slow", {"pairs": 100}, made)
    by_name = {s["name"]: s for s in results.summarise(group)["settings"]}
    assert (by_name["slow"]["median"], by_name["slow"]["peak_mb"]) == (5.0, 102)
    assert (by_name["run-x"]["lowest"], by_name["run-x"]["median"], by_name["run-x"]["highest"]) == (10.0, 20.0, 25.0)
    assert by_name["run-x"]["ratio"] == 4.0  # of 2, 5 and 4: not the ratio of the medians
    assert by_name["run-x"]["of_bare"] == 0.8 and "of_bare" not in by_name["slow"]  # of 0.8, 1 and 0.8
