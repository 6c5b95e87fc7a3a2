"""Names of an encoder layer's tensors in the recipes' plain networks, and in BERT and RoBERTa of transformers."""

from __future__ import annotations

import torch
from torch import Tensor

_PARTS = {
    "o": "attention.output.dense", "norm1": "attention.output.LayerNorm",
    "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm",
}  # fmt: skip
_BACK = {theirs: ours for ours, theirs in _PARTS.items()}
_PIECES = ("query", "key", "value")


def layer_to_transformers(name: str, tensor: Tensor, stem: str) -> dict[str, Tensor]:
    """A tensor ``layers.N.part.kind`` under the names of transformers, which begin with ``stem``.

    The joint query, key and value matrix, *Shape:* (3 · hidden, hidden), becomes three.
    """
    _, number, part, kind = name.split(".")
    if part != "qkv":
        return {f"{stem}{number}.{_PARTS[part]}.{kind}": tensor}
    chunks = zip(_PIECES, tensor.chunk(3), strict=True)
    return {f"{stem}{number}.attention.self.{piece}.{kind}": chunk for piece, chunk in chunks}


def layers_from_transformers(tensors: dict[str, Tensor], stem: str) -> dict[str, Tensor]:
    """The reverse of :func:`layer_to_transformers` for all layers, as float32; other tensors are left out.

    Raises:
        KeyError: a layer lacks one of its three attention matrices.
    """
    found: dict[str, Tensor] = {}
    ours = [name.removeprefix(stem) for name in tensors if name.startswith(stem)]
    for name in ours:
        number, _, rest = name.partition(".")
        part, _, kind = rest.rpartition(".")
        if part in _BACK:
            found[f"layers.{number}.{_BACK[part]}.{kind}"] = tensors[stem + name].float()
    for number in dict.fromkeys(name.partition(".")[0] for name in ours):
        for kind in ("weight", "bias"):
            pieces = [tensors[f"{stem}{number}.attention.self.{piece}.{kind}"].float() for piece in _PIECES]
            found[f"layers.{number}.qkv.{kind}"] = torch.cat(pieces)
    return found
