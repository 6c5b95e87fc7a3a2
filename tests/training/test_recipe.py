"""The whole recipe on a small sample, from a small random start: train, finish, export, rebuild, evaluate."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training.examples import make_tokenizer, tiny
from training.general import __main__ as recipe
from training.general import evaluate, finish
from training.general.nli import SPECIAL, save_tokenizer
from training.general.rebuild import rebuild
from training.network import load, save

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,'-:$%()?!\""
WORDS = ("the", "of", "is", "in", "has", "and", "a", "an", "it", "to", "for", "on", "at", "##s", "##ing", "##ed")


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """A random checkpoint of two layers whose word pieces are characters and a few words."""
    pieces = list(dict.fromkeys([*LETTERS, *(f"##{c}" for c in LETTERS), *WORDS]))
    torch.manual_seed(0)
    network = tiny(len(pieces) + len(SPECIAL), layers=2, positions=512)
    for parameter in network.parameters():  # no two norms alike, which an export would store once
        parameter.data += 0.02 * torch.randn_like(parameter)
    save(network, tmp_path / "start")
    save_tokenizer(make_tokenizer(pieces), tmp_path / "start")
    return tmp_path / "start"


@pytest.mark.slow
def test_from_the_start_to_the_figures(
    shared_data: Path, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    data, out, final = shared_data.parent, tmp_path / "run", tmp_path / "finished"

    def call(module: object, *arguments: object) -> None:
        monkeypatch.setattr(sys, "argv", ["recipe", *map(str, arguments)])
        module.main()  # type: ignore[attr-defined]

    settings = ["--data", data / "nli", "--field", data / "field", "--limit", 2000]
    settings += ["--nli", 100, "--recast", 60, "--d2t", 40, "--made", 40, "--bound", 100]
    settings += ["--own", data / "own", "--tables", 60]
    call(recipe, *settings, "--start", start, "--out", out, "--tokens", 60_000, "--keep", start, "--replace")
    weights = [load(folder).classifier.weight.detach() for folder in (start, out / "checkpoint")]
    assert 0 < float((weights[0] - weights[1]).abs().max()) < 0.1  # trained on from there
    lines = [json.loads(line) for line in (out / "training.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[-1]["tokens"] >= 60_000 and all(line["loss"] > 0 for line in lines)
    call(finish, out / "checkpoint", start, "--data", data / "nli", "--out", final, "--pairs", 200)
    calibration = json.loads((final / "calibration.json").read_text())
    assert calibration["after"]["calibration_error"] <= calibration["before"]["calibration_error"] + 0.02
    bundle = tmp_path / "bundle"
    command = [sys.executable, "-m", "scorer", "export", str(final), str(bundle), "--precision", "fp32,int8", "--force"]
    subprocess.run([*command, "--half-weights"], check=True, capture_output=True)
    assert rebuild(bundle, tmp_path / "rebuilt") < 1e-4
    files = [(folder / "model.safetensors").read_bytes() for folder in (final, tmp_path / "rebuilt")]
    assert files[0] == files[1]
    capsys.readouterr()
    call(evaluate, "--bundle", bundle, "--data", data / "nli", "--step", 300)
    assert json.loads(capsys.readouterr().out)["snli_test"]["pairs"] > 5
