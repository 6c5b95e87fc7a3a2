"""ModernBERT: rotary positions, up to 8,192 tokens, GeGLU, and attention that is local in two of three layers.

ONNX Runtime's fused attention knows neither, so attention stays as transformers has it; normalisation and GELU are
fused. The head reads the first token or the mean of all, as the config says. Its tokenizer is a byte-level BPE.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .family import BPE, PLAIN, WHOLE, Family, Preset

_BASE: Mapping[str, Any] = {
    "vocab_size": 50368, "hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12,
    "intermediate_size": 1152, "max_position_embeddings": 8192, "pad_token_id": 1,
}  # fmt: skip


def _fused(layers: int) -> dict[str, int]:
    """The first layer has no normalisation before its attention; the embeddings', the last and the head's are extra."""
    return {"SkipLayerNormalization": 2 * layers, "LayerNormalization": 2, "Gelu": layers + 1}


MODERNBERT = Family(
    model_type="modernbert",
    architecture="ModernBertForSequenceClassification",
    config_class="ModernBertConfig",
    form=WHOLE,
    tokenizers=(BPE,),
    fused=_fused,
    whole={"pad_token_id": 50283, "global_attn_every_n_layers": 3, "local_attention": 128},
    numbers={"norm_eps": 1e-5, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0},
    only={
        "hidden_activation": ("gelu",), "classifier_activation": ("gelu",), "classifier_pooling": ("cls", "mean"),
        "norm_bias": (False, True), "attention_bias": (False, True), "mlp_bias": (False, True),
        "classifier_bias": (False, True), **PLAIN,
    },
    fixed={"reference_compile": False},
    unused=("decoder.",),
    special=("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"),
    presets=(
        Preset("modernbert-large", {**_BASE, "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
                                    "intermediate_size": 2624}),
        Preset("modernbert-base", _BASE),
    ),
)  # fmt: skip
