"""ELECTRA: BERT's encoder, whose embeddings may be narrower than its layers, with a head of its own.

The head reads the first token: dense, GELU, projection. The pooler of BERT is not there.
"""

from __future__ import annotations

from .bert import BERT
from .encoder import NUMBERS, ONLY, base, fused_counts, has_segments, large
from .family import ENCODER, WORDPIECE, Family, Preset

_SMALL = base(30522) | {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024, "embedding_size": 128}


def _fused(layers: int) -> dict[str, int]:
    """One GELU more, without a bias to fuse it with: the head's."""
    return fused_counts(layers) | {"Gelu": 1}


ELECTRA = Family(
    model_type="electra",
    architecture="ElectraForSequenceClassification",
    config_class="ElectraConfig",
    form=ENCODER,
    tokenizers=(WORDPIECE,),
    fused=_fused,
    whole={"pad_token_id": 0, "type_vocab_size": 2, "embedding_size": 128},
    numbers=NUMBERS,
    only=ONLY,
    unused=("discriminator_predictions.",),
    segments=has_segments,
    special=BERT.special,
    presets=(
        Preset("electra-large", large(30522) | {"embedding_size": 1024}),
        Preset("electra-base", base(30522) | {"embedding_size": 768}),
        Preset("electra-small", _SMALL),
    ),
)
