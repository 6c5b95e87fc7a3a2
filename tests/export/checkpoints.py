"""Tiny checkpoints on disk, in the layout that transformers saves, for tests that export them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import RobertaConfig, RobertaForSequenceClassification

from export.random_init import train_tokenizer

LAYERS, HIDDEN = 2, 32
ID2LABEL = {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}


def make_checkpoint(
    folder: Path, *, id2label: dict[str, str] | None = None, max_length: int = 120, heads: int = 4, width: int = HIDDEN
) -> Path:
    """A two-layer classifier with its tokenizer. Its weights are large enough for all three labels to occur."""
    folder.mkdir(parents=True)
    config = RobertaConfig(
        vocab_size=500, hidden_size=width, num_hidden_layers=LAYERS, num_attention_heads=heads,
        intermediate_size=48 if width == HIDDEN else 4 * width,
        max_position_embeddings=max_length + 2, type_vocab_size=1, num_labels=3, layer_norm_eps=1e-5,
    )  # fmt: skip
    torch.manual_seed(3)
    model = RobertaForSequenceClassification(config)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.normal_(0.0, 1.0 if name.startswith("classifier.out_proj") else 0.15, generator=generator)
            if name.endswith("LayerNorm.weight"):
                value.add_(1.0)
        # Balance the labels on ids like those of a short pair.
        ids = torch.randint(4, 490, (256, 16), generator=generator)
        ids[:, 0], ids[:, 7:9], ids[:, 15] = 0, 2, 2
        model.eval().classifier.out_proj.bias.sub_(model(input_ids=ids).logits.mean(dim=0))
    save_file(dict(model.state_dict()), folder / "model.safetensors", metadata={"format": "pt"})
    edit_json(folder / "config.json", **json.loads(config.to_json_string()))
    edit_json(folder / "config.json", architectures=["RobertaForSequenceClassification"], id2label=id2label or ID2LABEL)
    (folder / "tokenizer.json").write_text(train_tokenizer(500), encoding="utf-8")
    edit_json(folder / "tokenizer_config.json", model_max_length=10**30, tokenizer_class="RobertaTokenizer")
    return folder


def edit_json(path: Path, **changes: Any) -> None:
    """Set keys of a JSON object in a file, which is made if it is not there."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(content | changes), encoding="utf-8")
