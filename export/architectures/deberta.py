"""DeBERTa-v2 and v3.

Attention is disentangled: content is compared with content, and both with relative positions, which lie in logarithmic
buckets. ONNX Runtime has no fused operator for that, so attention stays as transformers has it: normalisation and GELU
are fused, and int8 quantises the products with weights. It costs more time a token than an encoder of the same size.
What v3's pre-training changed does not show in the classifier. Refused: the convolution of v2-xlarge, and absolute
positions.
"""

from __future__ import annotations

from typing import Any

from scorer.errors import CheckpointError

from .encoder import base, has_segments, large
from .family import PLAIN, UNIGRAM, WHOLE, Config, Family, Preset

_OWN: dict[str, Any] = {
    "relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "type_vocab_size": 0, "layer_norm_eps": 1e-7,
    "pad_token_id": 1,
}  # fmt: skip
"""Of v3, as its checkpoints have it; the padding id is that of a tokenizer made here."""


def _check(known: Config, where: str) -> None:
    terms = known["pos_att_type"]
    if sorted(terms.split("|") if isinstance(terms, str) else terms or []) != ["c2p", "p2c"]:
        raise CheckpointError(f"{where}: pos_att_type is {terms!r}, but export supports only 'c2p' with 'p2c'")
    for key, least in (("position_buckets", 1), ("max_relative_positions", -1)):
        if type(known[key]) is not int or known[key] < least:
            raise CheckpointError(f"{where}: {key} is {known[key]!r}, expected a whole number of at least {least}")
    if known["pooler_hidden_size"] not in (None, known["hidden_size"]):
        raise CheckpointError(f"{where}: pooler_hidden_size is {known['pooler_hidden_size']!r}, expected hidden_size")


def _fused(layers: int) -> dict[str, int]:
    """One normalisation is the embeddings', one that of the relative positions."""
    return {"SkipLayerNormalization": 2 * layers, "LayerNormalization": 2, "BiasGelu": layers}


DEBERTA = Family(
    model_type="deberta-v2",
    architecture="DebertaV2ForSequenceClassification",
    config_class="DebertaV2Config",
    form=WHOLE,
    tokenizers=(UNIGRAM,),
    fused=_fused,
    whole={"pad_token_id": 0, "type_vocab_size": 0},
    numbers={"layer_norm_eps": 1e-7},
    only={
        "hidden_act": ("gelu",), "pooler_hidden_act": ("gelu",), "relative_attention": (True,),
        "norm_rel_ebd": ("layer_norm",), "share_att_key": (True,), "position_biased_input": (False,),
        "conv_kernel_size": (0,), **PLAIN,
    },
    absent={
        "relative_attention": False, "norm_rel_ebd": "none", "share_att_key": False, "position_biased_input": True,
    },
    passed={
        "pos_att_type": None, "position_buckets": -1, "max_relative_positions": -1, "pooler_hidden_size": None,
    },
    check=_check,
    unused=("mask_predictions.", "lm_predictions.", "cls."),
    segments=has_segments,
    special=("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"),
    presets=(
        Preset("deberta-v3-large", large(128100) | _OWN),
        Preset("deberta-v3-base", base(128100) | _OWN),
        Preset("deberta-v3-small", base(128100) | _OWN | {"num_hidden_layers": 6}),
    ),
)  # fmt: skip
