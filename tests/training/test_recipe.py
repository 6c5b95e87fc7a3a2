"""The whole recipe on a small sample, with a small random base: train, stop, continue, calibrate, export, evaluate."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from training.general import __main__ as recipe
from training.general import base, calibrate, evaluate
from training.general.rebuild import rebuild
from training.general.vocabulary import SPECIAL, make_tokenizer
from training.network import Network, Size, load_checkpoint, to_transformers

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,'-:$%()?!\""


@pytest.fixture
def small_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A random BERT of two layers whose word pieces are characters and a few words."""
    folder = tmp_path / "base"
    folder.mkdir()
    words = ["the", "of", "is", "in", "has", "and", "a", "an", "it", "to", "for", "on", "at", "##s", "##ing", "##ed"]
    pieces = [*SPECIAL, *LETTERS, *(f"##{c}" for c in LETTERS), *words]
    torch.manual_seed(0)
    network = Network(Size(len(pieces), hidden=64, layers=2, inner=96, heads=2, positions=512))
    tensors = {n.removeprefix("bert."): t.float() for n, t in to_transformers(dict(network.named_parameters())).items()}
    save_file({n: t for n, t in tensors.items() if not n.startswith("classifier")}, folder / "model.safetensors")
    make_tokenizer({piece: i for i, piece in enumerate(pieces)}).save(str(folder / "tokenizer.json"))
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in base.SHA256}
    monkeypatch.setattr(base, "SHA256", hashes)
    return folder


@pytest.mark.slow
def test_from_the_base_to_the_figures(
    shared_data: Path, small_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    data, out, final = shared_data.parent, tmp_path / "run", tmp_path / "calibrated"

    def call(module: object, *arguments: object) -> None:
        monkeypatch.setattr(sys, "argv", ["recipe", *map(str, arguments)])
        module.main()  # type: ignore[attr-defined]

    settings = ["--data", data / "nli", "--field", data / "field", "--limit", 2000]
    settings += ["--nli", 100, "--recast", 60, "--d2t", 40, "--made", 40]
    first, on = ["--base", small_base], ["--start", out / "checkpoint", "--seed", 1]
    call(recipe, *settings, *first, "--out", out, "--tokens", 60_000, "--vocabulary", 110)
    with pytest.raises(SystemExit, match="under other settings"):
        call(recipe, *settings, *first, "--out", out, "--tokens", 70_000, "--vocabulary", 110)
    second = tmp_path / "second"
    call(recipe, *settings, "--out", second, "--tokens", 40_000, *on)
    weights = [load_checkpoint(folder / "checkpoint").out.weight.detach() for folder in (out, second)]
    assert 0 < float((weights[0] - weights[1]).abs().max()) < 0.1  # trained on, from there and not from the base
    call(calibrate, "--data", data / "nli", "--checkpoint", out / "checkpoint", "--out", final, "--pairs", 200)
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
