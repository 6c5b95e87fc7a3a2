"""RoBERTa, and the two that are built like it: XLM-RoBERTa and CamemBERT.

Positions are counted from the padding id + 1, so that a table of 514 holds 512 tokens. There is one type of token. The
head reads the first token: dense, tanh, projection. XLM-R and CamemBERT have Unigram tokenizers, of 250,002 and 32,005
pieces. XLM-R's table of embeddings is most of its size; the weights of its large model are more than the 2 GiB of one
ONNX file, and lie next to it.
"""

from __future__ import annotations

from dataclasses import replace

from .encoder import NUMBERS, ONLY, base, fused_counts, large, tiny
from .family import BPE, ENCODER, UNIGRAM, Config, Family, Preset

_OWN = {"layer_norm_eps": 1e-5, "pad_token_id": 1}


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
        Preset("roberta-large", large(50265, 514, 1) | _OWN),
        Preset("roberta-base", base(50265, 514, 1) | _OWN),
        Preset("roberta-tiny", tiny(50265, 514, 1) | _OWN),
    ),
)
XLM_ROBERTA = replace(
    ROBERTA,
    model_type="xlm-roberta",
    architecture="XLMRobertaForSequenceClassification",
    config_class="XLMRobertaConfig",
    tokenizers=(UNIGRAM,),
    presets=(
        Preset("xlm-roberta-large", large(250002, 514, 1) | _OWN),
        Preset("xlm-roberta-base", base(250002, 514, 1) | _OWN),
    ),
)
CAMEMBERT = replace(
    ROBERTA,
    model_type="camembert",
    architecture="CamembertForSequenceClassification",
    config_class="CamembertConfig",
    tokenizers=(UNIGRAM,),
    presets=(Preset("camembert-base", base(32005, 514, 1) | _OWN),),
)
