"""The GPU bench without a GPU: its settings, its runners on the CPU, and what it says of a device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.gpu import device, settings
from benchmarks.gpu.__main__ import main
from benchmarks.rounds import Group, Measured
from benchmarks.runners import ours, watched
from benchmarks.sample import write_sample
from benchmarks.settings import Setting
from scorer.inference.bundle import Bundle
from tests.bundles import RESTAURANTS, make_bundle
from tests.inference.packed_graph import make_packed_bundle


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("gpu-bench")
    bundle = make_bundle(folder / "tiny", max_length=512)
    sample = write_sample(folder / "sample", Bundle.load(bundle), pairs=40, systems=1, seed=1)
    return {"bundle": str(bundle), "pairs": sample.pairs_file, "rows": sample.rows_file, "device": "cpu", "threads": 1}


def with_options(spec: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {**spec, "options": {"precision": "fp32", **options}}


def test_a_slow_setting_has_the_rate_of_its_part(spec: dict[str, Any]) -> None:
    found, _ = ours.bare_session(with_options(spec, pairs=7, warm=True), {})()
    assert len(found) == 7
    one = Measured(Setting("slow", "Slow", "nowhere:nothing", {"pairs": 10}), rounds=[{"round": 0, "seconds": 2.0}])
    whole = Measured(Setting("whole", "Whole", "nowhere:nothing"), rounds=[{"round": 0, "seconds": 4.0}])
    assert (one.rates(100), one.rates(8), whole.rates(100)) == ([5.0], [4.0], [25.0])
    group = Group("pairs", "t", "pairs", 100, "slow", {}, [one, whole])
    assert group.ratio(whole, one) == 5.0


@pytest.mark.slow
def test_exact_answers_are_those_of_fp32(spec: dict[str, Any]) -> None:
    asked = settings.labels("int8")
    real = {**spec, "bundle": str(RESTAURANTS)}
    found = {s.name: ours.engine_pairs(with_options(real, **s.options), {})() for s in asked}
    assert set(found) == {"engine-fp32", "engine-int8", "engine-int8-exact"}
    labels = {name: probabilities.argmax(axis=1).tolist() for name, probabilities in found.items()}
    assert labels["engine-int8-exact"] == labels["engine-fp32"]


def test_without_a_device_nothing_is_watched_and_it_is_said(spec: dict[str, Any]) -> None:
    pytest.importorskip("torch", reason="the profiler is PyTorch's")
    seen, seconds = watched.watched(with_options(spec, of="ours:score_run"), {})()
    assert seen == {} and seconds > 0
    assert device.seen_in_words(seen) == ["Nothing ran on a CUDA device, so that none was watched."]
    assert device.seen_in_words({"error": "why"}) == ["The device was not watched: why"]


def test_what_was_seen_names_idle_time_and_attention() -> None:
    kernels = {"gemm": [3.0, 300], "sdpa_flash": [1.0, 24]}
    seen = {
        "seconds": 5.0, "idle": 0.0125, "copies": 0.001, "kernels": kernels,
        "attention": {"sdpa_flash": [1.0, 24]}, "said": ["Operator=Attention SDPAKernel=CUDNN"],
    }  # fmt: skip
    lines = device.seen_in_words(json.loads(json.dumps(seen)))
    assert "idle 1.25%" in lines[0]
    assert lines[1:] == [
        "attention:  25.0%, 24 calls, sdpa_flash",
        "kernel:  75.0%, 300 calls, gemm",
        "kernel:  25.0%, 24 calls, sdpa_flash",
        "the runtime says: Operator=Attention SDPAKernel=CUDNN",
    ]


def test_calls_that_hold_more_than_their_pairs_give_the_same_answers(spec: dict[str, Any], tmp_path: Path) -> None:
    """The bare session of the packed layout, with a packed graph that a CPU runs."""
    bundle = make_packed_bundle(tmp_path / "packed", max_length=512)
    options = {"precision": "fp16", "in_smoke_test": True, "token_budget": 2048}
    chosen: dict[str, Any] = {}
    asked = {**spec, "bundle": str(bundle)}
    packed = {"layout": "packed"}
    expected, _ = ours.bare_session({**asked, "options": {**options, "layout": "padded"}}, {})()
    found, _ = ours.bare_session({**asked, "options": {**options, **packed}}, chosen)()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert (chosen["layout"], chosen["attention"]) == ("packed", "PackedMultiHeadAttention")
    assert 0 <= chosen["padding"] < 1


def test_measuring_needs_what_was_prepared(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="run --step prepare first"):
        main(["--step", "measure", "--device", "cpu", "--preset", "roberta-tiny", "--folder", str(tmp_path)])


@pytest.mark.slow
def test_a_group_that_the_clock_leaves_no_time_for_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results_folder = tmp_path / "results"
    for step in ("prepare", "measure"):
        main(
            ["--step", step, "--device", "cpu", "--preset", "roberta-tiny", "--pairs", "16", "--minutes", "0",
             "--folder", str(tmp_path), "--results", str(results_folder), "--groups", "e2e"]
        )  # fmt: skip
    captured = capsys.readouterr()
    assert "out of time before the group e2e" in captured.err
    assert "a trial on the CPU: no GPU figure" in captured.out
    assert json.loads((results_folder / "gpu-trial-on-cpu.json").read_text())["trial"] is True
