"""BART: encoder and decoder both read the pair, and the head reads the decoder at the last end-of-sequence token.

Twice the layers for each pair, and attention over the encoder's states in the decoder; none of it is fused but
normalisation and GELU. Text is data, so a literal ``</s>`` in it ends no sequence. Encoder and decoder must have
the same number of layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scorer.errors import CheckpointError

from .family import BPE, PLAIN, WHOLE, Config, Family, Preset, Sizes

_LARGE: Mapping[str, Any] = {
    "vocab_size": 50265, "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16,
    "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "max_position_embeddings": 1024,
}  # fmt: skip


def _check(known: Config, where: str) -> None:
    if known["decoder_layers"] != known["encoder_layers"]:
        raise CheckpointError(
            f"{where}: decoder_layers is {known['decoder_layers']} and encoder_layers {known['encoder_layers']}, but "
            "export supports only equal numbers"
        )
    if known["decoder_attention_heads"] < 1 or known["d_model"] % known["decoder_attention_heads"]:
        raise CheckpointError(
            f"{where}: decoder_attention_heads is {known['decoder_attention_heads']}, which cannot be"
        )


def _fused(layers: int) -> dict[str, int]:
    """Two residuals a layer of the encoder, three of the decoder, and the sums of the two embeddings."""
    return {"SkipLayerNormalization": 5 * layers + 2, "BiasGelu": 2 * layers}


BART = Family(
    model_type="bart",
    architecture="BartForSequenceClassification",
    config_class="BartConfig",
    form=WHOLE,
    tokenizers=(BPE,),
    fused=_fused,
    sizes=Sizes("vocab_size", "d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim"),
    whole={
        "decoder_layers": None, "decoder_attention_heads": None, "decoder_ffn_dim": None, "pad_token_id": 1,
        "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2,
    },
    only={
        "activation_function": ("gelu",), "scale_embedding": (False, True), "is_encoder_decoder": (True,),
        "normalize_before": (False,), "add_final_layer_norm": (False,), "normalize_embedding": (True,), **PLAIN,
    },
    check=_check,
    unused=("lm_head.", "final_logits_bias"),
    doubled_separator=True,
    presets=(
        Preset("bart-large", _LARGE),
        Preset("bart-base", {**_LARGE, "d_model": 768, "encoder_layers": 6, "decoder_layers": 6,
                             "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072,
                             "decoder_ffn_dim": 3072}),
    ),
)  # fmt: skip
