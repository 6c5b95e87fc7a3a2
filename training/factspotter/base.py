"""The checkpoint that is trained on: any BERT, MiniLM among them, with a tokenizer.json."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file

from export.families import BERT
from scorer.errors import CheckpointError, first_line
from training.network import Network, from_transformers, size_of, with_new_head

from .data import DataError

LABELS = ("absent", "present")
_REQUIRED = ("config.json", "model.safetensors", "tokenizer.json")
_EPSILON = 1e-12


def opened(base: Path, seed: int) -> Network:
    """The network of a checkpoint, with a new head of two labels.

    Raises:
        DataError: a file is missing or damaged, or the checkpoint is not a BERT that the network computes.
    """
    try:
        config = json.loads((base / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") != BERT.model_type:
            raise DataError(f"{base} has the model_type {config.get('model_type')!r}; give a BERT or a MiniLM")
        known = BERT.read(config, str(base))
        if known["layer_norm_eps"] != _EPSILON or known["type_vocab_size"] != 2:
            raise DataError(f"{base}: layer_norm_eps must be {_EPSILON} and type_vocab_size 2; give another BERT")
        state = from_transformers(load_file(base / "model.safetensors"))
        state = {name: tensor for name, tensor in state.items() if not name.startswith("out.")}
        size = size_of(state, known["num_attention_heads"], labels=LABELS, pad=known["pad_token_id"])
        return with_new_head(state, size, seed)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError, CheckpointError) as e:
        raise DataError(f"{base} is not a checkpoint ({first_line(e)}); it needs {', '.join(_REQUIRED)}") from e


def save_tokenizer(base: Path, folder: Path) -> None:
    """Copies the tokenizer's files."""
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (base / name).exists():
            shutil.copyfile(base / name, folder / name)
