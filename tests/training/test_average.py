"""Means of checkpoints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from training.general import average
from training.network import Network, Size, load_checkpoint, save_checkpoint

SIZE = Size(vocabulary=7, hidden=32, layers=3, inner=8, heads=1, positions=5)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two checkpoints, all of whose weights are 1 and 2."""
    made = []
    for value in (1.0, 2.0):
        state = {name: torch.full_like(tensor, value) for name, tensor in Network(SIZE).state_dict().items()}
        made.append(tmp_path / f"all-{value:.0f}")
        save_checkpoint(state, SIZE, made[-1])
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (made[-1] / name).write_text("{}")
    return made


def _averaged(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> dict[str, Tensor]:
    out = Path(str(arguments[0])).with_name("out")
    monkeypatch.setattr(sys, "argv", ["average", *map(str, arguments), "--out", str(out)])
    average.main()
    return load_checkpoint(out).state_dict()


def test_a_checkpoint_named_twice_counts_twice(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = folders
    found = _averaged(monkeypatch, one, two, two, one, two, two)
    assert all(bool((tensor == torch.tensor(10 / 6).half().float()).all()) for tensor in found.values())


def test_checkpoints_of_one_tokenizer_alone_can_be_averaged(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folders[1] / "tokenizer.json").write_text('{"other": 1}')
    with pytest.raises(SystemExit, match=r"tokenizer\.json: another one"):
        _averaged(monkeypatch, *folders)
