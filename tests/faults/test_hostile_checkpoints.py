"""Checkpoints made to run code, read other files or exhaust the machine; see also tests/export/test_source.py."""

from __future__ import annotations

import json
import os
import pickle
import struct
from pathlib import Path

import pytest

from export.source import find_source
from scorer.errors import CheckpointError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint as far as its files go; what is in them is not looked at here."""
    made = tmp_path / "checkpoint"
    made.mkdir()
    (made / "config.json").write_text("{}")
    (made / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    (made / "tokenizer.json").write_text("{}")
    find_source(str(made), None, lambda _: None)
    return made


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = str(mark)

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self._mark,)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl", "model.ckpt"])
def test_pickles_are_not_opened(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Bomb(tmp_path / "mark")))
    with pytest.raises(CheckpointError, match="can run code"):
        find_source(str(folder), None, lambda _: None)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_of_its_own_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text(json.dumps({"auto_map": {"AutoModel": "evil.Model"}}))
    (folder / "evil.py").write_text("raise SystemExit")
    with pytest.raises(CheckpointError, match="auto_map"):
        find_source(str(folder), None, lambda _: None)


def test_tensors_that_lie_outside_the_file(folder: Path) -> None:
    from export.checkpoint import _tensors

    header = json.dumps({"w": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointError, match="is not a readable safetensors file"):
        _tensors(folder / "model.safetensors")
