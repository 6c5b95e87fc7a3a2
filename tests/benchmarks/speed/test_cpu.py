"""A bench from sample to table, with a tiny bundle and without peers; its ratios by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmarks.speed import ours
from benchmarks.speed.cpu import Setting, run_rounds, summarise, table
from benchmarks.speed.sample import PairSample, write_sample
from scorer.inference.bundle import Bundle
from tests.bundles import make_bundle
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return Bundle.load(make_bundle(tmp_path_factory.mktemp("bench") / "tiny", max_length=512))


@pytest.fixture(scope="module")
def sample(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> PairSample:
    return write_sample(tmp_path_factory.mktemp("sample"), bundle, 40)


def test_a_sample_is_what_a_run_computes(sample: PairSample) -> None:
    content = json.loads(Path(sample.pairs_file).read_text())
    pairs, lengths = list(map(tuple, content["pairs"])), content["tokens"]
    assert 40 <= sample.pairs == len(pairs) == len(set(pairs)) < 50
    assert pq.read_metadata(sample.rows_file).num_rows == sample.rows
    assert sum(lengths) == sample.tokens


def not_installed(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Any]:
    import nowhere  # type: ignore[import-not-found]

    return nowhere.run


def killed(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], Any]:
    return lambda: os.kill(os.getpid(), 9)


@pytest.mark.slow
def test_rounds_from_sample_to_table(bundle: Bundle, sample: PairSample, tmp_path: Path) -> None:
    options: tuple[Any, ...] = ({"precision": "fp32"}, ("bundle",))
    settings = [
        Setting("bare", "bare", ours.bare_session, *options, bare=True),
        Setting("engine", "engine", ours.engine_pairs, *options, ours=True),
        Setting("run", "run", ours.score_run, *options, ours=True),
        Setting("gone", "a peer that is not installed", not_installed),
        Setting("killed", "a peer that needs too much memory", killed),
        Setting("unmade", "a peer whose form was not made", ours.engine_pairs, needs=("openvino",)),
    ]
    spec = {"bundle": str(bundle.path), "pairs": sample.pairs_file, "rows": sample.rows_file, "threads": 1}
    entries = run_rounds(settings, spec, 2, tmp_path / "logs", failed={"openvino": "not installed"})
    labels = entries[2]["answers"]
    summarise(entries, sample.pairs, "engine")
    by_name = {one["name"]: one for one in entries}
    for name in ("bare", "engine", "run"):
        assert by_name[name]["error"] is None
        assert [(one["round"], one["seconds"] > 0) for one in by_name[name]["rounds"]] == [(0, True), (1, True)]
    assert (by_name["bare"]["labels"], by_name["bare"]["max_probability"]) == (1.0, 0.0)
    # Lengths are padded to multiples of 8, so at most 7 tokens a pair are padding.
    assert by_name["engine"]["chosen"]["padding"] < 7 * sample.pairs / sample.tokens
    assert len(labels) == sample.rows and "labels" not in by_name["run"]
    assert "ModuleNotFoundError" in by_name["gone"]["error"]
    assert "ended, probably for lack of memory" in by_name["killed"]["error"]
    assert by_name["unmade"]["error"] == "openvino: not installed"
    assert "Not measured: a peer that is not installed" in table("t", entries)
    assert json.loads(json.dumps(entries)) == entries


def measured(name: str, *seconds: float, ours: bool = False) -> dict[str, Any]:
    rounds = [{"round": i, "seconds": s, "others": 0.0, "peak_mb": 100 + i} for i, s in enumerate(seconds)]
    return {"name": name, "ours": ours, "rounds": rounds, "answers": ["OK"]}


def test_ratios_are_taken_within_a_round() -> None:
    slow, ours = measured("slow", 10.0, 20.0, 40.0), measured("run-x", 5.0, 4.0, 10.0, ours=True)
    summarise([slow, ours, measured("bare-x", 4.0, 4.0, 8.0)], 100, "slow")
    assert (slow["median"], slow["peak_mb"]) == (5.0, 102)
    assert (ours["lowest"], ours["median"], ours["highest"]) == (10.0, 20.0, 25.0)
    assert ours["ratio"] == 4.0  # of 2, 5 and 4: not the ratio of the medians
    assert ours["of_bare"] == 0.8 and "of_bare" not in slow  # of 0.8, 1 and 0.8


@pytest.mark.export
def test_the_comparison_from_the_checkpoint_to_the_table(tmp_path: Path) -> None:
    """With a model of random weights that is made for it: the bundle's probabilities are those of PyTorch."""
    pytest.importorskip("torch")
    tracked = {path: path.stat().st_mtime_ns for path in (ROOT / "benchmarks" / "results").iterdir()}
    command = [sys.executable, "-m", "benchmarks.speed.cpu", "--preset", "roberta-tiny", "--folder", str(tmp_path)]
    command += ["--rounds", "1", "--pairs", "20", "--only", "bare-fp32", "run-fp32"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "| **d2t-scorer fp32, `scorer run`** |" in ended.stdout
    (group,) = json.loads((tmp_path / "results" / "cpu.json").read_text())["groups"]
    reference, bare, run = group["settings"]
    assert [len(one["rounds"]) for one in (reference, bare, run)] == [1, 1, 1]
    assert (bare["labels"], bare["max_probability"] < 1e-4) == (1.0, True)
    assert {path: path.stat().st_mtime_ns for path in tracked} == tracked
