"""A plain implementation of RoBERTa for fast training on a CPU, saved in the format that transformers loads.

At these lengths, plain attention (two matrix products and a softmax) is nearly twice as fast as the fused CPU kernel,
and bfloat16 copies of the layers' weights are nearly twice as fast as float32. The saved checkpoint has only the
weights of `RobertaForSequenceClassification`; the two auxiliary heads are used in training only.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - what everybody calls it

from export.training.layer_names import layer_to_transformers, layers_from_transformers

LABELS = ("contradiction", "neutral", "entailment")
MAX_POSITIONS = 514
PAD = 1


@dataclass(frozen=True)
class Size:
    """Dimensions of the network."""

    vocabulary: int = 1600
    hidden: int = 256
    layers: int = 4
    inner: int = 640
    heads: int = 8


class Layer(nn.Module):
    """One post-norm encoder layer. *Shape:* (batch, length, hidden) in and out."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.qkv = nn.Linear(size.hidden, 3 * size.hidden)
        self.o = nn.Linear(size.hidden, size.hidden)
        self.norm1 = nn.LayerNorm(size.hidden, eps=1e-5)
        self.up = nn.Linear(size.hidden, size.inner)
        self.down = nn.Linear(size.inner, size.hidden)
        self.norm2 = nn.LayerNorm(size.hidden, eps=1e-5)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, hidden = x.shape
        width = hidden // self.heads
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width).permute(2, 0, 3, 1, 4)
        weights = torch.matmul(q * width**-0.5, k.transpose(-1, -2)).add_(mask).softmax(-1)
        attended = torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, hidden)
        x = self.norm1(x + self.o(attended))
        out: Tensor = self.norm2(x + self.down(F.gelu(self.up(x))))
        return out


class Network(nn.Module):
    """The classifier with its auxiliary heads."""

    def __init__(self, size: Size, slots: int, states: int) -> None:
        super().__init__()
        self.size = size
        self.words = nn.Embedding(size.vocabulary, size.hidden)
        self.positions = nn.Embedding(MAX_POSITIONS, size.hidden)
        self.norm = nn.LayerNorm(size.hidden, eps=1e-5)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.dense = nn.Linear(size.hidden, size.hidden)
        self.out = nn.Linear(size.hidden, len(LABELS))
        self.fact_head = nn.Linear(size.hidden, len(LABELS))
        self.state_head = nn.Linear(size.hidden, slots * states)
        self._start()

    def _start(self) -> None:
        """Initialise half of the heads with keys equal to their queries, so that equal tokens attend to each other.

        The task of this model is to compare the words of both sides; from a random start, it needs most of a short
        training to learn this.
        """
        hidden = self.size.hidden
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=1 / math.sqrt(parameter.shape[1]))
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
        nn.init.normal_(self.words.weight, std=0.06)
        nn.init.normal_(self.positions.weight, std=0.02)
        for layer in self.layers:
            assert isinstance(layer, Layer)
            layer.qkv.weight.data[hidden : hidden + hidden // 2] = layer.qkv.weight.data[: hidden // 2]
            for part in (layer.o, layer.down):
                part.weight.data *= 0.5
        for head in (self.out, self.fact_head, self.state_head):
            head.weight.data *= 0.3

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of the pair and the last hidden states.

        *Shape:* ids (batch, length) int64, padded with 1 → (batch, 3) float32, (batch, length, hidden) float32.
        """
        kept = ids != PAD
        positions = torch.cumsum(kept, 1) * kept + PAD
        x = self.norm(self.words(ids) + self.positions(positions))
        kind = next(self.layers.parameters()).dtype
        x = x.to(kind)
        mask = torch.zeros(ids.shape[0], 1, 1, ids.shape[1], dtype=kind, device=ids.device)
        mask.masked_fill_(~kept[:, None, None], -1e4)
        for layer in self.layers:
            x = layer(x, mask)
        x = x.float()
        return self.out(torch.tanh(self.dense(x[:, 0]))), x


_LAYERS = "roberta.encoder.layer."
_HF_REST = {
    "words.weight": "roberta.embeddings.word_embeddings.weight",
    "positions.weight": "roberta.embeddings.position_embeddings.weight",
    "norm.weight": "roberta.embeddings.LayerNorm.weight",
    "norm.bias": "roberta.embeddings.LayerNorm.bias",
    "dense.weight": "classifier.dense.weight",
    "dense.bias": "classifier.dense.bias",
    "out.weight": "classifier.out_proj.weight",
    "out.bias": "classifier.out_proj.bias",
}


def to_transformers(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of the network under the names of transformers, without auxiliary heads, as float16.

    Shapes stay, except that the joint query, key and value matrix, *Shape:* (3 · hidden, hidden), becomes three.
    """
    found: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if name.startswith("layers."):
            found |= layer_to_transformers(name, tensor, _LAYERS)
        elif name in _HF_REST:
            found[_HF_REST[name]] = tensor
    hidden = state["words.weight"].shape[1]
    found["roberta.embeddings.token_type_embeddings.weight"] = torch.zeros(1, hidden)
    return {name: tensor.detach().to(torch.float16).contiguous().clone() for name, tensor in found.items()}


def from_transformers(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The reverse of :func:`to_transformers`, as float32.

    Raises:
        KeyError: a layer lacks one of its three attention matrices.
    """
    back = {hf: name for name, hf in _HF_REST.items()}
    rest = {back[name]: tensor.float() for name, tensor in tensors.items() if name in back}
    return rest | layers_from_transformers(tensors, _LAYERS)


def save_checkpoint(state: dict[str, Tensor], size: Size, folder: Path) -> None:
    """config.json and model.safetensors (float16) as `RobertaForSequenceClassification.from_pretrained` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architectures": ["RobertaForSequenceClassification"],
        "model_type": "roberta",
        "vocab_size": size.vocabulary,
        "hidden_size": size.hidden,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "intermediate_size": size.inner,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": MAX_POSITIONS,
        "type_vocab_size": 1,
        "layer_norm_eps": 1e-5,
        "bos_token_id": 0,
        "pad_token_id": PAD,
        "eos_token_id": 2,
        "id2label": {str(i): label for i, label in enumerate(LABELS)},
        "label2id": {label: i for i, label in enumerate(LABELS)},
        "problem_type": "single_label_classification",
        "torch_dtype": "float16",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save_file(to_transformers(state), folder / "model.safetensors", metadata={"format": "pt"})


def size_dict(size: Size) -> dict[str, int]:
    """For logs and resumable states."""
    return asdict(size)
