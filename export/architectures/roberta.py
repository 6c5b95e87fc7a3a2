"""RoBERTa, and the two that are built like it: XLM-RoBERTa and CamemBERT.

Positions are counted from the padding id + 1, so that a table of 514 holds 512 tokens. There is one type of token. The
head reads the first token: dense, tanh, projection. XLM-R and CamemBERT have Unigram tokenizers, of 250,000 and 32,000
pieces. XLM-R's table of embeddings is most of its size.
"""

from __future__ import annotations

from .encoder import NUMBERS, ONLY, base, fused_counts, large, tiny
from .family import BPE, ENCODER, Config, Family, Preset


def _after_padding(known: Config) -> int:
    return int(known["pad_token_id"]) + 1


ROBERTA = Family(
    model_type="roberta",
    architecture="RobertaForSequenceClassification",
    config_class="RobertaConfig",
    form=ENCODER,
    tokenizers=(BPE,),
    fused=fused_counts,
    whole={"pad_token_id": 1, "type_vocab_size": None},
    numbers=NUMBERS,
    only=ONLY,
    fixed={"bos_token_id": 0, "eos_token_id": 2},
    unused=("roberta.pooler.", "lm_head."),
    first_position=_after_padding,
    doubled_separator=True,
    presets=(
        Preset("roberta-large", large(50265, 514, 1) | {"layer_norm_eps": 1e-5, "pad_token_id": 1}),
        Preset("roberta-base", base(50265, 514, 1) | {"layer_norm_eps": 1e-5, "pad_token_id": 1}),
        Preset("roberta-tiny", tiny(50265, 514, 1) | {"layer_norm_eps": 1e-5, "pad_token_id": 1}),
    ),
)
