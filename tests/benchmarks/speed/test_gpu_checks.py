"""The questions to a GPU, asked of a CPU: what their runners find, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.speed.gpu import questions
from benchmarks.speed.gpu.__main__ import main
from benchmarks.speed.runners import ours, session
from benchmarks.speed.sample import write_sample
from scorer.inference.bundle import Bundle
from tests.inference.packed_graph import make_packed_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_packed_bundle(tmp_path_factory.mktemp("gpu-checks") / "packed", max_length=512)


def test_where_the_nodes_ran(bundle: Path) -> None:
    asked = {"bundle": str(bundle), "device": "cpu", "options": {"precision": "fp16", "layout": "packed"}}
    found, _ = session.opened(asked, {})()
    assert found["providers"] == ["CPUExecutionProvider"] and found["memcpy"] == 0
    assert set(found["ran"]) == {"CPUExecutionProvider"}
    # What runs once is what the graph holds; constants were folded before.
    assert found["ran"]["CPUExecutionProvider"] == found["graph"]
    assert found["load_seconds"] >= 0 < found["second_call_seconds"]


def test_padded_and_packed_layout_give_the_same_answers(bundle: Path, tmp_path: Path) -> None:
    """The bare session, with a packed graph that a CPU runs."""
    sample = write_sample(tmp_path, Bundle.load(bundle), pairs=40, systems=1, seed=1)
    asked = {"bundle": str(bundle), "pairs": sample.pairs_file, "device": "cpu", "threads": 1}
    options = {"precision": "fp16", "unverified": True, "token_budget": 2048}
    chosen: dict[str, Any] = {}
    expected, _ = ours.bare_session({**asked, "options": {**options, "layout": "padded"}}, {})()
    found, _ = ours.bare_session({**asked, "options": {**options, "layout": "packed"}}, chosen)()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert (chosen["layout"], chosen["attention"]) == ("packed", "PackedMultiHeadAttention")
    assert 0 <= chosen["padding"] < 1


@pytest.mark.slow
def test_a_later_call_adds_to_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All questions with a tiny model on the CPU, in two calls, as a machine with a time limit wants it."""
    common = ["--device", "cpu", "--preset", "roberta-tiny", "--pairs", "16", "--rounds", "1"]
    common += ["--folder", str(tmp_path), "--results", str(tmp_path / "results")]
    main([*common, "--step", "prepare"])
    main([*common, "--step", "measure", "--groups", "sessions", "labels"])
    first = json.loads((tmp_path / "results" / "gpu-trial-on-cpu.json").read_text())
    main([*common, "--step", "measure", "--groups", "runs"])
    content = json.loads((tmp_path / "results" / "gpu-trial-on-cpu.json").read_text())
    assert set(content["checks"]) == set(questions.CHECKS)
    assert not [name for name, one in content["checks"].items() if "error" in json.dumps(one)]
    assert [group["name"] for group in content["groups"]] == ["labels"]
    assert content["checks"]["sessions"] == first["checks"]["sessions"]
    runs = content["checks"]["runs"]
    assert len(runs["two at once"]["speed"]) == 2
    assert runs["two at once"]["unique"] >= runs["again"]["unique"] == runs["first use"]["unique"]
    assert "the first run is" in capsys.readouterr().out
