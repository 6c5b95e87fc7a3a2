"""BERT written plainly, saved in the layout transformers loads.

Attention is two matrix products and a softmax, the layers run in bfloat16 where the processor has it, and there is no
dropout: a run of about one pass over its data does not need it (the teacher, which makes more, has it). The saved
checkpoint is a `BertForSequenceClassification`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - what everybody calls it

from scorer.inference.device import KINDS
from training.batches import EncodedText, padded

HEAD_WIDTH = 32
"""Of the general model and its base, MiniLM."""
NLI_LABELS = ("contradiction", "neutral", "entailment")


@dataclass(frozen=True)
class Size:
    """Dimensions of the network, its labels, and the id of its padding; the defaults are the general model's."""

    vocabulary: int
    hidden: int = 384
    layers: int = 6
    inner: int = 1536
    heads: int = 12
    positions: int = 512
    labels: tuple[str, ...] = NLI_LABELS
    pad: int = 0


def layers_type(device: str) -> torch.dtype:
    """Type of the layers in training: float32 where a CPU would emulate bfloat16, which is twenty times as slow."""
    has_bfloat16 = device != "cpu" or "avx512_bf16" in KINDS["cpu"].hardware(0).name.split()
    return torch.bfloat16 if has_bfloat16 else torch.float32


