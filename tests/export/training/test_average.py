from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from export.training.general import average
from export.training.general.rebuild import rebuild
from export.training.general.vocabulary import save
from export.training.network import load_checkpoint, save_checkpoint
from scorer.inference.shipped import SHIPPED


def checkpoint(folder: Path, values: list[float], tokenizer: str = "{}") -> Path:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer_config.json").write_text("{}")
    save_file({"a": torch.tensor(values, dtype=torch.float16)}, folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(tokenizer)
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["average", *map(str, arguments)])
    average.main()


def test_the_mean_of_three_checkpoints_is_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [checkpoint(tmp_path / str(i), [i, 2.0 * i, 60000.0]) for i in range(3)]
    run(monkeypatch, *parts, "--out", tmp_path / "out")
    found = load_file(tmp_path / "out" / "model.safetensors")["a"]
    assert found.dtype == torch.float16  # summed in float32: three times 60,000 is over float16's range
    assert found.tolist() == [1.0, 2.0, 60000.0]
    assert (tmp_path / "out" / "tokenizer.json").read_text() == "{}"


def test_checkpoints_of_other_networks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = checkpoint(tmp_path / "one", [1.0, 2.0])
    for name, other, message in (
        ("longer", ([1.0, 2.0, 3.0], "{}"), "other tensors"),
        ("words", ([1.0, 2.0], '{"other": 1}'), "tokenizer.json: another one"),
    ):
        with pytest.raises(SystemExit, match=message):
            run(monkeypatch, one, checkpoint(tmp_path / name, *other), "--out", tmp_path / "out")
    with pytest.raises(SystemExit, match="at least two"):
        run(monkeypatch, one, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_rebuilt_checkpoint_and_a_trained_one_can_be_averaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuilt, trained = tmp_path / "rebuilt", tmp_path / "trained"
    rebuild(SHIPPED["embedded"].folder, rebuilt)
    network = load_checkpoint(rebuilt)
    with torch.no_grad():
        network.out.bias.add_(1.0)
    save_checkpoint(dict(network.named_parameters()), network.size, trained)
    save(Tokenizer.from_file(str(rebuilt / "tokenizer.json")), trained)
    (trained / "calibration.json").write_text("{}")
    assert (trained / "tokenizer.json").read_bytes() != (rebuilt / "tokenizer.json").read_bytes()
    run(monkeypatch, trained, rebuilt, "--out", tmp_path / "out")
    mean = load_checkpoint(tmp_path / "out").out.bias
    assert torch.allclose(mean, network.out.bias - 0.5, atol=1e-3)
    assert not (tmp_path / "out" / "calibration.json").exists()
