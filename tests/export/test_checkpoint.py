"""Refusing what export does not support, and reading the weights it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from scorer.errors import CheckpointError
from tests.export.checkpoints import edit_json, opened


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architectures": ["GPT2ForSequenceClassification"], "model_type": "gpt2"}, "supports RobertaForSequence"),
        ({"model_type": "bert"}, "nothing else"),
        ({"architectures": ["RobertaModel"]}, "an encoder without a head"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_attention_heads": 5}, "cannot be shared by 5 heads"),
        ({"vocab_size": 40}, "has the id 699, but config.json says vocab_size 40"),
        ({"pad_token_id": 0}, "pads with id 1, but config.json says pad_token_id 0"),
        ({"max_position_embeddings": 6}, "only 4 tokens"),
    ],
)
def test_configs_that_are_refused(copy: Path, changes: dict[str, Any], message: str) -> None:
    edit_json(copy / "config.json", **changes)
    with pytest.raises(CheckpointError, match=message):
        opened(copy)


def rewrite(folder: Path, change: Any) -> None:
    path = folder / "model.safetensors"
    state = {key: value.clone() for key, value in load_file(path).items()}
    change(state)
    save_file(state, path)


def test_old_names_unused_heads_and_half_precision_are_read(copy: Path) -> None:
    def change(state: dict[str, torch.Tensor]) -> None:
        for key in list(state):
            old = key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            state[old] = state.pop(key).half()
        state["roberta.pooler.dense.weight"] = torch.zeros(32, 32)
        state["roberta.embeddings.position_ids"] = torch.arange(122)[None]

    rewrite(copy, change)
    model = opened(copy).load()
    assert {value.dtype for value in model.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("classifier.out_proj.weight"), r"lack classifier\.out_proj\.weight"),
        (lambda s: s.update(adapter=torch.zeros(1)), "unknown to this architecture, adapter"),
        (lambda s: s.update({"classifier.dense.bias": torch.zeros(7)}), "do not fit config.json"),
        (lambda s: s["classifier.dense.bias"].fill_(float("nan")), "holds NaN or infinity"),
    ],
)
def test_weights_that_are_refused(copy: Path, change: Any, message: str) -> None:
    rewrite(copy, change)
    with pytest.raises(CheckpointError, match=message):
        opened(copy).load()
