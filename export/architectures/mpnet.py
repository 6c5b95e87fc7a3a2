"""MPNet: BERT's encoder with a bias for relative positions, which all layers share.

ONNX Runtime's fused attention does not know the bias, so attention stays as transformers has it; normalisation and
GELU are fused. Absolute positions are counted as RoBERTa's, from the padding id + 1, and transformers' class has the
padding id 1 built in. There are no segments. The head reads the first token: dense, tanh, projection. Its tokenizer is
a WordPiece with RoBERTa's special tokens, and two separators stand between the texts.
"""

from __future__ import annotations

from typing import Any

from scorer.errors import CheckpointError

from .encoder import base
from .family import PLAIN, WHOLE, WORDPIECE, Config, Family, Preset

_FIRST_POSITION = 2
_BASE: dict[str, Any] = {key: value for key, value in base(30527, 514).items() if key != "type_vocab_size"}


def _check(known: Config, where: str) -> None:
    if known["pad_token_id"] != _FIRST_POSITION - 1:
        raise CheckpointError(f"{where}: pad_token_id is {known['pad_token_id']}, but positions of MPNet count from 1")
    if known["relative_attention_num_buckets"] != 32:
        buckets = known["relative_attention_num_buckets"]
        raise CheckpointError(f"{where}: relative_attention_num_buckets is {buckets}, but transformers computes 32")


def _fused(layers: int) -> dict[str, int]:
    """One is that of the sum of the two embeddings."""
    return {"SkipLayerNormalization": 2 * layers + 1, "BiasGelu": layers}


MPNET = Family(
    model_type="mpnet",
    architecture="MPNetForSequenceClassification",
    config_class="MPNetConfig",
    form=WHOLE,
    tokenizers=(WORDPIECE,),
    fused=_fused,
    whole={"pad_token_id": 1, "relative_attention_num_buckets": 32},
    numbers={"layer_norm_eps": 1e-12},
    only={"hidden_act": ("gelu",), **PLAIN},
    check=_check,
    unused=("mpnet.pooler.", "lm_head."),
    first_position=lambda known: _FIRST_POSITION,
    special=("<s>", "</s>", "<pad>", "[UNK]", "<mask>"),
    doubled_separator=True,
    presets=(Preset("mpnet-base", _BASE | {"layer_norm_eps": 1e-5}),),
)
