"""BERT, and MiniLM, which is saved under its name.

The two texts of a pair are told apart by segment ids. The head is the pooler (dense, tanh, of the first token) and a
projection: the same three operators as RoBERTa's. WordPiece tokenizers.
"""

from __future__ import annotations

from .encoder import NUMBERS, ONLY, base, fused_counts, has_segments, large, tiny
from .family import ENCODER, WORDPIECE, Family, Preset

BERT = Family(
    model_type="bert",
    architecture="BertForSequenceClassification",
    config_class="BertConfig",
    form=ENCODER,
    tokenizers=(WORDPIECE,),
    fused=fused_counts,
    whole={"pad_token_id": 0, "type_vocab_size": 2},
    numbers=NUMBERS,
    only=ONLY,
    unused=("cls.",),
    segments=has_segments,
    special=("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"),
    presets=(
        Preset("bert-large", large(30522)),
        Preset("bert-base", base(30522)),
        Preset("minilm-l6", base(30522) | {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}),
        Preset("bert-tiny", tiny(30522)),
    ),
)
