"""The measurement on a CUDA machine, tried without one: steps, the seeded bundle, and the table."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.speed.gpu import seeded, steps
from benchmarks.speed.gpu.__main__ import main, table
from scorer.inference.bundle import Bundle


def test_a_step_that_fails_or_hangs_ends_nothing(tmp_path: Path) -> None:
    these = steps.Steps(tmp_path, 60, {})
    failing = "import sys; print('why', file=sys.stderr); sys.exit(3)"
    assert these.run("fails", 30, [sys.executable, "-c", failing]) is None
    assert these.run("hangs", 6, [sys.executable, "-c", "import time; time.sleep(60)"]) is None
    assert these.run("works", 30, [sys.executable, "-c", "print(1)"]) == "1\n"
    ends = [(one["of"], one["code"]) for one in steps.read_results(tmp_path / "results.jsonl")]
    assert ends == [("fails", 3), ("hangs", "stopped after 6 s"), ("works", 0)]
    assert "why" in (tmp_path / "log.txt").read_text()


def test_steps_after_the_limit_are_skipped(tmp_path: Path) -> None:
    assert steps.Steps(tmp_path, 4, {}).run("late", 30, [sys.executable, "-c", "pass"]) is None
    assert "no time left" in steps.read_results(tmp_path / "results.jsonl")[0]["code"]


@pytest.mark.export
@pytest.mark.slow
def test_a_seeded_bundle_is_written_again_bit_for_bit_and_measured(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    seeded.make(tmp_path / "travels", "roberta-tiny")
    assert sum(file.stat().st_size for file in (tmp_path / "travels").rglob("*") if file.is_file()) < 2 << 20
    assert seeded.write(tmp_path / "travels", tmp_path / "written")
    assert Bundle.load(tmp_path / "written" / "bundle").variant("fp16.packed").exists()
    recipe = json.loads((tmp_path / "travels" / "recipe.json").read_text())
    assert (tmp_path / "written" / "checkpoint" / "model.safetensors").stat().st_size > recipe["bytes"] / 2


@pytest.mark.slow
def test_both_commands_without_a_device(tmp_path: Path) -> None:
    bundle = Path("tests/bundles/e2e").resolve()
    given = ["--bundle", str(bundle), "--checkpoint", str(tmp_path), "--device", "cpu", "--pairs", "40", "--rows", "20"]
    folders = ["--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    main(["first", *given, *folders])
    main(["second", *given, *folders, "--labels", str(bundle)])
    found = steps.read_results(tmp_path / "out" / "results.jsonl")
    codes = {one["of"]: one["code"] for one in found if one["step"] == "end"}
    assert {codes[name] for name in ("samples", "doctor", "first use", "second use", "many", "labels")} == {0}
    assert codes["bare"] == codes["peer"] == 1  # no CUDA, no checkpoint
    assert all(one["seconds"]["infer"] > 0 for one in found if one["step"] == "run"), "stages of each command"
    assert [one["same"] == one["of"] for one in found if one.get("kind") == "int8 exact"] == [True]
    written = table(tmp_path / "out" / "results.jsonl")
    assert "| many: " in written and "second use: " in written
