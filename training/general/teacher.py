"""The teacher: MPNet (Song et al., NeurIPS 2020) over the student's word pieces, in the student's network.

MPNet is BERT without segments whose scores also depend on how far apart two tokens are (one table for all layers). Its
pieces are BERT's, so that the rows of its word table can stand in the student's order, and both read the same ids.

    python -m training.general.teacher --base MPNET --like CHECKPOINT --out START
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from training.general.nli import SPECIAL, pieces_of, save
from training.network import Network, Size, from_transformers, size_of, with_new_head

SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
"""Of model.safetensors of sentence-transformers/all-mpnet-base-v2 (Apache-2.0; 109 million parameters)."""
DISTANCES, FARTHEST = 32, 128
DROPOUT = 0.1
HEAD_WIDTH = 64
_SPECIAL = dict(zip(SPECIAL, ("<pad>", "[UNK]", "<s>", "</s>", "<mask>"), strict=True))
_NAMES = {f"attention.attn.{short}.": f"attention.self.{long}." for short, long in zip("qkv", ("query", "key", "value"),
          strict=True)} | {"attention.attn.o.": "attention.output.dense.",
          "attention.LayerNorm.": "attention.output.LayerNorm."}  # fmt: skip


def distance_classes(length: int) -> Tensor:
    """The row of the table for each query and key: near distances one by one, far ones in logarithmic steps, those to
    the right in the upper half (Raffel et al., JMLR 2020, section 2.1). *Shape:* (length, length) int64."""
    right = torch.arange(length)[None] - torch.arange(length)[:, None]
    half, distance = DISTANCES // 2, right.abs()
    exact = half // 2
    far = exact + (torch.log(distance.clamp(min=1) / exact) / math.log(FARTHEST / exact) * (half - exact)).long()
    return half * (right > 0) + torch.where(distance < exact, distance, far.clamp(max=half - 1))


class Teacher(Network):
    """The classifier with the table of distances."""

    def __init__(self, size: Size) -> None:
        super().__init__(size)
        self.distances = nn.Embedding(DISTANCES, size.heads)
        self.register_buffer("classes", distance_classes(size.positions), persistent=False)
        for layer in self.layers:
            layer.dropout = nn.Dropout(DROPOUT)

    def mask(self, ids: Tensor) -> Tensor:
        """*Shape:* (batch, heads, length, length)."""
        length = ids.shape[1]
        near: Tensor = self.distances(self.get_buffer("classes")[:length, :length]).permute(2, 0, 1)
        return super().mask(ids) + near

    def save(self, state: dict[str, Tensor], folder: Path) -> None:
        """Writes the weights (float16) under their names here; no other program reads them."""
        folder.mkdir(parents=True, exist_ok=True)
        halves = {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in state.items()}
        save_file(halves, folder / "model.safetensors")
        config = {"model_type": "teacher", "heads": self.size.heads}
        (folder / "config.json").write_text(json.dumps(config) + "\n", encoding="utf-8")


def is_teacher(folder: Path) -> bool:
    """Whether a checkpoint is a teacher's."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config["model_type"] == "teacher"


def load_teacher(folder: Path) -> Teacher:
    """A saved teacher, float32."""
    heads = json.loads((folder / "config.json").read_text(encoding="utf-8"))["heads"]
    return _with({name: tensor.float() for name, tensor in load_file(folder / "model.safetensors").items()}, heads)


def from_mpnet(tensors: dict[str, Tensor], vocabulary: dict[str, int], pieces: list[str], *, seed: int) -> Teacher:
    """MPNet with an untrained classifier, the rows of its word table in the order of `pieces`."""
    plain = {name.removeprefix("mpnet."): tensor for name, tensor in tensors.items()}
    named = {}
    for name, tensor in plain.items():
        for theirs, berts in _NAMES.items():
            name = name.replace(theirs, berts)
        named[name] = tensor
    state = from_transformers(named)
    state["words.weight"] = state["words.weight"][[vocabulary[_SPECIAL.get(piece, piece)] for piece in pieces]]
    state["positions.weight"] = state["positions.weight"][2:]  # MPNet counts positions from 2
    state["segments.weight"] = torch.zeros(2, state["words.weight"].shape[1])
    heads = state["words.weight"].shape[1] // HEAD_WIDTH
    state = dict(with_new_head(state, size_of(state, heads), seed).state_dict())
    return _with({**state, "distances.weight": plain["encoder.relative_attention_bias.weight"].float()}, heads)


def _with(state: dict[str, Tensor], heads: int) -> Teacher:
    network = Teacher(size_of(state, heads))
    network.load_state_dict(state)
    return network


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general.teacher", description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder of all-mpnet-base-v2")
    parser.add_argument("--like", type=Path, required=True, help="checkpoint or bundle of the student: its tokenizer")
    parser.add_argument("--out", type=Path, required=True, help="checkpoint to train on from")
    options = parser.parse_args()
    weights = options.base / "model.safetensors"
    if (found := hashlib.sha256(weights.read_bytes()).hexdigest()) != SHA256:
        sys.exit(f"{weights}: sha256 is {found}, not {SHA256}; this is another file than the recipe's teacher")
    vocabulary = json.loads((options.base / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    tokenizer = Tokenizer.from_file(str(options.like / "tokenizer.json"))
    teacher = from_mpnet(load_file(weights), vocabulary, pieces_of(tokenizer), seed=0)
    teacher.save(dict(teacher.named_parameters()), options.out)
    save(tokenizer, options.out)


if __name__ == "__main__":
    main()