class Layer(nn.Module):
    """One post-norm encoder layer. *Shape:* (batch × length, hidden) in and out."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.qkv = nn.Linear(size.hidden, 3 * size.hidden)
        self.o = nn.Linear(size.hidden, size.hidden)
        self.norm1 = nn.LayerNorm(size.hidden, eps=1e-12)
        self.up = nn.Linear(size.hidden, size.inner)
        self.down = nn.Linear(size.inner, size.hidden)
        self.norm2 = nn.LayerNorm(size.hidden, eps=1e-12)
        self.dropout: nn.Module = nn.Identity()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        hidden, (batch, length) = x.shape[1], (mask.shape[0], mask.shape[-1])
        width = hidden // self.heads
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width).permute(2, 0, 3, 1, 4)
        weights = torch.matmul(q * width**-0.5, k.transpose(-1, -2)).add_(mask).softmax(-1)
        attended = torch.matmul(weights, v).transpose(1, 2).reshape(batch * length, hidden)
        x = self.norm1(x + self.dropout(self.o(attended)))
        out: Tensor = self.norm2(x + self.dropout(self.down(F.gelu(self.up(x)))))
        return out


class Network(nn.Module):
    """The classifier: a logit for each label of its :class:`Size`."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        self.words = nn.Embedding(size.vocabulary, size.hidden)
        self.positions = nn.Embedding(size.positions, size.hidden)
        self.segments = nn.Embedding(2, size.hidden)
        self.norm = nn.LayerNorm(size.hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.dense = nn.Linear(size.hidden, size.hidden)
        self.out = nn.Linear(size.hidden, len(size.labels))

    def mask(self, ids: Tensor) -> Tensor:
        """Addend of all products of query and key. *Shape:* (batch, 1, 1, length)."""
        return torch.zeros(len(ids), 1, 1, ids.shape[1], device=ids.device).masked_fill_(
            (ids == self.size.pad)[:, None, None], -1e4
        )

    def save(self, state: dict[str, Tensor], folder: Path) -> None:
        """Write a checkpoint of these weights."""
        save_checkpoint(state, self.size, folder)

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        """*Shape:* ids and segments (batch, length) int64, padded to one length → (batch, labels) float32."""
        x = self.words(ids) + self.positions.weight[: ids.shape[1]] + self.segments(segments)
        x = self.norm(x)
        kind = next(self.layers.parameters()).dtype
        batch, length, hidden = x.shape
        x = x.to(kind).reshape(batch * length, hidden)
        mask = self.mask(ids).to(kind)
        for layer in self.layers:
            x = layer(x, mask)
        return cast(
            Tensor, self.out(torch.tanh(self.dense(x.view(batch, length, hidden)[:, 0].to(self.dense.weight.dtype))))
        )


_PARTS = {
    "o": "attention.output.dense", "norm1": "attention.output.LayerNorm",
    "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm",
}  # fmt: skip
_PIECES = ("query", "key", "value")
_LAYERS = "bert.encoder.layer."
_REST = {
    "words.weight": "bert.embeddings.word_embeddings.weight",
    "positions.weight": "bert.embeddings.position_embeddings.weight",
    "segments.weight": "bert.embeddings.token_type_embeddings.weight",
    "norm.weight": "bert.embeddings.LayerNorm.weight",
    "norm.bias": "bert.embeddings.LayerNorm.bias",
    "dense.weight": "bert.pooler.dense.weight",
    "dense.bias": "bert.pooler.dense.bias",
    "out.weight": "classifier.weight",
    "out.bias": "classifier.bias",
}


def _names(name: str) -> list[str]:
    """Transformers' names of one of the network's tensors; the joint query, key and value matrix is three there."""
    if name in _REST:
        return [_REST[name]]
    _, number, part, kind = name.split(".")
    if part == "qkv":
        return [f"{_LAYERS}{number}.attention.self.{piece}.{kind}" for piece in _PIECES]
    return [f"{_LAYERS}{number}.{_PARTS[part]}.{kind}"]


def to_transformers(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The network's tensors under transformers' names, float16."""
    found: dict[str, Tensor] = {}
    for name, tensor in state.items():
        names = _names(name)
        found |= zip(names, tensor.detach().to(torch.float16).chunk(len(names)), strict=True)
    return {name: tensor.contiguous().clone() for name, tensor in found.items()}


def from_transformers(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The reverse of :func:`to_transformers`, float32; names may lack the ``bert.`` in front, as the base's do, and
    others are left out.

    Raises:
        KeyError: a layer lacks one of its three attention matrices.
    """
    plain = {name.removeprefix("bert."): tensor.float() for name, tensor in tensors.items()}
    stem = _LAYERS.removeprefix("bert.")
    layers = dict.fromkeys(name.removeprefix(stem).partition(".")[0] for name in plain if name.startswith(stem))
    parts = [f"{part}.{kind}" for part in ("qkv", *_PARTS) for kind in ("weight", "bias")]
    found: dict[str, Tensor] = {}
    for name in (*_REST, *(f"layers.{number}.{part}" for number in layers for part in parts)):
        names = [theirs.removeprefix("bert.") for theirs in _names(name)]
        if len(names) > 1 or names[0] in plain:
            found[name] = torch.cat([plain[theirs] for theirs in names]) if len(names) > 1 else plain[names[0]]
    return found


def size_of(state: dict[str, Tensor], heads: int | None = None, **more: Any) -> Size:
    """The dimensions of weights. ``heads``: by default as many as are :data:`HEAD_WIDTH` wide."""
    words, hidden = state["words.weight"].shape
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    inner, positions = len(state["layers.0.up.weight"]), len(state["positions.weight"])
    return Size(words, hidden, layers, inner, heads or hidden // HEAD_WIDTH, positions, **more)


def with_new_head(state: dict[str, Tensor], size: Size, seed: int) -> Network:
    """An encoder with an untrained classifier on top of its pooler, and an untrained pooler where it has none."""
    generator = torch.Generator().manual_seed(seed)
    new = {"out.weight": torch.randn(len(size.labels), size.hidden, generator=generator) * 0.02}
    new["out.bias"] = torch.zeros(len(size.labels))
    if "dense.weight" not in state:
        new["dense.weight"] = torch.randn(size.hidden, size.hidden, generator=generator) * 0.02
        new["dense.bias"] = torch.zeros(size.hidden)
    network = Network(size)
    network.load_state_dict(state | new)
    return network


def save_checkpoint(state: dict[str, Tensor], size: Size, folder: Path) -> None:
    """config.json and model.safetensors (float16) as `BertForSequenceClassification.from_pretrained` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "vocab_size": size.vocabulary,
        "hidden_size": size.hidden,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "intermediate_size": size.inner,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": size.positions,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "pad_token_id": size.pad,
        "position_embedding_type": "absolute",
        "id2label": {str(i): label for i, label in enumerate(size.labels)},
        "label2id": {label: i for i, label in enumerate(size.labels)},
        "problem_type": "single_label_classification",
        "torch_dtype": "float16",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save_file(to_transformers(state), folder / "model.safetensors", metadata={"format": "pt"})


@torch.no_grad()
def logits(network: Network, rows: Sequence[EncodedText]) -> Tensor:
    """*Shape:* (rows, labels) float32. Rows are cut at the longest length."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
    found = torch.zeros(len(rows), len(network.size.labels))
    for start in range(0, len(order), 64):
        chunk = order[start : start + 64]
        chosen = [(rows[i][0][: network.size.positions], rows[i][1]) for i in chunk]
        found[chunk] = network(*padded(chosen, max(len(ids) for ids, _ in chosen), network.size.pad))
    return found


def load_checkpoint(folder: Path) -> Network:
    """A saved checkpoint as a float32 network."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    size = Size(
        config["vocab_size"], config["hidden_size"], config["num_hidden_layers"], config["intermediate_size"],
        config["num_attention_heads"], config["max_position_embeddings"],
        tuple(config["id2label"][str(i)] for i in range(len(config["id2label"]))), config["pad_token_id"],
    )  # fmt: skip
    network = Network(size)
    network.load_state_dict(from_transformers(load_file(folder / "model.safetensors")))
    return network
