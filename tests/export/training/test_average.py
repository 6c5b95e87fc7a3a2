from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from export.training.general import average


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
