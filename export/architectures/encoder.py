"""What RoBERTa, BERT and ELECTRA share: encoders whose blocks ONNX Runtime fuses whole."""

from __future__ import annotations

from typing import Any

from .family import PLAIN, Config


def fused_counts(layers: int) -> dict[str, int]:
    """Fused operators of an encoder with this many layers."""
    return {"Attention": layers, "SkipLayerNormalization": 2 * layers, "LayerNormalization": 1, "BiasGelu": layers}


ONLY: dict[str, tuple[Any, ...]] = {"hidden_act": ("gelu",), "position_embedding_type": ("absolute",), **PLAIN}
"""Values of the config under which the fused operators compute the model."""
NUMBERS = {"layer_norm_eps": 1e-12}


def base(vocab: int, positions: int = 512, types: int = 2) -> dict[str, Any]:
    """The size that is called *base* everywhere."""
    return {
        "vocab_size": vocab, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "max_position_embeddings": positions, "type_vocab_size": types,
    }  # fmt: skip


def large(vocab: int, positions: int = 512, types: int = 2) -> dict[str, Any]:
    """The size that is called *large* everywhere."""
    return base(vocab, positions, types) | {
        "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096,
    }  # fmt: skip


def tiny(vocab: int, positions: int = 512, types: int = 2) -> dict[str, Any]:
    """A size for tests."""
    return base(vocab, positions, types) | {
        "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
    }  # fmt: skip


def has_segments(known: Config) -> bool:
    """Models with more than one type of token were trained with the two texts of a pair told apart."""
    return int(known["type_vocab_size"]) > 1
