"""The measurement on a CUDA machine, tried without one: steps, the seeded bundle, both commands, and the table."""

from __future__ import annotations

import functools
import importlib
import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.speed.gpu import seeded, steps
from benchmarks.speed.gpu.__main__ import main, table
from benchmarks.speed.gpu.measures import VARIANTS
from benchmarks.speed.gpu.stages import STAGES
from scorer.inference.bundle import Bundle

PYTHON = [sys.executable, "-c"]
PEER = """
import json, os

class CrossEncoder:
    def __init__(self, checkpoint, **options): pass
    def predict(self, pairs, **options):
        with open(os.environ["PEER_SAW"], "w") as file:
            json.dump(pairs, file)
"""


def is_running(process: int) -> bool:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_step_that_fails_or_hangs_ends_nothing_and_what_it_knew_is_written(tmp_path: Path) -> None:
    these = steps.Steps(tmp_path, 60, {})
    these.run("fails", 30, [*PYTHON, "import sys; print('why', file=sys.stderr); sys.exit(3)"])
    half = (
        "import subprocess; from benchmarks.speed.gpu.steps import report\n"
        "child = subprocess.Popen(['sleep', '600']); report('half', known=1, child=child.pid); child.wait()"
    )
    these.run("hangs", 6, [*PYTHON, half])
    these.run("is not there", 30, [tmp_path / "nothing"])
    these.run("prints no JSON", 30, [*PYTHON, "print('x')"], json.loads)
    seen: list[str] = []
    these.run("works", 30, [*PYTHON, "print(1)"], seen.append)
    found = steps.read_results(tmp_path / "results.jsonl")
    assert [(one["of"], one["code"]) for one in found if one["step"] == "end"] == [
        ("fails", 3),
        ("hangs", "stopped after 6 s"),
        ("is not there", f"not started: [Errno 2] No such file or directory: '{tmp_path / 'nothing'}'"),
        ("prints no JSON", 0),
        ("works", 0),
    ]
    assert (found[1]["step"], found[1]["known"], seen) == ("half", 1, ["1\n"])
    assert not is_running(found[1]["child"])
    assert "JSONDecodeError" in next(one["error"] for one in found if one["step"] == "prints no JSON")
    assert "why" in (tmp_path / "log.txt").read_text()


def test_steps_after_the_limit_are_skipped(tmp_path: Path) -> None:
    steps.Steps(tmp_path, 4, {}).run("late", 30, [*PYTHON, "pass"])
    assert "no time left" in steps.read_results(tmp_path / "results.jsonl")[0]["code"]


@pytest.mark.parametrize("stage", [f"{module}:{name}" for module, names in STAGES.items() for name in names])
def test_the_stages_that_are_timed_are_functions_of_the_program(stage: str) -> None:
    module, _, name = stage.partition(":")
    assert callable(functools.reduce(getattr, name.split("."), importlib.import_module(module)))


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
def test_both_commands_without_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "sentence_transformers.py").write_text(PEER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "peers"))
    monkeypatch.setenv("PEER_SAW", str(tmp_path / "saw.json"))
    bundle, out, work = Path("tests/bundles/e2e").resolve(), tmp_path / "out", tmp_path / "work"
    given = ["--bundle", str(bundle), "--checkpoint", str(tmp_path), "--device", "cpu", "--pairs", "40", "--rows", "20"]
    given += ["--out", str(out), "--work", str(work)]
    main(["first", *given])
    main(["second", *given, "--labels", str(bundle)])
    found = steps.read_results(out / "results.jsonl")
    ends = [(one["of"], one["code"]) for one in found if one["step"] == "end"]
    first = ("samples", "doctor", "matrix", "variants", "first use", "second use", "stages", "many")
    assert ends == [(name, 0) for name in (*first, "peer", "labels")]
    told = [(one["graph"], one["tokens"]) for one in found if one["step"] == "variant"]
    assert told == [(one.graph, one.tokens) for one in VARIANTS["cpu"]]
    assert [one["labels"] for one in found if one["step"] == "variant" and one["graph"] == "int8"] == [1.0, 1.0]
    assert all(one["seconds"]["infer"] > 0 for one in found if one["step"] == "run")
    assert all(one["checks"]["computed"] == one["checks"]["unique"] for one in found if one["step"] == "run")
    stages = [(one["process"], one["of"]) for one in found if one["step"] == "stage"]
    assert {name for names in STAGES.values() for name in names} == {of for _, of in stages} - {"interpreter"}
    assert len({process for process, _ in stages}) == 2, "those of the command, and of its worker"
    assert (
        json.loads((tmp_path / "saw.json").read_text())
        == json.loads((work / "sample" / "pairs.json").read_text())["pairs"]
    )
    assert [one["same"] == one["of"] for one in found if one.get("kind") == "int8 exact"] == [True]
    written = table(out / "results.jsonl")
    assert "| many: " in written and "second use: " in written and "| bare int8, 1,024 tokens a call |" in written
